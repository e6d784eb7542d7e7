//! Stores one record.

use bson::DateTime;
use bucket_core::{Record, write::Batch};
use mongodb::ClientSession;

use super::RecordOutcome;
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    group, trace,
    writer::{Settings, Writer, Written},
};

/// The result of [`Buckets::insert`].
///
/// ```
/// fn describe(inserted: bucket_mongo::Inserted) -> &'static str {
///     if inserted.opened_bucket { "new page" } else { "same page" }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inserted {
    /// Whether the record opened a bucket.
    pub opened_bucket: bool,
    /// [`Stored`](RecordOutcome::Stored), or [`Duplicate`](RecordOutcome::Duplicate) if the record has an id
    /// and was already stored. With [`replace`](crate::action::Insert::replace) also
    /// [`Replaced`](RecordOutcome::Replaced) and [`Superseded`](RecordOutcome::Superseded).
    pub outcome: RecordOutcome,
}

pub(super) async fn insert_one<T: Record>(
    buckets: &Buckets<T>,
    record: &T,
    session: Option<&mut ClientSession>,
    settings: &Settings,
    context: Context,
) -> Result<Inserted> {
    let mut batch = Batch::of::<T>();
    batch.set_now(DateTime::now());
    batch
        .push_with(0, record, buckets.limits(record))
        .map_err(|source| Error::new(ErrorKind::Encode(source), &context))?;
    let written = if session.is_none() && *settings == Settings::default() {
        group::store(buckets.store(), batch, 1, &context).await?
    } else {
        let writer = Writer::new(buckets.store(), session, settings, context)?;
        writer.store(&mut batch).await
    };
    let Written {
        opened,
        commands,
        resent,
        missed,
        failed,
        duplicates,
        ..
    } = written;
    tracing::debug!(target: trace::WRITE, commands, resent, missed, opened = opened.len(), failed = failed.len(), duplicates = duplicates.len(), "insert");
    match failed.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(Inserted {
            opened_bucket: !opened.is_empty(),
            outcome: if duplicates.is_empty() {
                RecordOutcome::Stored
            } else {
                RecordOutcome::Duplicate
            },
        }),
    }
}
