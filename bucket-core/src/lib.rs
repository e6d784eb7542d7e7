//! Bucket pattern for MongoDB without I/O.
//!
//! This crate turns a record type and its [`BucketSpec`] into finished BSON: the filters, updates,
//! reads and indexes of every operation. It also turns stored documents back into typed buckets. It
//! is deterministic: it does no networking, reads no clock, draws no random numbers and never
//! awaits. Services depend on `bucket-mongo`, which executes these plans and re-exports this crate.
//!
//! What a service names is at the root and in [`attribute`], [`error`] and [`model`]. The plans
//! themselves are hidden from these pages: they are for `bucket-mongo` of exactly this version, and change
//! without notice.
//!
//! The data flow, one module per step:
//!
//! | step | module |
//! | --- | --- |
//! | a record names its key, time and items | [`model`], `bucket` |
//! | what closes a bucket: number, time, bytes | [`model::Form`], [`Window`], [`Limits`] |
//! | what a bucket keeps of its records | [`Measure`], [`Sketch`], `stats` |
//! | its bucket gets an ordered, collision-free id | [`BucketId`] |
//! | records become `update` statements in one command buffer | `write` |
//! | keys, page numbers and spans of time become reads | [`TimeRange`], `read` |
//! | spans of time are cut into steps, and gaps filled | [`Interval`], [`Fill`] |
//! | stored bytes become typed buckets again | `bucket` |
//! | many similar fields become arrays of attributes, and back | [`attribute`] |
//! | stored records are corrected and removed | `edit` |
//! | stored buckets are checked and repaired | `check`, `repair` |
//! | buckets that take no more records become columns | `seal` |
//! | columns move to another collection, and are read from there | `archive` |
//! | what the server reports of changes becomes events of records | `watch` |
//! | documents of a flat collection become buckets | `backfill` |
//! | both are compared, record by record | `compare` |
//! | the collection gets its indexes | `index` |
//! | the server refuses what would damage a bucket | `schema` |
//! | how large buckets may be | [`model::size`] |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[doc(hidden)]
pub mod archive;
pub mod attribute;
#[doc(hidden)]
pub mod backfill;
#[doc(hidden)]
pub mod bucket;
#[doc(hidden)]
pub mod check;
mod codec;
#[doc(hidden)]
pub mod compare;
#[doc(hidden)]
pub mod edit;
pub mod error;
#[doc(hidden)]
pub mod index;
pub mod model;
#[doc(hidden)]
pub mod private;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod repair;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod seal;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod time;
#[doc(hidden)]
pub mod watch;
#[doc(hidden)]
pub mod write;

#[doc(hidden)]
pub use self::{
    bucket::{id, record},
    model::{aggregate, field, form, key, limits, measure, size, spec, whole},
    private as __private,
    stats::sketch,
    time::{range, step, window},
};

#[doc(no_inline)]
pub use self::error::{
    Damage, DamagedBucket, EncodeError, FilterError, IdError, IntervalError, KeyError, SumOverflow,
};
#[doc(inline)]
pub use self::{
    attribute::{AttributeFilter, AttributeValue, Attributed},
    bucket::{
        id::BucketId,
        record::{BucketDocument, Record},
    },
    edit::Which,
    index::{Drift, Removal},
    model::{
        BucketKey, BucketSpec, FieldPath, Form, KeyValue, LatePolicy, Limits, Measure, Number,
        RecordKey, RecordVersion,
    },
    read::{
        CursorToken, FillReport, IntoCursorToken, KeySummary, RecordRef, Referenced, Sizes,
        TokenError,
    },
    stats::{NoStats, sketch::Sketch},
    time::{
        BucketTime,
        range::{IntoTimeRange, TimeRange},
        step::{Fill, Filled, Interval},
        window::Window,
    },
    watch::{RecordChange, TailEvent, WatchEvent, WatchToken, WatchTokenError, WhenSlow},
};
