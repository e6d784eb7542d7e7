//! The steps of `ensure` for every model: first the collection, then its indexes, then dates.

use bucket_core::{index::Drift, write::collection_drift};

use super::{
    checks::{check_size, compression_drift},
    ensure_report::EnsureReport,
};
use crate::{Error, Result, error::Context, store::Store, trace};

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
        let driver = |error| Error::read(error, &context);
        if let Some(found) = self.collection_info().await.map_err(driver)? {
            report
                .drift
                .extend(compression_drift(self.store.spec(), &found));
            if let Some(drift) = collection_drift(&found) {
                let is_kind = matches!(drift, Drift::Kind { .. });
                report.drift.push(drift);
                if is_kind {
                    return Ok(report);
                }
            }
        } else {
            report.created_collection = self.create_collection().await.map_err(driver)?;
        }
        let record_bytes = self.record_bytes().await.map_err(driver)?;
        report.size_warning = check_size(self.store.spec(), record_bytes, &context)?;
        self.indexes(&mut report, &context).await?;
        if self.change_expiry {
            report.dated_buckets = self.date_buckets().await.map_err(driver)?;
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
}
