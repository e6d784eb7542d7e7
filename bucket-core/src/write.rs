//! Writing: from records to finished `update` commands, and from replies to what happened.
//!
//! | piece | file |
//! | --- | --- |
//! | encodes records as item bytes, grouped by key | `batch` |
//! | chooses the bucket that takes records next, form by form | `chain` |
//! | what a statement does | `action` |
//! | a statement: an action, a key, and the records that it brings | `statement` |
//! | the buckets that it matches | `filter` |
//! | what it changes in them: the one list of a bucket's parts | `change` |
//! | the changes as operators, a pipeline, or a whole bucket | `operators`, `pipeline`, `whole_bucket` |
//! | filter and change as one element of a command | `update` |
//! | encodes statements as one command | `command` |
//! | what to read and send next, until every record has its outcome | `call` |
//! | delivers one command until its outcome is known: numbers, faults, lost replies | `delivery` |
//! | what the calls of a handle share | `cache` |
//! | identifies the collection, and checks that it can hold buckets | `ground` |
//! | how long to wait before a retry | `pauses` |
//! | the server's codes and texts | `codes` |
//! | the next commands of a batch, and what their replies settle | `round` |
//! | reads the outcome of each statement from a reply | `outcome` |
//! | how far a source has been stored | `source` |
//! | which of its records wait for an earlier one | `holds`, `held_back` |
//! | where an item has its record id | `record_id` |
//! | the conditions that keep a record from being stored twice | `guard` |
//! | checks that a remembered full bucket still exists | `confirm` |
//! | one record as an item, for edits | `one_item` |
//! | records that arrive twice: in one batch, or after they were stored | `own_ids`, `repeat`, `equality` |
//! | records whose id another record has, for calls that replace it | `contested` |
//! | what a reply leaves open after an attempt without a reply | `certainty` |
//! | encodes documents with attributes as `insert` commands | `new_documents` |
//!
//! The statements of the manual's form, for its trades model:
//!
//! * append: `{_id: known, customerId: k, count: {$lt: 10}}`, `$push` and `$inc`, to the bucket that took the
//!   key's last record. It examines one index key however long the history is. The filter also checks the
//!   room in the array, in case the count is wrong;
//! * fill: the same with `upsert`, so that in a command of many statements a miss shows as a duplicate key on
//!   that `_id`;
//! * open: `{customerId: k, _id: {$gt: new}}` with `upsert` and `$set: {_id: new}`. If no bucket of the key
//!   sorts after the new id, the new bucket is inserted. If one does, the server refuses to change its `_id`
//!   (66), and nothing is changed. So no bucket is ever inserted before an existing page.
//!
//! The unique index on open buckets refuses a second open bucket (11000). Each bucket is opened with at least
//! one free place, so that the index sees every opening.
//!
//! The other forms know the id of the bucket in advance and use one statement for both:
//!
//! * put: the fill, with everything that identifies the bucket as an equality, so that it is set when the
//!   bucket is opened (`{_id, device_id, bucket_start, bucket_end, count: {$lte: 59}}`). A bucket that
//!   follows one just seen full is inserted instead: this has the same effect on the `_id` at a quarter of
//!   the server's cost;
//! * close: marks a bucket as full or closed when a record's time or another tool requires it. The put that
//!   fills a bucket also marks it.

mod action;
mod batch;
mod cache;
mod call;
mod certainty;
mod chain;
mod change;
#[doc(hidden)]
pub mod codes;
mod command;
mod confirm;
mod contest;
mod contested;
mod delivery;
mod equality;
mod filter;
mod ground;
mod guard;
mod held_back;
mod holds;
pub(crate) mod item;
mod join;
mod new_documents;
mod newness;
mod one_item;
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
mod unstored_keys;
mod update;
mod whole_bucket;

pub use self::{
    action::{Action, Put},
    batch::{Batch, SortedOut},
    cache::Cache,
    call::{Call, CallEvent, Delivered, Dispatch, Next, Reason, Report, Terms, Unstored},
    certainty::{Certainty, Uncertain},
    chain::{Chain, Need, Step, hint::BucketHint},
    codes::{
        blames_a_record, is_out_of_time, is_transient, may_be_read_again, names_no_index,
        other_kind,
    },
    command::{Command, CommandBuilder, MAX_COMMAND_BYTES, MAX_STATEMENTS},
    contested::Contested,
    delivery::{
        Answer, COLLECTION_UUID, Deed, Delivery, Ended, Event, Fault, asks_again, part_of,
        refuses_naming,
    },
    ground::{Ground, Listing, Look, collection_drift, collection_uuid},
    holds::{HeldBack, Holds},
    new_documents::{NewDocument, NewDocuments, StoredDocuments},
    outcome::{Outcome, Reply, WriteFailure},
    own_ids::{OwnRepeat, Repetition},
    pauses::Pauses,
    repeat::Repeats,
    round::{Failed, Round, Settled},
    source::{SOURCES, Source, SourceError},
    statement::Statement,
};
pub(crate) use self::{
    equality::are_same,
    one_item::{counted_bytes, one_item, unchecked_item},
    record_id::identity,
};
pub(crate) use crate::{bucket::ElementSink, model::form::Kind};
