//! What can be wrong with stored buckets.

use std::fmt;

use bson::{Bson, DateTime, Document};
use serde::Serialize;

use crate::time::shown::ShownTime;

/// Something that is wrong with a stored document, found by `verify`.
///
/// ```
/// use bson::doc;
/// use bucket_core::check::{Finding, Problem, ProblemKind};
///
/// let finding = Finding::new("123_1698335223".into(), doc! { "customerId": 123 }, Problem::Empty);
/// assert!(!finding.is_harmful());
/// assert_eq!(finding.problem.kind(), ProblemKind::Empty);
/// assert!(finding.to_string().starts_with("bucket \"123_1698335223\": "));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The document's `_id`; null if it has none.
    pub id: Bson,
    /// Its key fields as they are stored, whether they can be read or not.
    pub key: Document,
    /// What is wrong.
    #[serde(flatten)]
    pub problem: Problem,
}

impl Finding {
    /// A problem of the document with this id and these key fields.
    #[must_use]
    pub fn new(id: Bson, key: Document, problem: Problem) -> Self {
        Self { id, key, problem }
    }

    /// Whether a read, a write or the retention may do something wrong because of it.
    #[must_use]
    pub fn is_harmful(&self) -> bool {
        self.problem.kind().is_harmful()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.problem.kind();
        let (id, problem) = (&self.id, &self.problem);
        write!(
            f,
            "bucket {id}: {problem}: {}; {}",
            kind.effect(),
            kind.advice()
        )
    }
}

/// What is wrong with a stored document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Problem {
    /// It is not valid BSON.
    #[non_exhaustive]
    Malformed {
        /// The decoder's message.
        message: String,
    },
    /// Its packed items are damaged.
    #[non_exhaustive]
    Packed {
        /// What is wrong with them.
        message: String,
    },
    /// This program does not know the format of its packed items. Nothing is wrong with the bucket.
    #[non_exhaustive]
    Sealed {
        /// What the program lacks.
        message: String,
    },
    /// A field is missing or has another type.
    #[non_exhaustive]
    Field {
        /// Its path.
        path: String,
        /// What was expected.
        expected: String,
    },
    /// A field that is only for information has another type.
    #[non_exhaustive]
    OtherType {
        /// Its path.
        path: String,
        /// What was expected.
        expected: String,
    },
    /// A key field is missing, has another type or is out of range.
    #[non_exhaustive]
    Key {
        /// What is wrong with it.
        message: String,
    },
    /// The id does not have the model's form, or does not match the bucket's fields.
    #[non_exhaustive]
    Id {
        /// What is wrong with it.
        message: String,
    },
    /// The count differs from the length of the array.
    #[non_exhaustive]
    Count {
        /// The stored count.
        count: i64,
        /// The number of items.
        items: u64,
    },
    /// The number of removed records differs from their marks among the items.
    #[non_exhaustive]
    Removed {
        /// The stored number.
        removed: u64,
        /// The number of items with a mark.
        marks: u64,
    },
    /// An item cannot be read.
    #[non_exhaustive]
    Item {
        /// Its index in the array.
        index: u64,
        /// The decoder's message.
        message: String,
    },
    /// An attribute cannot be read.
    #[non_exhaustive]
    Attribute {
        /// The index of the item; `None` if the bucket holds the attribute for its items.
        index: Option<u64>,
        /// What is wrong with it.
        message: String,
    },
    /// An array of attributes is readable, but not as the library writes it.
    #[non_exhaustive]
    AttributeForm {
        /// The index of the item; `None` if the bucket holds the array for its items.
        index: Option<u64>,
        /// The name of the array.
        array: String,
    },
    /// The time of an item is outside of what the bucket covers.
    #[non_exhaustive]
    Outside {
        /// The index of the item.
        index: u64,
        /// Its time.
        time: DateTime,
        /// The start of the bucket.
        start: DateTime,
        /// The end of the bucket.
        end: DateTime,
    },
    /// No window has this start and this end.
    #[non_exhaustive]
    Window {
        /// The start of the bucket.
        start: DateTime,
        /// The end of the bucket.
        end: DateTime,
    },
    /// A hybrid bucket says that it covers more than the times of its records.
    #[non_exhaustive]
    LongSpan {
        /// The start of the bucket.
        start: DateTime,
        /// The end of the bucket.
        end: DateTime,
    },
    /// An aggregate is not that of the items.
    #[non_exhaustive]
    Aggregate {
        /// Its path.
        path: String,
        /// What is stored.
        stored: String,
        /// What the items have.
        expected: String,
    },
    /// An aggregate of the model is not stored.
    #[non_exhaustive]
    MissingAggregate {
        /// Its path.
        path: String,
    },
    /// Two items of the bucket have the same record id.
    #[non_exhaustive]
    RepeatedId {
        /// The index of the first item.
        first: u64,
        /// The index of the other one.
        index: u64,
    },
    /// The stored size is not that of the items.
    #[non_exhaustive]
    Bytes {
        /// The stored size.
        bytes: u64,
        /// The size of the items; of a sealed bucket at least the limit, because it takes no more records.
        expected: u64,
    },
    /// The bucket holds more records than its capacity.
    #[non_exhaustive]
    OverCapacity {
        /// The number of items.
        items: u64,
        /// The capacity.
        capacity: u32,
    },
    /// The bucket has no records, in a form that never stores such a bucket.
    Empty,
    /// The bucket is full, but not marked.
    #[non_exhaustive]
    NotMarked {
        /// The name of the mark.
        mark: String,
    },
    /// The bucket is marked as full, but has room.
    #[non_exhaustive]
    MarkedWithRoom {
        /// The name of the mark.
        mark: String,
    },
    /// A bucket for late records is not marked as closed.
    #[non_exhaustive]
    OpenLate {
        /// The name of the mark.
        mark: String,
    },
    /// A sealed bucket takes no more records, but writers take it for the open one of its key.
    OpenSealed,
    /// The server may remove the bucket before its records are old enough.
    #[non_exhaustive]
    RemovedEarly {
        /// The date from which its age counts.
        from: DateTime,
        /// The latest record.
        latest: DateTime,
    },
    /// The server keeps the bucket longer than its records need.
    #[non_exhaustive]
    RemovedLate {
        /// The date from which its age counts.
        from: DateTime,
        /// The latest record.
        latest: DateTime,
    },
    /// Buckets are missing before this one.
    #[non_exhaustive]
    Gap {
        /// The first missing number or part.
        from: u64,
        /// The last one.
        to: u64,
    },
    /// The bucket has room, but its window has a later bucket.
    #[non_exhaustive]
    RoomBefore {
        /// The later bucket.
        later: Bson,
    },
    /// Writers may take the bucket for the open one, but its key has a later bucket.
    #[non_exhaustive]
    OpenBefore {
        /// The later bucket.
        later: Bson,
    },
    /// Two buckets of a key take records, in a form that has one at a time.
    #[non_exhaustive]
    TwoOpen {
        /// The later bucket.
        later: Bson,
    },
    /// Another bucket of the key has the same number, or the same window and part.
    #[non_exhaustive]
    SamePlace {
        /// The other bucket.
        other: Bson,
    },
    /// The bucket has record ids of another bucket of its key, or both have no records: of those too, the index on record
    /// ids takes only one.
    #[non_exhaustive]
    SharedId {
        /// The other bucket.
        other: Bson,
        /// The index of the first item with such an id.
        index: u64,
        /// How many ids both have; 0 if they have no records.
        ids: u64,
    },
    /// The positions of a source do not rise from bucket to bucket.
    #[non_exhaustive]
    Position {
        /// The path of the position.
        path: String,
        /// The position in this bucket.
        position: i64,
        /// The position in an earlier bucket.
        earlier: i64,
    },
}

