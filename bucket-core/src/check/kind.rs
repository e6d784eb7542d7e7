//! What each kind of problem does, and what to do about it.

use std::fmt;

use super::ProblemKind;

impl ProblemKind {
    /// Whether a read, a write or the retention may do something wrong because of it.
    ///
    /// Harmless problems cost something, or show that another tool has written.
    #[must_use]
    pub const fn is_harmful(self) -> bool {
        !matches!(
            self,
            Self::Sealed
                | Self::OtherType
                | Self::AttributeForm
                | Self::LongSpan
                | Self::MissingAggregate
                | Self::Bytes
                | Self::OverCapacity
                | Self::Empty
                | Self::NotMarked
                | Self::MarkedWithRoom
                | Self::RemovedLate
                | Self::RoomBefore
        )
    }

    /// What it does.
    #[must_use]
    pub const fn effect(self) -> &'static str {
        match self {
            Self::Malformed
            | Self::Packed
            | Self::Field
            | Self::Key
            | Self::Id
            | Self::Count
            | Self::Item
            | Self::Attribute => "reads report it as damaged",
            Self::Sealed => "this program cannot read it",
            Self::OtherType => "reads take it as missing",
            Self::AttributeForm => "reads are right, but indexes and filters may miss the entries",
            Self::Removed => "reads take marks for damage, and counts are wrong",
            Self::Outside => "reads of a span of time may miss the record",
            Self::Window => "reads of a span of time may miss the bucket",
            Self::LongSpan => "reads of a span of time look at it in vain",
            Self::Aggregate => "statistics are wrong",
            Self::MissingAggregate => "statistics read the items instead",
            Self::RepeatedId | Self::SharedId => "reads give the record twice",
            Self::Bytes => "it is closed too early or too late",
            Self::OverCapacity => "a page is longer than others",
            Self::Empty => "it takes space",
            Self::NotMarked => "the next writer sets the mark",
            Self::MarkedWithRoom | Self::RoomBefore => "a page is shorter than others",
            Self::OpenLate => "writers take it for the bucket of new records",
            Self::RemovedEarly => "the retention removes records too early",
            Self::RemovedLate => "the retention removes records too late",
            Self::Gap => "records are missing, unless you removed them",
            Self::OpenBefore | Self::TwoOpen => "writers may fill the wrong bucket, or none",
            Self::OpenSealed => "no record of its key can be stored",
            Self::SamePlace => "pages and cursors may miss records",
            Self::Position => "records of the source may be stored twice, or taken for stored",
        }
    }

    /// What to do.
    #[must_use]
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Malformed | Self::Packed => "restore it from a backup",
            Self::Sealed => "read it with a later release, built with the feature `seal`",
            Self::Field | Self::OtherType => "restore the field",
            Self::Key => "restore the key field, or move the document out of the collection",
            Self::Id => "insert the bucket again under the right id, and remove this one",
            Self::Count => "set the count to the number of items",
            Self::Removed => "set `_edits.removed` to the number of items with `_removed`",
            Self::Item | Self::Attribute => {
                "repair the item, or take it out together with its count and aggregates"
            }
            Self::AttributeForm => "write the entries in the model's order and types",
            Self::Outside => "move the record to the bucket of its time, or restore the span",
            Self::Window | Self::LongSpan => "restore the start and the end",
            Self::Aggregate | Self::MissingAggregate => {
                "set it to that of the items, or remove it: statistics then read the items"
            }
            Self::RepeatedId => {
                "take one of them out, together with its part of the count and aggregates"
            }
            Self::SharedId => {
                "take each out of one of the two, together with its part of the count and aggregates"
            }
            Self::Bytes => "set it to the size of the items",
            Self::OverCapacity => "nothing, if the capacity was lowered",
            Self::Empty => "remove it",
            Self::NotMarked | Self::MarkedWithRoom | Self::RoomBefore => "nothing",
            Self::OpenLate => "set the mark",
            Self::OpenBefore | Self::OpenSealed => "close it, as `repair()` does",
            Self::RemovedEarly | Self::RemovedLate => {
                "set the date to the time of the latest record"
            }
            Self::Gap => "restore the missing buckets",
            Self::TwoOpen => {
                "check the indexes with `ensure()`, and move the records of one of them"
            }
            Self::SamePlace => "check the indexes with `ensure()`, and renumber one of them",
            Self::Position => "deliver the source again from a position that is surely stored",
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "not valid BSON",
            Self::Packed => "unreadable packed items",
            Self::Sealed => "unknown format of packed items",
            Self::Field => "wrong field",
            Self::OtherType => "other type",
            Self::Key => "wrong key",
            Self::Id => "wrong id",
            Self::Count => "wrong count",
            Self::Removed => "wrong number of removed records",
            Self::Item => "unreadable item",
            Self::Attribute => "unreadable attribute",
            Self::AttributeForm => "other form of attributes",
            Self::Outside => "item outside of its bucket",
            Self::Window => "impossible window",
            Self::LongSpan => "span longer than its records",
            Self::Aggregate => "wrong aggregate",
            Self::MissingAggregate => "missing aggregate",
            Self::RepeatedId => "repeated record id",
            Self::Bytes => "wrong size",
            Self::OverCapacity => "over capacity",
            Self::Empty => "empty bucket",
            Self::NotMarked => "full without a mark",
            Self::MarkedWithRoom => "marked with room",
            Self::OpenLate => "open bucket of late records",
            Self::OpenSealed => "open although it is sealed",
            Self::RemovedEarly => "removed too early",
            Self::RemovedLate => "removed too late",
            Self::Gap => "missing buckets",
            Self::RoomBefore => "room before a later bucket",
            Self::OpenBefore => "open before a later bucket",
            Self::TwoOpen => "two open buckets",
            Self::SamePlace => "two buckets at one place",
            Self::SharedId => "record id in two buckets",
            Self::Position => "positions that do not rise",
        })
    }
}
