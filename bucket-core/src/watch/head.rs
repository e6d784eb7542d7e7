//! The question for a bucket, where an event does not say enough of it.

use bson::{Bson, Document, RawDocumentBuf, Timestamp, doc};

use super::times;
use crate::{
    bucket::{edits::EDITS, merged::MERGED},
    model::spec::{BucketSpec, ID},
};

/// A question for the head of a bucket: its key, its count, its times, and the attributes that it holds for its items;
/// for records before an edit, their items too.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadLookup {
    pub(super) id: Bson,
    /// When the event happened.
    pub(super) time: Timestamp,
    pub(super) of_items: OfItems,
}

/// What is asked for of the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OfItems {
    Nothing,
    /// Some of them: the index of the first one, and their number.
    Part(u32, u32),
    /// The first and the last time of all of them.
    Times,
}

/// What the server said.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Head {
    /// The head as it was just before the event.
    Before(RawDocumentBuf),
    /// The head as it is now: the server does not remember the other one.
    Now(RawDocumentBuf),
    /// There is no such bucket.
    Nothing,
}

impl HeadLookup {
    /// The command for the head just before the event. Servers remember some minutes.
    #[must_use]
    pub fn before(&self, spec: &BucketSpec) -> Document {
        let Timestamp { time, increment } = self.time;
        // A second before, if it was the first event of its second.
        let at = match increment.checked_sub(1) {
            Some(increment) => Timestamp { time, increment },
            None => Timestamp {
                time: time.saturating_sub(1),
                increment: u32::MAX,
            },
        };
        let mut command = self.command(spec);
        command.insert(
            "readConcern",
            doc! { "level": "snapshot", "atClusterTime": at },
        );
        command
    }

    /// The command for the head as a majority has it now.
    #[must_use]
    pub fn now(&self, spec: &BucketSpec) -> Document {
        let mut command = self.command(spec);
        command.insert("readConcern", doc! { "level": "majority" });
        command
    }

    fn command(&self, spec: &BucketSpec) -> Document {
        let mut projection = doc! { spec.names().count: 1, EDITS: 1 };
        if spec.merge().is_some() {
            projection.extend(doc! { MERGED: 1, spec.names().start: 1 });
        }
        for key in spec.keys() {
            projection.insert(key.path, 1);
        }
        for array in spec.shared_arrays() {
            projection.insert(array.name, 1);
        }
        for field in times::fields(spec) {
            projection.insert(field, 1);
        }
        match self.of_items {
            OfItems::Nothing => {}
            OfItems::Part(first, number) => {
                let part = doc! { "$slice": [i64::from(first), i64::from(number)] };
                projection.insert(spec.items(), part);
            }
            OfItems::Times => times::project_items(spec, &mut projection),
        }
        doc! {
            "find": spec.collection(),
            "filter": { ID: { "$eq": self.id.clone() } },
            "projection": projection,
            "limit": 1,
            "singleBatch": true,
        }
    }
}