/// The kinds of [`Problem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(missing_docs, reason = "each is documented at the problem of its name")]
pub enum ProblemKind {
    Malformed,
    Packed,
    Sealed,
    Field,
    OtherType,
    Key,
    Id,
    Count,
    Removed,
    Item,
    Attribute,
    AttributeForm,
    Outside,
    Window,
    LongSpan,
    Aggregate,
    MissingAggregate,
    RepeatedId,
    Bytes,
    OverCapacity,
    Empty,
    NotMarked,
    MarkedWithRoom,
    OpenLate,
    OpenSealed,
    RemovedEarly,
    RemovedLate,
    Gap,
    RoomBefore,
    OpenBefore,
    TwoOpen,
    SamePlace,
    SharedId,
    Position,
}

impl Problem {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        match self {
            Self::Malformed { .. } => ProblemKind::Malformed,
            Self::Packed { .. } => ProblemKind::Packed,
            Self::Sealed { .. } => ProblemKind::Sealed,
            Self::Field { .. } => ProblemKind::Field,
            Self::OtherType { .. } => ProblemKind::OtherType,
            Self::Key { .. } => ProblemKind::Key,
            Self::Id { .. } => ProblemKind::Id,
            Self::Count { .. } => ProblemKind::Count,
            Self::Removed { .. } => ProblemKind::Removed,
            Self::Item { .. } => ProblemKind::Item,
            Self::Attribute { .. } => ProblemKind::Attribute,
            Self::AttributeForm { .. } => ProblemKind::AttributeForm,
            Self::Outside { .. } => ProblemKind::Outside,
            Self::Window { .. } => ProblemKind::Window,
            Self::LongSpan { .. } => ProblemKind::LongSpan,
            Self::Aggregate { .. } => ProblemKind::Aggregate,
            Self::MissingAggregate { .. } => ProblemKind::MissingAggregate,
            Self::RepeatedId { .. } => ProblemKind::RepeatedId,
            Self::Bytes { .. } => ProblemKind::Bytes,
            Self::OverCapacity { .. } => ProblemKind::OverCapacity,
            Self::Empty => ProblemKind::Empty,
            Self::NotMarked { .. } => ProblemKind::NotMarked,
            Self::MarkedWithRoom { .. } => ProblemKind::MarkedWithRoom,
            Self::OpenLate { .. } => ProblemKind::OpenLate,
            Self::OpenSealed => ProblemKind::OpenSealed,
            Self::RemovedEarly { .. } => ProblemKind::RemovedEarly,
            Self::RemovedLate { .. } => ProblemKind::RemovedLate,
            Self::Gap { .. } => ProblemKind::Gap,
            Self::RoomBefore { .. } => ProblemKind::RoomBefore,
            Self::OpenBefore { .. } => ProblemKind::OpenBefore,
            Self::TwoOpen { .. } => ProblemKind::TwoOpen,
            Self::SamePlace { .. } => ProblemKind::SamePlace,
            Self::SharedId { .. } => ProblemKind::SharedId,
            Self::Position { .. } => ProblemKind::Position,
        }
    }
}

