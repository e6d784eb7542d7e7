//! What is known of a model before any record exists: its spec and the parts of the spec.

#[doc(hidden)]
pub mod aggregate;
pub(crate) mod attribute_array;
pub(crate) mod bounds;
pub(crate) mod derived;
pub(crate) mod expiry;
#[doc(hidden)]
pub mod field;
#[doc(hidden)]
pub mod form;
#[doc(hidden)]
pub mod key;
#[doc(hidden)]
pub mod limits;
#[doc(hidden)]
pub mod measure;
pub(crate) mod merging;
pub mod size;
#[doc(hidden)]
pub mod spec;
pub(crate) mod stored_field;
#[doc(hidden)]
pub mod version;
#[doc(hidden)]
pub mod whole;

pub use self::{
    aggregate::{Aggregate, AggregateKind, Input, NonFinite},
    field::FieldPath,
    form::{Form, LatePolicy},
    key::{BucketKey, KeyValue, RecordKey},
    limits::Limits,
    measure::{Measure, Number},
    spec::{BucketSpec, IdSegment, KeyField, Names, TimeField, TimeUnit},
    stored_field::{FieldKind, StoredField},
    version::RecordVersion,
};
