//! `seal`, `unseal`, `expire_records`, `merge` and sealers: the items of buckets that take no more records as packed columns, as
//! rows again, gone, or in one bucket.
//!
//! | piece | file |
//! | --- | --- |
//! | what all of them are asked for | `asked` |
//! | the walk over the buckets, and the commands | `packing` |
//! | several sealed buckets that become one | `merge`, `merging` |
//! | a sealer: its settings and its handle | `sealer` |
//! | the rounds of a sealer | `rounds` |
//! | who may end a walk, and see how far it is | `watcher` |
//! | the reports | `seal_report`, `merge_report`, `sealer_report` |

mod asked;
mod merge;
mod merge_report;
mod merging;
mod packing;
mod rounds;
mod seal_report;
mod sealer;
mod sealer_report;
mod watcher;

use std::time::Duration;

use bucket_core::{IntoTimeRange, Record};
use mongodb::options::WriteConcern;
use tracing::Instrument;

use self::{
    asked::Asked,
    packing::{Packing, What},
};
pub use self::{
    merge::Merge,
    merge_report::MergeReport,
    seal_report::SealReport,
    sealer::{Sealer, SealerBuilder},
    sealer_report::SealerReport,
};
use super::ActionFuture;
use crate::{Buckets, Result, trace};

impl<T: Record> Buckets<T> {
    /// Packs the items of buckets that take no more records as columns, which take a small part of the space.
    ///
    /// A bucket is due once it is full or closed, or its window is over, and its last record is older than the model's
    /// `seal_after`. With `parts` and `merge` it is due later, because [`merge`](Self::merge) takes parts that are not sealed. Reads, statistics, edits and `watch` go on as before; see the chapter on sealed buckets of the
    /// [book](https://docs.rs/bucket-mongo). [`unseal`](Self::unseal) gives the rows back.
    ///
    /// Each bucket is sealed by one statement, which changes nothing if another writer came first. Several processes
    /// may call this at once. A call that ends with an error has sealed some buckets: call it again.
    ///
    /// Settings: `key`, `between`, `after`, `dry_run`, `pause`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind) if the model has no `seal_after`, or for a span that ends before
    /// it starts; [`ErrorKind::OutcomeUnknown`](crate::ErrorKind) if buckets may be sealed and there was no reply before
    /// the deadline; those of the server and of the connection. Damaged buckets are no error: the report has them.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn every_night<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.seal().await?;
    ///     println!("{report}");
    ///     Ok(())
    /// }
    /// ```
    pub fn seal(&self) -> Seal<'_, T> {
        Seal {
            asked: Asked::new(self),
            after: None,
        }
    }

    /// Gives sealed buckets their rows back. They still take no more records: later ones may be in other buckets.
    ///
    /// Settings: `key`, `between`, `dry_run`, `pause`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal). A model without `seal_after` is no error here.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn back_to_rows<T: Bucketed>(buckets: &Buckets<T>) -> Result<u64> {
    ///     Ok(buckets.unseal().await?.buckets)
    /// }
    /// ```
    pub fn unseal(&self) -> Unseal<'_, T> {
        Unseal {
            asked: Asked::new(self),
        }
    }

    /// Removes the records of buckets whose records have all expired, and keeps their statistics, in a model with
    /// `#[bucket(expire_after = "30d", keep_stats = "5y")]`. No read has shown these records since they expired; this frees
    /// their space, and they cannot be brought back.
    ///
    /// What stays of a bucket is everything but its items. Statistics and rollups go on as before. The server removes the rest
    /// by its TTL index once `keep_stats` has passed. In other models it removes whole buckets, and there is nothing to call.
    ///
    /// Call it from a task of yours, or let a [sealer](Self::sealer) do it
    /// ([`expire_records`](SealerBuilder::expire_records)). Each bucket is changed by one statement, which does nothing if
    /// another writer came first. Several processes may call this at once.
    ///
    /// Settings: `key`, `between`, `dry_run`, `pause`; `deadline`, `write_concern`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind) if the model has no `keep_stats`; otherwise as
    /// [`seal`](Self::seal).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn every_hour<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     println!("it would be: {}", buckets.expire_records().dry_run().await?);
    ///     println!("{}", buckets.expire_records().await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn expire_records(&self) -> ExpireRecords<'_, T> {
        ExpireRecords {
            asked: Asked::new(self),
        }
    }
}

/// Packs buckets as columns; see [`Buckets::seal`].
#[must_use = "nothing is sealed until this is awaited"]
#[derive(Debug)]
pub struct Seal<'a, T: Record> {
    asked: Asked<'a, T>,
    after: Option<Duration>,
}

/// Gives sealed buckets their rows back; see [`Buckets::unseal`].
#[must_use = "nothing is unsealed until this is awaited"]
#[derive(Debug)]
pub struct Unseal<'a, T: Record> {
    asked: Asked<'a, T>,
}

/// Removes records that have expired, and keeps their statistics; see [`Buckets::expire_records`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct ExpireRecords<'a, T: Record> {
    asked: Asked<'a, T>,
}

impl<T: Record> Seal<'_, T> {
    /// Buckets are due this long after their last record, or after their window, instead of after the model's
    /// `seal_after`. With [`Duration::ZERO`] all that take no more records are sealed.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// # use std::time::Duration;
    /// async fn at_once<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     buckets.seal().key(key).after(Duration::ZERO).await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn after(mut self, duration: Duration) -> Self {
        self.after = Some(duration);
        self
    }
}

macro_rules! setters {
    ($($builder:ident)+) => {$(
        impl<T: Record> $builder<'_, T> {
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

            /// Only reads and packs: returns what would be done.
            pub fn dry_run(mut self) -> Self {
                self.asked.is_dry = true;
                self
            }

            /// Waits this long after every command, so that others get more of the server. None if not set.
            pub fn pause(mut self, pause: Duration) -> Self {
                self.asked.pause = pause;
                self
            }

            /// Sets how long the whole call may take. If not set, it takes as long as it needs, and each of its commands
            /// at most the handle's [deadline](Buckets::with_deadline).
            pub fn deadline(mut self, deadline: Duration) -> Self {
                self.asked.settings.deadline = Some(deadline);
                self
            }

            /// Sets the write concern instead of the handle's.
            pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
                self.asked.settings.write_concern = Some(write_concern);
                self
            }
        }
    )+};
}

setters!(Seal Unseal ExpireRecords Merge);

macro_rules! packs {
    ($($builder:ident $name:literal: $what:expr,)+) => {$(
        impl<'a, T: Record> IntoFuture for $builder<'a, T> {
            type Output = Result<SealReport>;
            type IntoFuture = ActionFuture<'a, Self::Output>;

            fn into_future(self) -> Self::IntoFuture {
                let collection = T::SPEC.collection();
                let span = tracing::debug_span!(target: trace::WRITE, $name, collection);
                let what: fn(&Self) -> What = $what;
                let packing = Packing::new(what(&self), self.asked);
                Box::pin(packing.run().instrument(span))
            }
        }
    )+};
}

packs! {
    Seal "seal": |seal| What::Seal(seal.after),
    Unseal "unseal": |_| What::Unseal,
    ExpireRecords "expire_records": |_| What::Expire,
}
