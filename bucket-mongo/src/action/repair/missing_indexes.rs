//! The indexes that a repair creates.

use bucket_core::Record;

use tokio::time::Instant;

use super::RepairReport;
use crate::{
    Buckets, Result,
    action::{edit::passes, verify::Indexes},
    writer::LONGEST_DEADLINE,
};

/// Creates the missing indexes as `ensure` does: it drops and replaces none, and makes the server remove nothing.
pub(super) async fn create<T: Record>(
    buckets: &Buckets<T>,
    report: &mut RepairReport,
) -> Result<()> {
    let deadline = Instant::now() + buckets.store().deadline().min(LONGEST_DEADLINE);
    let Some(before) = listed(buckets, deadline).await? else {
        // Whoever may not list them cannot know.
        return Ok(());
    };
    if before.to_create.is_empty() || report.is_dry {
        report.created_indexes.clone_from(&before.to_create);
        report.indexes = before.without(&report.created_indexes);
        return Ok(());
    }
    let refused = loop {
        match buckets.ensure().await {
            Ok(_) => break None,
            Err(error) if error.is_retryable() => passes(error, deadline).await?,
            Err(error) if error.is_unreachable() || error.is_timed_out() => return Err(error),
            Err(error) => break Some(error.to_string()),
        }
    };
    let after = listed(buckets, deadline).await?.unwrap_or_default();
    let created = before
        .to_create
        .into_iter()
        .filter(|name| !after.lacks(name));
    report.created_indexes = created.collect();
    report.indexes = after.without(&[]);
    report.indexes.extend(refused);
    Ok(())
}

/// A fault that passes must not cost the report of what was mended.
async fn listed<T: Record>(buckets: &Buckets<T>, deadline: Instant) -> Result<Option<Indexes>> {
    loop {
        match Indexes::of(buckets, "repair").await {
            Ok(listed) => return Ok(listed),
            Err(error) => passes(error, deadline).await?,
        }
    }
}
