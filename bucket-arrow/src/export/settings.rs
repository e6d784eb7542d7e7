//! What to export, where to and how.

use bucket_mongo::Record;

use super::{partition::PartitionBy, report::ExportProgress, target::Target};
use crate::{ArrowQuery, Format};

/// Is called with the progress of an export.
pub(crate) type OnProgress<'a> = Box<dyn FnMut(&ExportProgress) + Send + 'a>;

/// The settings of an export.
pub(crate) struct Settings<'a, T: Record> {
    pub(crate) query: ArrowQuery<'a, T>,
    pub(crate) target: Target,
    pub(crate) format: Format,
    pub(crate) partition_by: PartitionBy,
    pub(crate) on_progress: Option<OnProgress<'a>>,
}
