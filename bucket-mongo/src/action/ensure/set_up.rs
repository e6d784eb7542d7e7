//! The steps of `ensure` for every model: first the collection, then its indexes, then dates.

use bucket_core::{
    index::Drift,
    write::{
        Pauses,
        codes::{
            INDEX_BUILD_ABORTED, INDEX_CONFLICTS, INDEX_NOT_FOUND, NAMESPACE_NOT_FOUND,
            QUERY_PLAN_KILLED,
        },
        collection_drift,
    },
};
use tokio::time::sleep;

use super::{
    checks::{check_size, compression_drift},
    ensure_report::EnsureReport,
};
use crate::{Error, Result, backoff::spread, error::Context, store::Store, trace};

/// What the server answers if another client drops the collection, or changes its indexes, in the meantime.
const RACES: [i32; 6] = [
    NAMESPACE_NOT_FOUND,
    INDEX_NOT_FOUND,
    INDEX_CONFLICTS[0],
    INDEX_CONFLICTS[1],
    QUERY_PLAN_KILLED,
    INDEX_BUILD_ABORTED,
];
/// How often `ensure` begins again for that reason. The same codes can also have a lasting reason.
const MAX_RACES: u32 = 6;

/// A collection that is being set up.
pub(super) struct SetUp<'a> {
    pub(super) store: &'a Store,
    pub(super) replace: bool,
    pub(super) change_expiry: bool,
}

impl SetUp<'_> {
    pub(super) async fn run(self) -> Result<EnsureReport> {
        let context = Context::of_spec("ensure", self.store.spec());
        let mut report = EnsureReport::default();
        let mut pauses = Pauses::of(20, 500);
        while let Err(error) = self.attempt(&mut report, &context).await {
            let is_race = error.code().is_some_and(|code| RACES.contains(&code));
            if !is_race || pauses.tries() == MAX_RACES {
                return Err(error);
            }
            report.looks_again();
            sleep(spread(pauses.next_ceiling())).await;
        }
        tracing::debug!(
            target: trace::ADMIN,
            created_collection = report.created_collection,
            created_indexes = report.created_indexes.len(),
            drift = report.drift.len(),
            "ensure",
        );
        Ok(report)
    }

    async fn attempt(&self, report: &mut EnsureReport, context: &Context) -> Result<()> {
        let driver = |error| Error::read(error, context);
        let mut is_new = false;
        if let Some(found) = self.collection_info().await.map_err(driver)? {
            report
                .drift
                .extend(compression_drift(self.store.spec(), &found));
            if let Some(drift) = collection_drift(&found) {
                let is_kind = matches!(drift, Drift::Kind { .. });
                report.drift.push(drift);
                if is_kind {
                    return Ok(());
                }
            }
        } else {
            is_new = self.create_collection().await.map_err(driver)?;
            report.created_collection |= is_new;
        }
        let record_bytes = self.record_bytes().await.map_err(driver)?;
        report.size_warning = check_size(self.store.spec(), record_bytes, context)?;
        self.indexes(is_new, report, context).await?;
        if self.change_expiry {
            report.dated_buckets = self.date_buckets().await.map_err(driver)?;
        }
        Ok(())
    }
}
