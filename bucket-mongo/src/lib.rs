//! Typed bucket pattern for MongoDB: annotate a record struct, insert records, read pages.
//!
//! ```no_run
//! use bucket_mongo::{Bucketed, bson::DateTime, mongodb::Client};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
//! #[serde(rename_all = "camelCase")]
//! #[bucket(collection = "trades", items = "history", capacity = 10)]
//! struct Trade {
//!     #[bucket(key)]
//!     customer_id: i64,
//!     #[bucket(time)]
//!     date: DateTime,
//!     ticker: String,
//!     qty: i32,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::with_uri_str("mongodb://localhost:27017").await?;
//! let trades = Trade::buckets(&client.database("shop"));
//! trades.ensure().await?;
//!
//! let trade = Trade { customer_id: 123, date: DateTime::now(), ticker: "MDB".into(), qty: 419 };
//! trades.insert(&trade).await?;
//!
//! let page = trades.page(123, 1).await?;
//! assert_eq!(page.records(), [trade]);
//! # Ok(())
//! # }
//! ```
//!
//! # I want to...
//!
//! | task | call |
//! | --- | --- |
//! | create the collection and its indexes, see what differs | [`Buckets::ensure`] |
//! | let the server refuse what would damage a bucket | [`validator`](action::Ensure::validator) on `ensure` |
//! | see what a collection holds, without its model | [`describe`] |
//! | store one record | [`Buckets::insert`] |
//! | store many, and learn the outcome of each | [`Buckets::insert_many`] |
//! | push from many tasks, in batches and with bounded memory | [`Buckets::ingestor`] |
//! | give each key limits of its own | [`Buckets::with_limits`] |
//! | show page 3 | [`Buckets::page`] |
//! | count pages or records | [`Buckets::page_count`], [`Buckets::count`] |
//! | show 25 records, and the next 25 | [`Buckets::records`] |
//! | read everything of a key | [`Buckets::records`], [`Buckets::pages`] |
//! | read a time range | [`Buckets::range`], [`Buckets::range_many`] |
//! | read only records with certain values | [`matching`](action::RecordsQuery::matching) on `records` and `range` |
//! | read the newest records | [`Buckets::latest`], [`Buckets::latest_n`] |
//! | read the statistics of a time range | [`Buckets::stats`] |
//! | correct a record, or remove one | [`Buckets::update`], [`Buckets::delete`] |
//! | remove a time range of a key, certain records, or all | [`Buckets::delete_range`], [`Buckets::delete_where`], [`Buckets::delete_key`] |
//! | list the keys, and how much is stored of each | [`Buckets::keys`] |
//! | see how much space the collection takes | [`Buckets::sizes`] |
//! | see how full buckets are, and what the server removes when | [`Buckets::fill`] |
//! | read the newest record of every key | [`Buckets::latest_per_key`] |
//! | read a time range of every key | [`Buckets::range_all_keys`] |
//! | follow every record that is stored, edited or removed | [`Buckets::watch`], [`Buckets::watch_key`] |
//! | the newest records, and everything that follows | [`Buckets::tail`], [`Buckets::tail_key`] |
//! | read statistics by hour or by day | [`Buckets::rollup`] |
//! | limit how long a read takes, choose its read concern and preference | [`deadline`](action::RecordsQuery::deadline), [`read_concern`](action::RecordsQuery::read_concern), [`read_preference`](action::RecordsQuery::read_preference), on every read |
//! | check that what is stored keeps every promise | [`Buckets::verify`] |
//! | store old buckets in a small part of the space | `Buckets::seal`, `Buckets::sealer` (feature `seal`) |
//! | move them to another database or cluster, and read across both | `Buckets::archive_to`, `Buckets::with_archive` (feature `seal`) |
//! | store the documents of a flat collection as records, and go on after a crash | [`Buckets::backfill_from`] |
//! | show that the buckets have all of them | [`Buckets::compare_with`] |
//! | store documents with many similar fields, and find them by these fields | [`Documents`] |
//! | move a collection of many fields to arrays of attributes, or back | [`Documents::migrate_to_attributes`] |
//! | test a service against a real server | `testing` (feature `testing`) |
//!
//! # Features
//!
//! | name | description | default |
//! | --- | --- | --- |
//! | `chrono-0_4` | `chrono::DateTime<Utc>` as a record's time | no |
//! | `time-0_3` | `time::OffsetDateTime` as a record's time | no |
//! | `jiff-0_2` | `jiff::Timestamp` as a record's time | no |
//! | `time-zones` | calendar steps in time zones, with the zone data compiled in | no |
//! | `uuid-1` | `uuid::Uuid` as a key | no |
//! | `seal` | sealed buckets: their items are columns, packed by `bucket-columns` | no |
//! | `object-store` | archives in files of Amazon S3, Google Cloud, Azure or a folder, through the crate `object_store`; with it `seal` | no |
//! | `metrics` | metrics of ingestors through the facade crate `metrics` | no |
//! | `testing` | a development server for examples and tests | no |
//! | `rustls-tls`, `dns-resolver` | the driver's TLS by `rustls`, and `mongodb+srv://` addresses | yes |
//! | `openssl-tls`, `rustls-tls-aws-lc` | the driver's TLS by other libraries | no |
//! | `snappy-compression`, `zlib-compression`, `zstd-compression` | the driver's compression of messages | no |
//! | `aws-auth`, `azure-oidc`, `gcp-oidc` | the driver's authentication with these providers | no |
//! | `tracing-unstable` | the driver's own events for `tracing` | no |
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod action;
#[cfg(feature = "seal")]
mod archive;
mod backoff;
mod buckets;
mod chunks;
mod collection;
pub mod documents;
pub mod error;
mod failures;
mod footing;
mod group;
pub mod ingest;
mod models;
mod moment;
mod read;
mod read_setters;
mod reply;
mod store;
#[cfg(feature = "testing")]
pub mod testing;
mod trace;
mod without_failures;
mod write_concern;
mod write_setters;
mod writer;

