//! Writing: from records to finished `update` commands, and from replies to what happened.
//!
//! | piece | file |
//! | --- | --- |
//! | records become item bytes, grouped by key; what a call does with all of them | `batch` |
//! | which bucket takes which records next, form by form | `chain` |
//! | what a statement does | `action` |
//! | a statement: an action, a key, and the records that it brings | `statement` |
//! | which buckets it is for | `filter` |
//! | what it changes in them: the one list of a bucket's parts | `change` |
//! | that as operators, as a pipeline, as a whole bucket | `operators`, `pipeline`, `whole_bucket` |
//! | filter and change as one element of a command | `update` |
//! | statements become one command | `command` |
//! | what to read and send next, until every record has its outcome | `call` |
//! | one command until its outcome is known: numbers, faults, lost replies | `delivery` |
//! | what the calls of a handle share | `learnt` |
//! | which collection it is, and whether it can hold buckets | `ground` |
//! | how long to wait before another try | `pauses` |
//! | the server's codes and texts | `codes` |
//! | the next commands of a batch, and what their replies settle | `round` |
//! | a reply says what became of each statement | `outcome` |
//! | how far a source has been stored | `source` |
//! | which of its records wait for an earlier one | `holds`, `held_back` |
//! | where an item has its record id | `record_id` |
//! | what a statement asks so that no record is stored twice | `guard` |
//! | whether a full bucket that is remembered still exists | `confirm` |
//! | records that come a second time: in a batch, or after they were stored | `own_ids`, `repeat`, `equality` |
//! | what it leaves open where a try before it had none | `doubt` |
//! | documents with attributes become `insert` commands | `new_documents` |
//!
//! The statements of the manual's form, for the model of its trades:
//!
//! * append: `{_id: known, customerId: k, count: {$lt: 10}}`, `$push` and `$inc`, to the bucket that
//!   took the key's last record. It examines one key however long the history. The filter asks the
//!   array too whether there is room, in case the count is wrong;
//! * fill: the same with `upsert`, so that in a command of many statements a miss shows as a
//!   duplicate key on that `_id`;
//! * open: `{customerId: k, _id: {$gt: new}}` with `upsert` and `$set: {_id: new}`. Where no bucket
//!   of the key stands behind the new id it is inserted; where one does, the change of its `_id` is
//!   refused (66) and nothing is changed, so no bucket is ever slid in before an existing page.
//!
//! The unique index on open buckets refuses a second open bucket (11000). Each bucket is opened
//! with at least one free place, so that the index sees every opening.
//!
//! The other forms know the id of the bucket beforehand and have one statement for both:
//!
//! * put: the fill, with everything by equality that identifies the bucket, so that it is set where
//!   the bucket is opened (`{_id, device_id, bucket_start, bucket_end, count: {$lte: 59}}`);
//!   A bucket that is opened behind one that was just seen full is inserted instead, which is the
//!   same to the `_id` and costs the server a fourth;
//! * close: marks a bucket as full or closed where a record's time or another tool asks for it. A
//!   bucket that is filled is marked by the put that fills it.

mod action;
mod batch;
mod call;
mod chain;
mod change;
#[doc(hidden)]
pub mod codes;
mod command;
mod confirm;
mod delivery;
mod doubt;
mod equality;
mod filter;
mod ground;
mod guard;
mod held_back;
mod holds;
pub(crate) mod item;
mod join;
mod learnt;
mod new_documents;
mod operators;
mod outcome;
mod own_ids;
mod pauses;
mod pipeline;
mod record_id;
mod repeat;
mod round;
mod slot;
mod source;
mod statement;
mod update;
mod whole_bucket;

pub use self::{
    action::{Action, Put},
    batch::{Batch, SortedOut},
    call::{Call, CallEvent, Delivered, Dispatch, Next, Reason, Report, Terms, Unstored},
    chain::{Chain, Need, Step, recollection::Recollection},
    codes::{blames_a_record, is_out_of_time, is_transient, names_no_index, other_kind},
    command::{Command, CommandBuilder, MAX_COMMAND_BYTES, MAX_STATEMENTS},
    delivery::{Answer, COLLECTION_UUID, Deed, Delivery, Ended, Event, Fault, asks_again, part_of},
    doubt::{Doubt, Doubtful},
    ground::{Ground, Listing, Look, collection_drift},
    holds::{HeldBack, Holds},
    learnt::Learnt,
    new_documents::{NewDocument, NewDocuments, StoredDocuments},
    outcome::{Outcome, Reply, WriteFailure},
    own_ids::{OwnRepeat, Repetition},
    pauses::Pauses,
    repeat::Repeats,
    round::{Failed, Round, Settled},
    source::{SOURCES, Source, SourceError},
    statement::Statement,
};
pub(crate) use crate::{bucket::ElementSink, model::form::Kind};
