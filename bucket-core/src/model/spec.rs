//! The spec: everything the library knows about a model, as one constant.
//!
//! The derive writes a `const SPEC` for each record type; core reads it. Generated code contains no
//! behaviour.

use super::{
    aggregate::{Aggregate, AggregateKind, Input},
    attribute_array::{ArrayPlace, AttributeArray},
    form::Form,
    stored_field::StoredField,
};
use crate::time::window::Window;

/// What `#[derive(Bucketed)]` read from a record type.
///
/// Only the derive makes it. The derive has checked that names do not collide, that the capacity is
/// at least 1, and that the id template names every key.
///
/// ```
/// # use bucket_core::{BucketSpec, Form, private::SpecParts};
/// # use bucket_core::spec::{IdSegment, KeyField, Names, TimeField, TimeUnit};
/// const SPEC: BucketSpec = BucketSpec::__new(SpecParts {
///     record: "Trade",
///     collection: "trades",
///     items: "history",
///     form: Form::Count { capacity: 10 },
///     id: &[IdSegment::Key(0), IdSegment::Literal("_"), IdSegment::Time(TimeUnit::Seconds)],
///     keys: &[KeyField { field: "customer_id", path: "customerId" }],
///     time: TimeField { field: "date", name: "date" },
///     names: Names::DEFAULT,
///     max_bytes: None,
///     raised_from: None,
///     expire_after: None,
///     keep_stats: None,
///     seal_after: None,
///     merge: None,
///     merge_stats: None,
///     object_ids: false,
///     compression: None,
///     inputs: &[],
///     aggregates: &[],
///     unique: None,
///     arrays: &[],
///     fields: &[],
/// });
/// assert_eq!(SPEC.capacity(), Some(10));
/// assert_eq!(SPEC.open_index_name().as_deref(), Some("bucket_open_10"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSpec {
    parts: SpecParts,
}

/// The literal form of a spec, for const construction.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SpecParts {
    pub record: &'static str,
    pub collection: &'static str,
    pub items: &'static str,
    pub form: Form,
    pub id: &'static [IdSegment],
    pub keys: &'static [KeyField],
    pub time: TimeField,
    pub names: Names,
    pub max_bytes: Option<u32>,
    pub raised_from: Option<u32>,
    pub expire_after: Option<u32>,
    pub keep_stats: Option<u32>,
    pub seal_after: Option<u32>,
    pub merge: Option<Window>,
    pub merge_stats: Option<Window>,
    pub object_ids: bool,
    pub compression: Option<&'static str>,
    pub inputs: &'static [Input],
    pub aggregates: &'static [Aggregate],
    pub unique: Option<&'static str>,
    pub arrays: &'static [AttributeArray],
    pub fields: &'static [StoredField],
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
    /// Text that appears in every id.
    Literal(&'static str),
    /// The key field of this index in [`BucketSpec::keys`].
    Key(usize),
    /// When the bucket was opened, or the start of its window; always the last segment.
    Time(TimeUnit),
    /// The number of the bucket; always the last segment, in place of the time.
    Number,
}

/// The names of a bucket's own fields, all at its top level. The form decides which of them a
/// bucket has.
///
/// ```
/// use bucket_core::spec::Names;
/// assert_eq!(Names::DEFAULT.start, "bucket_start");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Names {
    /// The number of items.
    pub count: &'static str,
    /// The start of the window, or the time of the first record (window, hybrid).
    pub start: &'static str,
    /// The end of the window, or the time of the latest record (window, hybrid).
    pub end: &'static str,
    /// The number of the bucket (numbered).
    pub number: &'static str,
    /// The capacity that the bucket was opened with (numbered).
    pub size: &'static str,
    /// Whether the bucket takes no more records (numbered).
    pub full: &'static str,
    /// Whether the bucket takes no more records in order (hybrid).
    pub closed: &'static str,
    /// Whether the bucket holds late records; stored only if it does (hybrid).
    pub late: &'static str,
    /// The part number among several buckets of one window; not stored for the first (windows with
    /// object ids).
    pub part: &'static str,
    /// The size of the items in bytes (models with `max_bytes`).
    pub bytes: &'static str,
    /// When the bucket was opened, by the clock of the writer, if the model asks for it.
    pub created_at: Option<&'static str>,
    /// The time from which the age of the bucket counts (count and numbered, models with
    /// `expire_after`).
    pub expire_from: &'static str,
    /// The prefix of the path of each aggregate; empty for none.
    pub stats: &'static str,
}

impl Names {
    /// The names from the bucket tutorial.
    pub const DEFAULT: Self = Self {
        count: "count",
        start: "bucket_start",
        end: "bucket_end",
        number: "bucket_number",
        size: "bucket_size",
        full: "is_full",
        closed: "is_closed",
        late: "is_late",
        part: "bucket_part",
        bytes: "bytes",
        created_at: None,
        expire_from: "expire_from",
        stats: "stats",
    };
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
    pub const fn __new(parts: SpecParts) -> Self {
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

    /// What closes a bucket and opens the next one.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.parts.form
    }

    /// The largest number of records in one bucket, at least 1; `None` for windows without a
    /// capacity.
    #[must_use]
    pub const fn capacity(&self) -> Option<u32> {
        self.parts.form.capacity()
    }

    /// The names of a bucket's own fields.
    #[must_use]
    pub const fn names(&self) -> &Names {
        &self.parts.names
    }

