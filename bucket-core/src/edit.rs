//! Edits: one record or several of a stored bucket are replaced or removed, in one statement.
//!
//! | piece | file |
//! | --- | --- |
//! | the record that an edit is about | `which` |
//! | a bucket that was read to be edited: its records, and the removal of some | `opened` |
//! | a record in the place of another one | `replacement` |
//! | what a stored item has that the model does not know | `unknown` |
//! | values that the model reads as less than they are | `read_as_less` |
//! | the aggregated values that the model reads as less, and those that an edit changes | `inputs` |
//! | arrays that an edit puts in another order | `reordered` |
//! | which elements of two arrays are the same one | `same_elements` |
//! | a record that goes to another bucket | `moving` |
//! | the state that an edit matches | `state` |
//! | what it stores | `statement` |
//! | why a record cannot be edited | `edit_error` |
//! | the removal of all buckets of a key | `of_key` |
//! | what the server did | `reply` |
//! | an edit from its first read to its result | `machine` |
//! | its result | `edited` |
//!
//! An edit reads the bucket, and its statement matches only the state that was read: the count, the number of
//! the edit before it, the arrays of attributes and the size that the bucket has, and the items: all of them if the model
//! has aggregates (in buckets of less than 8 MB) or the edit replaces many, else those that it replaces. Appends change the count, edits the number. If another
//! writer comes first, the statement changes nothing, and the edit begins again. So the aggregates that the
//! statement stores are always those of exactly the items that the bucket has after it, by the same code that
//! adds up single records in statistics.
//!
//! The statement changes nothing more when it comes again, so it may be sent any number of times.
//!
//! A removed record leaves a mark in its place; see `bucket/edits.rs`. So no other record changes its place:
//! tokens and references stay valid, a full bucket stays full, and pages keep their numbers.

mod edit_error;
mod edited;
mod inputs;
mod machine;
mod moving;
mod of_key;
mod opened;
mod read_as_less;
mod reordered;
mod replacement;
mod reply;
mod same_elements;
mod state;
mod statement;
mod unknown;
mod which;

pub use self::{
    edit_error::EditError,
    edited::{Corrected, EditFailure, Edited},
    machine::{Change, Edit, EditNext},
    opened::{Found, OpenedBucket, OpenedRecord},
    reply::{EditReply, made_by},
    which::{Which, WhichError},
};
