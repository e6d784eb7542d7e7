//! The contract between a record type, its typed buckets and the library.

use bson::DateTime;
use serde::{Serialize, de::DeserializeOwned};

use super::id::BucketId;
use crate::{
    bucket::bucket_fields::BucketFields,
    model::{
        aggregate::InputSink,
        derived::Derived,
        key::{KeySink, RecordKey},
        spec::BucketSpec,
        version::Replaces,
    },
    stats::StoredStats,
};

/// A record type that is stored in buckets. It is sealed: only `#[derive(Bucketed)]` implements it.
///
/// ```
/// use bucket_core::Record;
///
/// fn describe<T: Record>() -> String {
///     format!("buckets of `{}` in `{}`", T::SPEC.record(), T::SPEC.collection())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bucketed record",
    label = "this type has no buckets",
    note = "add `#[derive(Bucketed)]` and `#[bucket(collection = \"..\", items = \"..\", ..)]` to `{Self}`"
)]
pub trait Record: Serialize + Sized + Send + Sync + 'static {
    /// What the derive read from the struct.
    const SPEC: &'static BucketSpec;
    /// The key fields of the record.
    type Key: RecordKey;
    /// The record without its key fields, as stored in the array.
    type Item: Serialize + DeserializeOwned + Send;
    /// The typed bucket document.
    type Bucket: BucketDocument<Record = Self> + Send;
    /// The typed aggregates, of one bucket or of a span of time.
    type Stats: From<StoredStats> + AsRef<StoredStats> + Clone + std::fmt::Debug + Send + Sync;
    #[doc(hidden)]
    const __DERIVED: Derived;
    #[doc(hidden)]
    /// Of a model with `on_conflict = "replace"`: whether a record replaces the one that is stored under its id.
    const REPLACES: Option<Replaces<Self>> = None;

    #[doc(hidden)]
    /// Passes the key fields to `sink`, in the order of [`BucketSpec::keys`].
    fn visit_key(&self, sink: &mut dyn KeySink);

    /// The record's key.
    fn key(&self) -> Self::Key;

    /// The record's time in whole milliseconds, rounded down.
    fn time(&self) -> DateTime;

    #[doc(hidden)]
    /// Passes the values with aggregates to `sink`, in the order of [`BucketSpec::inputs`].
    fn visit_inputs(&self, sink: &mut dyn InputSink) {
        let _ = sink;
    }

    #[doc(hidden)]
    /// Builds a record from a bucket's key and one of its items.
    fn assemble(key: Self::Key, item: Self::Item) -> Self;
}

/// The typed bucket document of a model; the derive makes one for each.
pub trait BucketDocument: Sized {
    /// The record that the buckets hold.
    type Record: Record<Bucket = Self>;

    #[doc(hidden)]
    /// Builds the document from these parts.
    fn from_parts(parts: BucketParts<Self::Record>) -> Self;

    #[doc(hidden)]
    /// The parts of this document.
    fn into_parts(self) -> BucketParts<Self::Record>;

    #[doc(hidden)]
    /// A view of the parts.
    fn as_ref(&self) -> BucketRef<'_, Self::Record>;
}

/// The parts of every bucket, independent of the names of its fields.
#[derive(Debug)]
pub struct BucketParts<T: Record> {
    /// The id, from `_id`.
    pub id: BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: StoredStats,
    /// The items in their order of arrival.
    pub items: Vec<T::Item>,
}

/// A view of the parts of a bucket.
#[derive(Debug)]
pub struct BucketRef<'a, T: Record> {
    /// The id.
    pub id: &'a BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: &'a StoredStats,
    /// The items in their order of arrival.
    pub items: &'a [T::Item],
}
