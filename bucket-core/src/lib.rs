//! Bucket pattern for MongoDB without I/O.
//!
//! This crate turns a record type and its [`BucketSpec`] into finished BSON: the filters, updates,
//! reads and indexes of every operation. It also turns stored documents back into typed buckets. It
//! is deterministic: it does no networking, reads no clock, draws no random numbers and never
//! awaits. Services depend on `bucket-mongo`, which executes these plans and re-exports this crate.
//!
//! The data flow, one module per step:
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

pub mod attribute;
pub mod bucket;
mod codec;
pub mod error;
pub mod index;
mod model;
#[doc(hidden)]
pub mod private;
pub mod read;
pub mod stats;
// For `bucket-mongo` only.
#[doc(hidden)]
pub mod text;
pub mod time;
pub mod write;

// For `bucket-mongo` only.
#[doc(hidden)]
pub use self::model::whole;
#[doc(inline)]
pub use self::model::{aggregate, field, form, key, limits, measure, size, spec};
#[doc(no_inline)]
pub use self::{
    bucket::{id, record},
    stats::sketch,
    time::{range, step, window},
};

#[doc(hidden)]
pub use self::private as __private;
#[doc(inline)]
pub use self::{
    attribute::{AttributeFilter, AttributeValue, Attributed},
    bucket::{
        id::BucketId,
        record::{BucketDocument, Record},
    },
    error::{Damage, DamagedBucket, EncodeError, IdError, KeyError, StepError, SumOverflow},
    model::{
        field::FieldPath,
        form::{Form, LatePolicy},
        key::{BucketKey, KeyValue, RecordKey},
        limits::Limits,
        measure::{Measure, Number},
        spec::BucketSpec,
    },
    read::{CursorToken, TokenError},
    stats::{NoStats, sketch::Sketch},
    time::{
        BucketTime,
        range::{IntoTimeRange, TimeRange},
        step::{Every, Fill},
        window::Window,
    },
};
