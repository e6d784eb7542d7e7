//! `archive_to` and `restore_from`: the items of old sealed buckets in another collection, and back.
//!
//! | piece | file |
//! | --- | --- |
//! | the walk over the buckets, and their statements | `moving` |
//! | the documents of the archive | `copies` |
//! | the indexes of the archive | `set_up` |
//! | the files of an archive that no bucket refers to | `unused` |
//! | the report | `archive_report` |

mod archive_report;
mod copies;
mod moving;
mod set_up;
#[cfg(feature = "object-store")]
mod unused;

use std::{fmt, time::Duration};

use bucket_core::{IntoTimeRange, Record, TimeRange};
use mongodb::options::WriteConcern;
use tracing::Instrument;

pub use self::archive_report::ArchiveReport;
use self::moving::{Asked, Moving, OnProgress, What};
#[cfg(feature = "object-store")]
pub use self::unused::{RemoveUnusedFiles, UnusedFiles};
pub(super) use self::{
    copies::Copies,
    set_up::{Change, SetUp},
};
use super::ActionFuture;
use crate::{Archive, Buckets, Result, trace, writer::Settings};

impl<T: Record> Buckets<T> {
    /// Moves the items of sealed buckets to another collection, which may be in another database or cluster, or to files of an
    /// object store.
    ///
    /// The buckets themselves stay, with their keys, spans, counts, aggregates and positions of sources: so statistics of
    /// whole buckets are answered without the archive, pages and tokens stay valid, and a record that is delivered again
    /// is still known. [`with_archive`](Self::with_archive) reads across both. [`restore_from`](Self::restore_from) moves the
    /// items back.
    ///
    /// Each bucket is copied and the copy is read back and compared, both with `{w: "majority", j: true}`. Then one
    /// statement removes the items, which changes nothing if another writer came first. A call that is killed or ends with
    /// an error has moved some buckets: call it again. Of the last buckets it may leave copies that nothing refers to.
    /// Several processes may call this at once.
    ///
    /// The archive is a plain collection of its own, which is created if it does not exist. Where the collection removes what
    /// has expired, the archive does so an hour later.
    ///
    /// Settings: `older_than`, `key`, `between`, `dry_run`, `pause`, `on_progress`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind), before anything moves, if the archive is the collection itself, a
    /// view, a time series or capped collection, has a collation, a validator, a unique index or other documents, or removes
    /// what the collection keeps;
    /// [`ErrorKind::OutcomeUnknown`](crate::ErrorKind) if buckets may be archived and there was no
    /// reply before the deadline; those of the servers and of the connections. Damaged buckets are no error: the report
    /// has them.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, mongodb::Database};
    /// # use std::time::Duration;
    /// async fn every_night<T: Bucketed>(buckets: &Buckets<T>, archive: &Database) -> Result<()> {
    ///     let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
    ///     let report = buckets.archive_to(archive).older_than(days(90)).await?;
    ///     println!("{report}");
    ///     Ok(())
    /// }
    /// ```
    pub fn archive_to(&self, archive: impl Into<Archive>) -> ArchiveTo<'_, T> {
        ArchiveTo {
            asked: self.asked_to_move(What::Archive(Duration::ZERO), archive.into()),
            on_progress: None,
        }
    }

    /// Moves the items of archived buckets back, and removes the copies. The buckets are sealed as before.
    ///
    /// Settings: `key`, `between`, `dry_run`, `pause`, `on_progress`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// As [`archive_to`](Self::archive_to). Where the archive does not have what a bucket refers to, the bucket stays as it
    /// is, and the report has it as damaged.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, mongodb::Database};
    /// async fn back<T: Bucketed>(buckets: &Buckets<T>, key: T::Key, archive: &Database) -> Result<u64> {
    ///     Ok(buckets.restore_from(archive).key(key).await?.buckets)
    /// }
    /// ```
    pub fn restore_from(&self, archive: impl Into<Archive>) -> RestoreFrom<'_, T> {
        RestoreFrom {
            asked: self.asked_to_move(What::Restore, archive.into()),
            on_progress: None,
        }
    }

    fn asked_to_move(&self, what: What, archive: Archive) -> Asked<'_, T> {
        Asked {
            buckets: self,
            archive,
            what,
            key: None,
            range: TimeRange::ALL,
            is_dry: false,
            pause: Duration::ZERO,
            settings: Settings::default(),
        }
    }
}

/// Moves items into an archive; see [`Buckets::archive_to`].
#[must_use = "nothing is moved until this is awaited"]
pub struct ArchiveTo<'a, T: Record> {
    asked: Asked<'a, T>,
    on_progress: Option<OnProgress<'a>>,
}

/// Moves items back; see [`Buckets::restore_from`].
#[must_use = "nothing is moved until this is awaited"]
pub struct RestoreFrom<'a, T: Record> {
    asked: Asked<'a, T>,
    on_progress: Option<OnProgress<'a>>,
}

impl<T: Record> ArchiveTo<'_, T> {
    /// Only buckets whose last record is older than this. All sealed buckets if not set.
    pub fn older_than(mut self, age: Duration) -> Self {
        self.asked.what = What::Archive(age);
        self
    }
}

macro_rules! setters {
    ($($builder:ident $name:literal)+) => {$(
        impl<'a, T: Record> $builder<'a, T> {
            /// Only the buckets of this key. A second call replaces the key of the first one.
            pub fn key(mut self, key: impl Into<T::Key>) -> Self {
                self.asked.key = Some(key.into());
                self
            }

            /// Only the buckets that can hold records of this span of time. A second call replaces the span of the first
            /// one.
            pub fn between(mut self, range: impl IntoTimeRange) -> Self {
                self.asked.range = range.into_time_range();
                self
            }

            /// Only reads: returns what would be moved.
            pub fn dry_run(mut self) -> Self {
                self.asked.is_dry = true;
                self
            }

            /// Waits this long after every 100 buckets, so that others get more of the servers. None if not set.
            pub fn pause(mut self, pause: Duration) -> Self {
                self.asked.pause = pause;
                self
            }

            /// Calls this after every 100 buckets.
            pub fn on_progress(mut self, tell: impl FnMut(&ArchiveReport) + Send + 'a) -> Self {
                let tell: OnProgress<'a> = Box::new(tell);
                self.on_progress = Some(tell);
                self
            }

            /// Sets how long the whole call may take. If not set, it takes as long as it needs, and each of its commands
            /// at most the handle's [deadline](Buckets::with_deadline).
            pub fn deadline(mut self, deadline: Duration) -> Self {
                self.asked.settings.deadline = Some(deadline);
                self
            }

            /// Sets the write concern of the statements on the buckets instead of the handle's. Copies are always written
            /// with `{w: "majority", j: true}`.
            pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
                self.asked.settings.write_concern = Some(write_concern);
                self
            }
        }

        impl<T: Record> fmt::Debug for $builder<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($builder))
                    .field("collection", &T::SPEC.collection())
                    .field("archive", &self.asked.archive)
                    .finish_non_exhaustive()
            }
        }

        impl<'a, T: Record> IntoFuture for $builder<'a, T> {
            type Output = Result<ArchiveReport>;
            type IntoFuture = ActionFuture<'a, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                let collection = T::SPEC.collection();
                let span = tracing::debug_span!(target: trace::WRITE, $name, collection);
                let moving = Moving::new(self.asked);
                Box::pin(moving.run(self.on_progress).instrument(span))
            }
        }
    )+};
}

setters!(ArchiveTo "archive_to" RestoreFrom "restore_from");
