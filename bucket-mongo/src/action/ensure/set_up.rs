//! The steps of `ensure` for every model: first the collection, then its indexes, then dates,
//! its validator and its description.

use bucket_core::{
    index::Drift,
    write::{
        Pauses,
        codes::{
            INDEX_BUILD_ABORTED, INDEX_BUILD_IN_PROGRESS, INDEX_CONFLICTS, INDEX_NOT_FOUND,
            NAMESPACE_NOT_FOUND, QUERY_PLAN_KILLED,
        },
        collection_drift,
    },
};
use mongodb::bson::Document;
use tokio::time::sleep;

use super::{
    asked::Validator,
    checks::{check_size, compression_drift},
    ensure_report::EnsureReport,
};
use crate::{
    Error, Result, backoff::spread, collection::list_indexes, error::Context, store::Store, trace,
};

/// What the server answers if another client drops the collection, or changes its indexes, in the meantime.
const RACES: [i32; 7] = [
    NAMESPACE_NOT_FOUND,
    INDEX_NOT_FOUND,
    INDEX_CONFLICTS[0],
    INDEX_CONFLICTS[1],
    QUERY_PLAN_KILLED,
    INDEX_BUILD_ABORTED,
    INDEX_BUILD_IN_PROGRESS,
];
/// Those of them that can also have a lasting reason.
const MAY_LAST: [i32; 4] = [
    NAMESPACE_NOT_FOUND,
    INDEX_NOT_FOUND,
    INDEX_CONFLICTS[0],
    INDEX_CONFLICTS[1],
];
/// How often `ensure` begins again for that reason.
const MAX_RACES: u32 = 12;
/// After this many refusals in a row that leave the same, the reason lasts. Of many calls at once with other limits,
/// two may leave the same after another one has changed it in between.
const SAME_REFUSALS: u32 = 4;

/// What a refused attempt left.
#[derive(PartialEq)]
struct Seen {
    listing: Option<(Option<Document>, Vec<Document>)>,
    report: EnsureReport,
}

/// How an attempt ended that met no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    Done,
    /// Another call changed the indexes in the meantime.
    Again,
}

/// A collection that is being set up.
pub(super) struct SetUp<'a> {
    pub(super) store: &'a Store,
    pub(super) replace: bool,
    pub(super) change_expiry: bool,
    pub(super) validator: Validator,
    pub(super) replace_description: bool,
}

impl SetUp<'_> {
    pub(super) async fn run(self) -> Result<EnsureReport> {
        let context = Context::of_spec("ensure", self.store.spec());
        let mut report = EnsureReport::default();
        let mut pauses = Pauses::of(20, 500);
        let (mut seen, mut same) = (None, 0);
        loop {
            let error = match self.attempt(&mut report, &context).await {
                Ok(Attempt::Done) => break,
                // Each time, another call has created or dropped an index. The pauses part the calls.
                Ok(Attempt::Again) => {
                    report.looks_again();
                    sleep(spread(pauses.next_ceiling())).await;
                    continue;
                }
                Err(error) => error,
            };
            let is_any_of = |codes: &[i32]| error.code().is_some_and(|code| codes.contains(&code));
            if !is_any_of(&RACES) || pauses.tries() == MAX_RACES {
                return Err(error);
            }
            if is_any_of(&MAY_LAST) {
                let now = Seen {
                    listing: self.listing().await,
                    report: report.done(),
                };
                // Neither this call nor another client has changed anything since the last refusals: the next
                // attempt would be refused as well.
                let is_there = matches!(now.listing, Some((Some(_), _)));
                let is_same = is_there && seen.as_ref() == Some(&now);
                same = if is_same { same + 1 } else { 1 };
                if same == SAME_REFUSALS {
                    return Err(error);
                }
                seen = Some(now);
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

    /// The collection and its indexes; `None` if they cannot be listed.
    async fn listing(&self) -> Option<(Option<Document>, Vec<Document>)> {
        let Some(collection) = self.collection_info().await.ok()? else {
            return Some((None, Vec::new()));
        };
        let name = self.store.spec().collection();
        let mut indexes = list_indexes(self.store.database(), name).await.ok()?;
        // The order of the listing means nothing.
        indexes.sort_by_key(|index| index.get_str("name").unwrap_or_default().to_owned());
        Some((Some(collection), indexes))
    }

    async fn attempt(&self, report: &mut EnsureReport, context: &Context) -> Result<Attempt> {
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
                    return Ok(Attempt::Done);
                }
            }
        } else {
            is_new = self.create_collection().await.map_err(driver)?;
            report.created_collection |= is_new;
        }
        let record_bytes = self.record_bytes().await.map_err(driver)?;
        report.size_warning = check_size(self.store.spec(), record_bytes, context)?;
        let attempt = self.indexes(is_new, report, context).await?;
        let is_others = report.drift.iter().any(Drift::belongs_to_others);
        if attempt == Attempt::Again || is_others {
            return Ok(attempt);
        }
        let Some(found) = self.collection_info().await.map_err(driver)? else {
            // Another client has dropped it.
            return Ok(Attempt::Again);
        };
        self.validate(&found, report).await.map_err(driver)?;
        self.describe(&found, report, context).await?;
        Ok(attempt)
    }
}
