//! Repairs: what a stored document needs so that it keeps its promises again.
//!
//! | question | file |
//! | --- | --- |
//! | what to do about a document | `remedy` |
//! | which fields mend a problem | `mends` |
//! | the fields that a mend changes | `changes` |
//! | how a full bucket stays full without its items | `full` |
//! | whether a problem between two documents still holds | `pair` |
//! | the statements, which match only the document that was read | `statement` |
//! | the copy in the quarantine | `quarantine` |
//! | the copies of a key, and their removal | `copies` |
//!
//! A mend follows from the rest of the document without a guess, and is checked before it is sent: the mended
//! document goes through the same check as in `verify`. If something harmful is left, nothing is mended, and the
//! document as it was read moves into the quarantine.

mod changes;
mod copies;
mod full;
mod mends;
mod pair;
mod quarantine;
mod remedy;
mod statement;

pub use self::{
    copies::{copied_archived, copies_of_collection, copies_of_key, is_copy_of_key, remove_copies},
    pair::{BetweenTwo, between_two, other_document},
    quarantine::{copied_document, leave, may_be_taken_back, quarantine, rely_on, take_back},
    remedy::{Remedy, newest_buckets, remedy},
    statement::{document_with_id, move_out},
};
