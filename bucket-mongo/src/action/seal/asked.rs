//! What a call over many buckets was asked for.

use std::time::Duration;

use bucket_core::{Record, TimeRange};

use crate::{Buckets, Result, action::edit::Editing, error::Context, writer::Settings};

/// What a call was asked for.
#[derive(Debug)]
pub(super) struct Asked<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) key: Option<T::Key>,
    pub(super) range: TimeRange,
    pub(super) is_dry: bool,
    pub(super) pause: Duration,
    pub(super) settings: Settings,
}

impl<'a, T: Record> Asked<'a, T> {
    /// All buckets.
    pub(super) fn new(buckets: &'a Buckets<T>) -> Self {
        Self {
            buckets,
            key: None,
            range: TimeRange::ALL,
            is_dry: false,
            pause: Duration::ZERO,
            settings: Settings::default(),
        }
    }

    /// Refuses the collection of another model: its readers might not know what the buckets become.
    pub(super) async fn check_collection(&self, context: &Context) -> Result<()> {
        let editing = Editing::new(self.buckets, None, &self.settings, context.clone());
        editing?.check_collection().await
    }
}
