//! The spec: everything the library knows about a model, as one constant.
//!
//! The derive writes a `const SPEC` for each record type; core reads it. No behaviour lives in
//! emitted code.

/// What `#[derive(Bucketed)]` read off a record type.
///
/// It is made by the derive alone, which has checked that names do not collide, that the capacity
/// is at least 1 and that the id template names every key.
///
/// ```
/// # use bucket_core::{BucketSpec, private::SpecParts, spec::{IdSegment, KeyField, TimeField, TimeUnit}};
/// const SPEC: BucketSpec = BucketSpec::__new(SpecParts {
///     record: "Trade",
///     collection: "trades",
///     items: "history",
///     capacity: 10,
///     id: &[IdSegment::Key(0), IdSegment::Literal("_"), IdSegment::Time(TimeUnit::Seconds)],
///     keys: &[KeyField { field: "customer_id", path: "customerId" }],
///     time: TimeField { field: "date", name: "date" },
/// });
/// assert_eq!(SPEC.capacity(), 10);
/// assert_eq!(SPEC.open_index_name(), "bucket_open_10");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSpec {
    parts: crate::private::SpecParts,
}

/// A key field: the Rust name in the record and the top-level BSON path in the bucket.
///
/// ```
/// let key = bucket_core::spec::KeyField { field: "customer_id", path: "customerId" };
/// assert_eq!(key.path, "customerId");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyField {
    /// The field's name in the Rust struct.
    pub field: &'static str,
    /// The field's name in the stored bucket.
    pub path: &'static str,
}

/// The time field: the Rust name in the record and the BSON name in each stored item.
///
/// ```
/// let time = bucket_core::spec::TimeField { field: "timestamp", name: "ts" };
/// assert_eq!(time.name, "ts");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeField {
    /// The field's name in the Rust struct.
    pub field: &'static str,
    /// The field's name in a stored item, always a BSON date there.
    pub name: &'static str,
}

/// One piece of an id template such as `"{customer_id}_{date:s}"`.
///
/// ```
/// use bucket_core::spec::{IdSegment, TimeUnit};
/// assert_ne!(IdSegment::Key(0), IdSegment::Time(TimeUnit::Seconds));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdSegment {
    /// Text that stands in every id.
    Literal(&'static str),
    /// The key field of this index in [`BucketSpec::keys`].
    Key(usize),
    /// When the bucket was opened; always the last segment.
    Time(TimeUnit),
}

/// The unit in which an id counts time.
///
/// ```
/// assert_eq!(bucket_core::spec::TimeUnit::Seconds.millis(), 1000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// `{field:s}`: seconds since 1970, the manual's form.
    Seconds,
    /// `{field:ms}`: milliseconds since 1970.
    Millis,
}

impl TimeUnit {
    /// Milliseconds in one unit.
    ///
    /// ```
    /// assert_eq!(bucket_core::spec::TimeUnit::Millis.millis(), 1);
    /// ```
    #[must_use]
    pub const fn millis(self) -> i64 {
        match self {
            Self::Seconds => 1000,
            Self::Millis => 1,
        }
    }

    /// Digits of an ordinary date (September 2001 to November 2286) in this unit.
    pub(crate) const fn digits(self) -> usize {
        match self {
            Self::Seconds => 10,
            Self::Millis => 13,
        }
    }
}

impl BucketSpec {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(parts: crate::private::SpecParts) -> Self {
        Self { parts }
    }

    /// The name of the record type.
    #[must_use]
    pub const fn record(&self) -> &'static str {
        self.parts.record
    }

    /// The collection that holds the buckets.
    #[must_use]
    pub const fn collection(&self) -> &'static str {
        self.parts.collection
    }

    /// The name of the array in a bucket.
    #[must_use]
    pub const fn items(&self) -> &'static str {
        self.parts.items
    }

    /// The largest number of records in one bucket, at least 1.
    #[must_use]
    pub const fn capacity(&self) -> u32 {
        self.parts.capacity
    }

    /// The key fields in the order of the struct.
    #[must_use]
    pub const fn keys(&self) -> &'static [KeyField] {
        self.parts.keys
    }

    /// The time field.
    #[must_use]
    pub const fn time(&self) -> TimeField {
        self.parts.time
    }

    /// The id template; its last segment is the time.
    #[must_use]
    pub const fn id(&self) -> &'static [IdSegment] {
        self.parts.id
    }

    /// The unit of the id's time.
    #[must_use]
    pub const fn id_unit(&self) -> TimeUnit {
        match self.parts.id {
            [.., IdSegment::Time(unit)] => *unit,
            _ => TimeUnit::Seconds,
        }
    }

    /// The name of the unique partial index that lets a key have one open bucket.
    ///
    /// The capacity is part of the name: a writer whose capacity is not the one that the index
    /// was made for finds no such index and is refused, instead of filling buckets by another
    /// rule.
    #[must_use]
    pub fn open_index_name(&self) -> String {
        format!("bucket_open_{}", self.capacity())
    }

    /// The name of the index that orders the buckets of a key.
    #[must_use]
    pub const fn pages_index_name(&self) -> &'static str {
        "bucket_pages"
    }
}

/// The top-level name of the id in a bucket.
pub(crate) const ID: &str = "_id";
/// The top-level name of the number of items in a bucket.
pub(crate) const COUNT: &str = "count";
