//! Bucket pattern for MongoDB without I/O.
//!
//! This crate turns a record type and its [`BucketSpec`] into finished BSON: the filters, updates,
//! reads and indexes of every operation, and back from stored documents to typed buckets. It is
//! deterministic: it contains no networking, asks no clock, draws no random number and never
//! awaits. Services depend on `bucket-mongo`, which executes these plans and re-exports this crate.
//!
//! The data flow, one module a step:
//!
//! | step | module |
//! | --- | --- |
//! | a record names its key, time and items | [`record`], [`spec`], [`key`], [`time`] |
//! | what closes a bucket: number, time, bytes | [`form`], [`window`](mod@window), [`limits`] |
//! | what a bucket keeps of its records | [`aggregate`], [`measure`], [`sketch`], [`stats`] |
//! | its bucket gets an ordered, collision-free id | [`id`] |
//! | records become `update` statements in one command buffer | [`write`](mod@write) |
//! | keys, page numbers and spans of time become reads | [`range`], [`read`] |
//! | spans of time are cut into steps, and gaps filled | [`step`] |
//! | stored bytes become typed buckets again | [`bucket`] |
//! | many similar fields become arrays of attributes, and back | [`attribute`] |
//! | the collection gets its indexes | [`index`] |
//! | how large buckets may be | [`size`] |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod aggregate;
pub mod attribute;
pub mod bucket;
mod decode;
mod encode;
pub mod error;
mod expiry;
pub mod field;
mod fold;
pub mod form;
pub mod id;
pub mod index;
mod item;
pub mod key;
pub mod limits;
pub mod measure;
mod percent;
#[doc(hidden)]
pub mod private;
pub mod range;
mod raw;
pub mod read;
pub mod record;
pub mod size;
pub mod sketch;
pub mod spec;
pub mod stats;
pub mod step;
mod tally;
// For `bucket-mongo` only.
#[doc(hidden)]
pub mod text;
pub mod time;
// For `bucket-mongo` only.
#[doc(hidden)]
pub mod whole;
pub mod window;
pub mod write;

#[doc(hidden)]
pub use self::private as __private;
#[doc(inline)]
pub use self::{
    attribute::{AttributeFilter, AttributeValue, Attributed},
    error::{Damage, DamagedBucket, EncodeError, IdError, KeyError, StepError, SumOverflow},
    field::FieldPath,
    form::{Form, LatePolicy},
    id::BucketId,
    key::{BucketKey, KeyValue, RecordKey},
    limits::Limits,
    measure::{Measure, Number},
    range::{IntoTimeRange, TimeRange},
    read::{CursorToken, TokenError},
    record::{BucketDocument, Record},
    sketch::Sketch,
    spec::BucketSpec,
    stats::NoStats,
    step::{Every, Fill},
    time::BucketTime,
    window::Window,
};
