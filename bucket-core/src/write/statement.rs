//! One update statement before it is encoded.

use bson::DateTime;

use super::Action;
use crate::{
    model::{form::Kind, spec::BucketSpec},
    stats::contribution::Fold,
};

/// A statement before it is encoded: an action, a key and the items it brings.
#[derive(Debug)]
pub struct Statement<'a> {
    pub(super) spec: &'static BucketSpec,
    /// The kind of the chain.
    pub(super) kind: Kind,
    /// The key fields as BSON elements.
    pub(super) key: &'a [u8],
    /// What to do.
    pub(super) action: &'a Action,
    /// The items, each a BSON document; empty if the action stores no records.
    pub(super) items: &'a [&'a [u8]],
    /// Their ids, each a BSON element, if the model has record ids.
    pub(super) ids: &'a [&'a [u8]],
    /// What the items add to the aggregates.
    pub(super) fold: Fold<'a>,
    /// The size of the items as counted against `max_bytes`.
    pub(super) bytes: u64,
    /// The size of the last of them.
    pub(super) last_bytes: u64,
    /// The time of the latest record.
    pub(super) latest: DateTime,
    /// The current time, for models that use it.
    pub(super) now: DateTime,
    /// The positions of the records, if they come from a source.
    pub(super) positions: Option<Positions<'a>>,
}

/// The positions of a statement's records in their source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positions<'a> {
    /// The field that keeps the last one.
    pub(super) path: &'a str,
    pub(super) first: i64,
    pub(super) last: i64,
}

impl Statement<'_> {
    /// An upper bound of the size of the encoded statement, in bytes.
    pub(super) fn size(&self) -> usize {
        let items: usize = self.items.iter().map(|item| item.len() + 8).sum();
        let ids: usize = self.ids.iter().map(|id| id.len() + 8).sum();
        let names = self.spec.names();
        let paths = self.spec.aggregates().iter();
        let paths: usize = paths.map(|aggregate| aggregate.path.len() + 40).sum();
        let shared = self.shared_size();
        items
            + shared
            + ids
            + 7 * self.key.len()
            + paths
            + self.fold.size()
            + 3 * self.positions.map_or(0, |positions| positions.path.len())
            + 8 * (names.count.len() + self.spec.items().len())
            + 2 * self.spec.dated_by().map_or(0, str::len)
            + 2_048
    }

    /// An upper bound of what a statement needs, besides the items, for the attributes that buckets hold.
    /// Each item already contains its arrays; if they differ from those of the item before it, they are
    /// written once more.
    fn shared_size(&self) -> usize {
        let arrays = self.spec.shared_arrays();
        let names: usize = arrays.map(|array| 3 * array.name.len() + 160).sum();
        if names == 0 {
            return 0;
        }
        // A bucket that is opened holds the attributes of the first item.
        let first = self.items.first().map_or(0, |item| item.len() + names);
        let items = self.items.iter();
        first + items.map(|item| item.len() + names + 80).sum::<usize>()
    }

    /// Whether this closes a bucket that the number of the next one depends on: if the bucket is gone or
    /// already closed, the statement is refused and stops those after it.
    pub(super) fn closes_for_good(&self) -> bool {
        matches!(self.action, Action::Close { .. }) && self.kind.builds_on_full()
    }
}
