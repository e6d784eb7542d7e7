//! Change streams: what the server reports of changed buckets becomes events of records.
//!
//! | piece | file |
//! | --- | --- |
//! | an event of a record, as the caller gets it | `event` |
//! | a place in the change stream, and its text | `position`, `token` |
//! | an event of the server, taken apart | `raw_change` |
//! | the items that an update changed, as records | `delta`, `records` |
//! | what an update of a sealed bucket is | `sealing` |
//! | what records were before | `before` |
//! | what is known of the buckets that changed lately | `known` |
//! | merges of sealed buckets, which change no record | `merging` |
//! | what is known of the times of their records | `times` |
//! | the questions to the server, where an event does not say enough | `head` |
//! | what is stored at the start, as the first events | `catch_up` |
//! | events that wait for a slow reader | `queue` |
//! | the whole: from the events of the server to those of records | `follow` |
//!
//! What a statement looks like in a change stream (MongoDB 5.0.4 and 6.0.5):
//!
//! | statement | `operationType` | items |
//! | --- | --- | --- |
//! | a bucket is inserted, or an upsert opens it | `insert` | all, in `fullDocument` |
//! | an append, by operators or by a pipeline | `update` | each whole, as `items.N`, with the new `count` |
//! | an append to a bucket without items | `update` | the whole array as `items` |
//! | an append by a pipeline that is not shorter than the bucket | `update` or `replace` | the whole array as `items`, or all in `fullDocument` |
//! | an edit | `update` | each whole, as `items.N`, with `_edits` |
//! | an edit of a sealed bucket | `update` | all, packed, with `_edits` and `_sealed.edit` |
//! | sealing, unsealing | `update` | all, with `_sealed` |
//! | a merge of sealed buckets | `update` of the first one, then `delete` of the others | all, with `_sealed` and `_merged` |
//! | a mark, a reservation | `update` or `insert` | none |
//! | a removed bucket | `delete` | none; of the bucket only its `_id` |
//!
//! So an update says which items are new, except where it has the whole array: then the count before it decides.
//! An update has no key fields. The key is part of a typed id; for object ids the bucket has to be known. The same
//! holds for attributes that a bucket holds for its items. What is known of a bucket comes from the events before;
//! where these do not have it, the server is asked for the bucket as it was just before the event.

mod before;
mod catch_up;
mod delta;
mod event;
mod follow;
mod head;
mod known;
mod merging;
mod position;
mod queue;
mod raw_change;
mod records;
mod sealing;
mod times;
mod token;

pub use self::{
    catch_up::CatchUp,
    event::{RecordChange, WatchEvent},
    follow::{Follow, Placed, Taken},
    head::{Head, HeadLookup},
    position::{Position, Start},
    queue::{Queue, TailEvent, WhenSlow},
    token::{WatchToken, WatchTokenError},
};
