//! The comparison of two sides that should have the same records: a flat collection, and the buckets it became.
//!
//! | piece | file |
//! | --- | --- |
//! | what identifies a record by its contents | `fingerprint` |
//! | how many records each side has, and a hash of them, part by part | `tallies` |
//! | which records of the parts that differ only one side has | `search` |
//!
//! Each side is read once, in any order. Its records fall into 65,536 parts by their fingerprints, and for each part a number
//! and a sum are kept: 2 MB a side, however many records there are. Two sides whose parts are all the same have the same records. Where
//! some differ, a second read keeps the fingerprints of these parts only: a record more on one side is one part of 65,536.

mod fingerprint;
mod search;
mod tallies;

pub use self::{
    fingerprint::{Fingerprint, document_of},
    search::{Excess, Search},
    tallies::{Parts, Side, Tallies},
};