    /// The size of the items, in bytes, that closes a bucket, if the model has one.
    #[must_use]
    pub const fn max_bytes(&self) -> Option<u32> {
        self.parts.max_bytes
    }

    /// In the manual's form, the smallest capacity that buckets of the collection were made with,
    /// if it was less than the model's.
    #[must_use]
    pub const fn raised_from(&self) -> Option<u32> {
        self.parts.raised_from
    }

    /// The retention of records in seconds, if the model has one.
    #[must_use]
    pub const fn expire_after(&self) -> Option<u32> {
        self.parts.expire_after
    }

    /// How long the statistics of buckets are kept whose records have expired, in seconds, if the model keeps them.
    #[must_use]
    pub const fn keep_stats(&self) -> Option<u32> {
        self.parts.keep_stats
    }

    /// How long after its last record, or after its window, a bucket is due to be sealed, in seconds; `None` for
    /// models whose buckets stay rows.
    #[must_use]
    pub const fn seal_after(&self) -> Option<u32> {
        self.parts.seal_after
    }

    /// The span of time within which the sealed buckets of a key become one, if they are few records each; `None` for models
    /// whose buckets stay what they are.
    #[must_use]
    pub const fn merge(&self) -> Option<Window> {
        self.parts.merge
    }

    /// The span of time within which those of them become one whose records have expired; `None` for models where that is
    /// [`merge`](Self::merge).
    #[must_use]
    pub const fn merge_stats(&self) -> Option<Window> {
        self.parts.merge_stats
    }

    /// The span of time within which any buckets of a key may have become one.
    pub(crate) const fn merged_within(&self) -> Option<Window> {
        match self.merge_stats() {
            None => self.merge(),
            wider => wider,
        }
    }

    /// Whether the server makes the ids, as object ids. A unique index on the fields that identify
    /// a bucket then replaces typed ids.
    #[must_use]
    pub const fn object_ids(&self) -> bool {
        self.parts.object_ids
    }

    /// The block compressor of a collection that `ensure` creates; `None` for the server's default.
    #[must_use]
    pub const fn compression(&self) -> Option<&'static str> {
        self.parts.compression
    }

    /// The values of each record that have aggregates.
    #[must_use]
    pub const fn inputs(&self) -> &'static [Input] {
        self.parts.inputs
    }

    /// The aggregates of each bucket.
    #[must_use]
    pub const fn aggregates(&self) -> &'static [Aggregate] {
        self.parts.aggregates
    }

    /// The path of the first aggregate of a kind.
    pub(crate) fn path_of(&self, kind: AggregateKind) -> Option<&'static str> {
        let mut aggregates = self.aggregates().iter();
        let found = aggregates.find(|aggregate| aggregate.kind == kind);
        found.map(|aggregate| aggregate.path)
    }

    /// The stored name of the record id inside an item, if the model has record ids.
    #[must_use]
    pub const fn unique(&self) -> Option<&'static str> {
        self.parts.unique
    }

    /// The arrays of attributes, of the items and of the bucket itself.
    #[must_use]
    pub const fn arrays(&self) -> &'static [AttributeArray] {
        self.parts.arrays
    }

    /// The fields of a record that are stored under names of their own, and what their types read.
    #[must_use]
    pub const fn fields(&self) -> &'static [StoredField] {
        self.parts.fields
    }

    /// The arrays of attributes that a bucket holds for its items.
    pub(crate) fn shared_arrays(&self) -> impl Iterator<Item = &'static AttributeArray> + use<> {
        let arrays = self.parts.arrays.iter();
        arrays.filter(|array| matches!(array.place, ArrayPlace::Bucket(_)))
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

    /// The name of the unique index on record ids, if the model has them.
    #[must_use]
    pub fn unique_index_name(&self) -> Option<String> {
        self.unique().map(|_| UNIQUE_INDEX.to_owned())
    }

    /// The path of the record ids in a bucket, if the model has them.
    pub(crate) fn unique_path(&self) -> Option<String> {
        self.unique().map(|name| format!("{}.{name}", self.items()))
    }

    /// The name of the unique index that identifies buckets. Writes use it as their hint.
    pub(crate) fn identity_index_name(&self) -> String {
        if self.object_ids() {
            self.pages_index_name()
        } else {
            ID_INDEX.to_owned()
        }
    }

    /// A name as the bucket tutorial forms it: `service_endpoint_order_idx` for the keys
    /// `service_name` and `endpoint`.
    pub(crate) fn tutorial_name(&self, role: &str) -> String {
        tutorial_name(self.keys().iter().map(|key| key.path), role)
    }

    /// The largest number of records in one bucket, from the model or by default.
    pub(crate) const fn size(&self) -> u32 {
        self.parts.form.size()
    }
}

/// The same for key fields with these paths.
pub(crate) fn tutorial_name<I>(keys: I, role: &str) -> String
where
    I: IntoIterator,
    I::Item: AsRef<str>,
{
    let mut name = String::new();
    for key in keys {
        let key = key.as_ref();
        let path = ["_id", "_name", "Id", "Name"]
            .iter()
            .find_map(|suffix| key.strip_suffix(suffix))
            .filter(|path| !path.is_empty());
        name.push_str(path.unwrap_or(key));
        name.push('_');
    }
    name + role + "_idx"
}

/// The name of the server's own index on `_id`.
pub(crate) const ID_INDEX: &str = "_id_";

/// The name of the index on record ids.
pub(crate) const UNIQUE_INDEX: &str = "bucket_unique";

/// The top-level name of the id in a bucket.
pub(crate) const ID: &str = "_id";
