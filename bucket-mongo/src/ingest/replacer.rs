//! Replaces stored records for workers, which do not know the record type.

use std::pin::Pin;

use bucket_core::Record;
use tokio::time::Instant;

use crate::{
    Buckets,
    action::{replacement::Replacement, replacing::Replacing},
    writer::{Settings, Written},
};

/// Settles the contested records of a batch.
pub(super) trait Replacer: Send + Sync {
    fn settle<'a>(
        &'a self,
        written: &'a mut Written,
        settings: &'a Settings,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>>;
}

/// The records of a model.
pub(super) struct OfModel<T: Record> {
    pub(super) buckets: Buckets<T>,
    pub(super) replacement: Replacement<'static, T>,
}

impl<T: Record> Replacer for OfModel<T> {
    fn settle<'a>(
        &'a self,
        written: &'a mut Written,
        settings: &'a Settings,
        deadline: Instant,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let replacing = Replacing {
            buckets: &self.buckets,
            operation: "ingest",
            replaces: self.replacement.replaces(),
            session: None,
            settings,
            deadline,
        };
        self.replacement.settle(replacing, written)
    }
}
