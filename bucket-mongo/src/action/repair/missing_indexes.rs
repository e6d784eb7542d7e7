//! The indexes that a repair creates.

use bucket_core::Record;

use super::RepairReport;
use crate::{Buckets, Result, action::verify::Indexes};

/// Creates the missing indexes as `ensure` does: it drops and replaces none, and makes the server remove nothing.
pub(super) async fn create<T: Record>(
    buckets: &Buckets<T>,
    report: &mut RepairReport,
) -> Result<()> {
    let Some(before) = Indexes::of(buckets, "repair").await? else {
        // Whoever may not list them cannot know.
        return Ok(());
    };
    if before.to_create.is_empty() || report.is_dry {
        report.created_indexes.clone_from(&before.to_create);
        report.indexes = before.without(&report.created_indexes);
        return Ok(());
    }
    let refused = match buckets.ensure().await {
        Ok(_) => None,
        Err(error) if error.is_unreachable() || error.is_timed_out() || error.is_retryable() => {
            return Err(error);
        }
        Err(error) => Some(error.to_string()),
    };
    let after = Indexes::of(buckets, "repair").await?.unwrap_or_default();
    let created = before
        .to_create
        .into_iter()
        .filter(|name| !after.lacks(name));
    report.created_indexes = created.collect();
    report.indexes = after.without(&[]);
    report.indexes.extend(refused);
    Ok(())
}