impl fmt::Display for Problem {
    #[allow(clippy::too_many_lines, reason = "a line or two for each")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { message } => write!(f, "it is not valid BSON: {message}"),
            Self::Packed { message } | Self::Sealed { message } => {
                write!(f, "its packed items cannot be read: {message}")
            }
            Self::Field { path, expected } | Self::OtherType { path, expected } => {
                write!(f, "its field `{path}` is missing or is not {expected}")
            }
            Self::Key { message } | Self::Id { message } => f.write_str(message),
            Self::Count { count, items } => {
                write!(f, "its count is {count}, but its array has {items} items")
            }
            Self::Removed { removed, marks } => write!(
                f,
                "it counts {removed} removed records, but {marks} of its items mark one"
            ),
            Self::Item { index, message } => write!(f, "its item {index}: {message}"),
            Self::Attribute { index, message } => match index {
                Some(index) => write!(f, "its item {index}: {message}"),
                None => f.write_str(message),
            },
            Self::AttributeForm { index, array } => {
                if let Some(index) = index {
                    write!(f, "its item {index}: ")?;
                }
                write!(
                    f,
                    "the entries of `{array}` are not as the library writes them"
                )
            }
            Self::Outside {
                index,
                time,
                start,
                end,
            } => write!(
                f,
                "its item {index} has the time {}, but the bucket covers {} to {}",
                ShownTime(*time),
                ShownTime(*start),
                ShownTime(*end)
            ),
            Self::Window { start, end } => {
                write!(
                    f,
                    "its start {} and its end {} are not those of a window, or of the buckets that were merged into it",
                    ShownTime(*start),
                    ShownTime(*end)
                )
            }
            Self::LongSpan { start, end } => write!(
                f,
                "it says that it covers {} to {}, but its records do not reach that far",
                ShownTime(*start),
                ShownTime(*end)
            ),
            Self::Aggregate {
                path,
                stored,
                expected,
            } => {
                write!(
                    f,
                    "its aggregate `{path}` is {stored}, but that of its items is {expected}"
                )
            }
            Self::MissingAggregate { path } => write!(f, "it has no aggregate `{path}`"),
            Self::RepeatedId { first, index } => {
                write!(f, "its items {first} and {index} have the same record id")
            }
            Self::Bytes { bytes, expected } => {
                write!(
                    f,
                    "its size is stored as {bytes} bytes instead of {expected}"
                )
            }
            Self::OverCapacity { items, capacity } => {
                write!(f, "it has {items} items and a capacity of {capacity}")
            }
            Self::Empty => f.write_str("it has no items"),
            Self::NotMarked { mark } => write!(f, "it is full, but `{mark}` is not set"),
            Self::MarkedWithRoom { mark } => write!(f, "it has room, but `{mark}` is set"),
            Self::OpenLate { mark } => {
                write!(f, "it holds late records, but `{mark}` is not set")
            }
            Self::OpenSealed => f.write_str("it is sealed, but counts as open"),
            Self::RemovedEarly { from, latest } | Self::RemovedLate { from, latest } => write!(
                f,
                "its age counts from {}, and its latest record has the time {}",
                ShownTime(*from),
                ShownTime(*latest)
            ),
            Self::Gap { from, to } if from == to => {
                write!(f, "the bucket before it, number {from}, is missing")
            }
            Self::Gap { from, to } => {
                write!(
                    f,
                    "the buckets before it, numbers {from} to {to}, are missing"
                )
            }
            Self::RoomBefore { later } => write!(f, "it has room, but {later} follows it"),
            Self::OpenBefore { later } => {
                write!(f, "it is neither full nor closed, but {later} follows it")
            }
            Self::TwoOpen { later } => write!(f, "it takes records, and so does {later}"),
            Self::SamePlace { other } => {
                write!(f, "{other} has the same key and the same number or window")
            }
            Self::SharedId { other, ids: 0, .. } => write!(
                f,
                "it has no records, as {other}: the index on record ids takes one such bucket of a key"
            ),
            Self::SharedId { other, index, ids } => {
                write!(
                    f,
                    "it has {ids} of the record ids of {other}, the first in its item {index}"
                )
            }
            Self::Position {
                path,
                position,
                earlier,
            } => write!(
                f,
                "its position `{path}` is {position}, but a bucket before it has {earlier}"
            ),
        }
    }
}
