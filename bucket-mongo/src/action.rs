//! The operations, one per file: the builder, its setters, and its result.
//!
//! Every builder does nothing until it is awaited, and a stream nothing until it is polled.

#[cfg(feature = "seal")]
mod archive;
mod backfill;
mod compare;
mod count;
mod describe;
mod edit;
mod ensure;
mod fill;
mod insert;
mod insert_many;
mod insert_one;
mod insert_or_replace;
mod insert_report;
mod keys;
mod latest;
mod latest_per_key;
mod page;
mod page_count;
mod pages;
mod range;
mod range_all_keys;
mod record_outcome;
mod record_stream;
mod records;
mod repair;
pub(crate) mod replacement;
pub(crate) mod replaces;
pub(crate) mod replacing;
mod rollup;
mod run_plan;
mod scan;
#[cfg(feature = "seal")]
mod seal;
mod sizes;
mod stats;
mod verify;
mod watch;

use std::{future::Future, pin::Pin};

use mongodb::bson::Document;

#[doc(inline)]
pub use bucket_core::{
    FillReport, KeySummary, Sizes,
    read::{Amount, CapacityUse, ExpiryReport, ExpiryStep, SizeClass},
};

#[cfg(feature = "seal")]
pub use self::archive::{ArchiveReport, ArchiveTo, RestoreFrom};
#[cfg(feature = "object-store")]
pub use self::archive::{RemoveUnusedFiles, UnusedFiles};
pub use self::backfill::{
    BackfillFrom, BackfillPlan, BackfillProgress, BackfillReport, RejectedDocument,
};
#[cfg(feature = "seal")]
pub use self::seal::{
    ExpireRecords, Merge, MergeReport, Seal, SealReport, Sealer, SealerBuilder, SealerReport,
    Unseal,
};
pub use self::{
    compare::{CompareProgress, CompareWith, Comparison, Difference},
    count::CountQuery,
    describe::{Describe, describe},
    edit::{Delete, DeleteKey, DeleteRange, DeleteWhere, Removed, Update},
    ensure::{Described, Ensure, EnsureReport, SizeWarning, Validated},
    fill::FillQuery,
    insert::Insert,
    insert_many::InsertMany,
    insert_one::Inserted,
    insert_report::{FailedRecord, InsertReport},
    keys::{KeyStream, KeySummariesQuery, KeysQuery},
    latest::{LatestNQuery, LatestQuery},
    latest_per_key::LatestPerKeyQuery,
    page::{Page, PageQuery},
    page_count::PageCountQuery,
    pages::{PageStream, PagesQuery},
    range::RangeQuery,
    range_all_keys::RangeAllKeysQuery,
    record_outcome::RecordOutcome,
    record_stream::RecordStream,
    records::{RecordPage, RecordsQuery},
    repair::{Repair, RepairReport, RepairedBucket},
    rollup::{Rollup, RollupQuery, RollupRow},
    sizes::SizesQuery,
    stats::{RangeStats, StatsQuery},
    verify::{FindingStream, VerifyProgress, VerifyQuery, VerifyReport},
    watch::{TailQuery, TailStream, WatchQuery, WatchStream},
};

/// The future that a builder turns into.
pub type ActionFuture<'a, O> = Pin<Box<dyn Future<Output = O> + Send + 'a>>;

/// An integer that the server counted; 0 if it is missing.
fn number(document: &Document, name: &str) -> u64 {
    let number = bucket_core::whole::field(document, name);
    number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
}