#[doc(hidden)]
pub use bucket_core::__private;
#[doc(inline)]
pub use bucket_core::{
    AttributeFilter, BucketDocument, BucketId, BucketSpec, BucketTime, CursorToken, FieldPath,
    Fill, Filled, Form, Interval, IntoCursorToken, IntoTimeRange, KeyValue, LatePolicy, Limits,
    Measure, NoStats, Number, Record, RecordChange, RecordKey, RecordRef, RecordVersion,
    Referenced, Sketch, TailEvent, TimeRange, WatchEvent, WatchToken, WatchTokenError, WhenSlow,
    Which, Window, attribute, model,
};
pub use bucket_derive::{AttributeValue, Attributed, BucketKey, Bucketed};
pub use mongodb::{self, bson};
#[cfg(feature = "object-store")]
pub use object_store;

#[cfg(feature = "object-store")]
#[doc(inline)]
pub use self::action::UnusedFiles;
#[cfg(feature = "seal")]
#[doc(inline)]
pub use self::{
    action::{ArchiveReport, MergeReport, SealReport, Sealer, SealerReport},
    archive::Archive,
};
#[doc(inline)]
pub use self::{
    action::{
        BackfillProgress, BackfillReport, Comparison, EnsureReport, FillReport, InsertReport,
        Inserted, KeySummary, Page, RangeStats, RecordOutcome, RecordPage, RepairReport,
        RepairedBucket, Rollup, RollupRow, Sizes, VerifyProgress, VerifyReport, describe,
    },
    buckets::{Bucketed, Buckets},
    documents::{Attributed, Documents},
    error::{Error, ErrorKind, IntervalError, Result, TokenError},
    ingest::{IngestReport, Ingestor, WhenFull},
    without_failures::WithoutFailures,
};
#[doc(inline)]
pub use bucket_core::{
    AttributeValue, BucketKey,
    check::{CheckPosition, Finding, PositionError, Problem, ProblemKind},
    schema::{AggregateDescription, CollectionDescription, FieldDescription},
};
