//! The archive: packed items of sealed buckets in another collection, of another database or cluster if need be.
//!
//! | piece | file |
//! | --- | --- |
//! | which buckets are read | `scan` |
//! | what a bucket and its copy become | `moving` |
//! | the copies of a key, and the index that leads to them | `key` |
//! | the files of an archive in an object store | `files` |
//! | what a reader fetches from the archive, and puts into the rows | `wanted` |
//!
//! What an archived bucket is stored as: `bucket/archived.rs`. The bucket itself stays where it was, with its key, its
//! span, its count, its aggregates and its positions of sources; only its items move. So the collection says at every moment where
//! the items of a bucket are, and a reader that follows what it says reads each record once, also while buckets move.
//!
//! The order of a move is: the copy, its comparison, and then one statement on the bucket, which matches only what was
//! copied. The way back is one statement on the bucket, and then the removal of the copy. Each copy has an id of its own,
//! which only the bucket's reference names. So whoever made a copy may remove it as long as no bucket refers to it, and no
//! late command of another call meets it.

pub mod files;
mod key;
mod moving;
mod scan;
mod wanted;

pub use self::{
    key::{copies_in, copies_of, copies_of_key, key_index},
    moving::{
        LONGER, Moving, archive, copy_of, full_size, is_archived, is_elsewhere, may_be_gone,
        move_of, restore, was_archived, without_reference,
    },
    scan::{archivable_buckets, archived_buckets, buckets, references, references_of_key},
    wanted::{InRow, Wanted},
};
pub use crate::bucket::archived::BUCKET;
