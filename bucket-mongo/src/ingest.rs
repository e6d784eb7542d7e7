//! The ingestor: many tasks push records into it, and it writes them in batches.
//!
//! | piece | file |
//! | --- | --- |
//! | the settings, and the start of the tasks | `builder` |
//! | what handles and workers share: choosing the shard, closing, settling | `shared` |
//! | the memory bound and who waits for room | `gate`, `waiters` |
//! | the keys of one hash, whose batches are written one after the other | `shard` |
//! | a batch: encoded records and their sequence numbers | `gathered` |
//! | the task of a shard | `worker`, `writing` |
//! | records that replace stored ones | `replacer` |
//! | the outcome of a batch, for everyone who waits for it | `settlement`, `receipt` |
//! | the outcome of everything | `report` |
//! | a `Sink` | `sink` |
//! | metrics | `meters`, or `no_meters` without the feature |
//!
//! A push encodes its record straight into the open batch of its shard: there is no queue of records. A
//! worker takes the whole batch.

use std::{fmt, sync::Arc};

use bucket_core::Record;
use tokio::task::coop::consume_budget;

mod builder;
mod gate;
mod gathered;
#[cfg_attr(not(feature = "metrics"), path = "ingest/no_meters.rs")]
mod meters;
mod receipt;
mod replacer;
mod report;
mod settlement;
mod shard;
mod shared;
mod sink;
mod waiters;
mod when_full;
mod worker;
mod writing;

pub use self::{
    builder::IngestorBuilder,
    receipt::Receipt,
    report::{IngestFailure, IngestReport},
    sink::IngestSink,
    when_full::WhenFull,
};
use self::{
    gate::{Gate, Room},
    shared::Shared,
};
#[cfg(doc)]
use crate::ErrorKind;
use crate::Result;
use crate::{Buckets, Error};

/// Takes records from many tasks and stores them in batches; see [`Buckets::ingestor`].
///
/// Cheap to clone: all clones are handles to the same ingestor. It writes in tasks of its own, so dropping a
/// caller's future never cuts a write short.
///
/// Records of one key that one task pushes are stored in the order of the pushes, also across batches and
/// buckets. (Hybrid models put the records of a batch in time order.)
///
/// When the last handle is dropped, accepted records are still written as long as the runtime runs. A process
/// that ends without [`shutdown`](Self::shutdown) loses what is not acknowledged.
///
/// ```no_run
/// # use bucket_mongo::{Bucketed, Buckets, Result};
/// async fn store<T: Bucketed>(buckets: &Buckets<T>, record: T) -> Result<()> {
///     let ingestor = buckets.ingestor().start()?;
///     let receipt = ingestor.push(&record).await?; // accepted
///     receipt.await.map(drop) // durable
/// }
/// ```
pub struct Ingestor<T: Record> {
    buckets: Buckets<T>,
    handle: Arc<Handle>,
    when_full: WhenFull,
}

/// The part that all clones share; the workers do not hold it.
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<T: Record> Ingestor<T> {
    fn new(buckets: Buckets<T>, shared: Arc<Shared>, when_full: WhenFull) -> Self {
        Self {
            buckets,
            handle: Arc::new(Handle { shared }),
            when_full,
        }
    }

    /// Accepts a record, and returns a receipt that resolves once the record is durable.
    ///
    /// If the buffer is full, this waits for room or refuses, as [`WhenFull`] says. Now and then it yields to
    /// other tasks, even if there is room. A future that is dropped before it ends has not accepted the
    /// record.
    ///
    /// # Errors
    ///
    /// The record was not accepted: [`ErrorKind::Encode`] if it cannot be encoded, [`ErrorKind::Overloaded`]
    /// if the buffer is full and `WhenFull::Refuse` is set, [`ErrorKind::ShutDown`] after `shutdown` or
    /// `abort`. The receipt reports what happens after that.
    pub async fn push(&self, record: &T) -> Result<Receipt> {
        // A push that finds room never waits. Without this, a loop of pushes would keep the thread from the
        // tasks that write.
        consume_budget().await;
        if self.when_full == WhenFull::Refuse {
            return self.try_push(record);
        }
        Room::new(self.gate()).await;
        self.accept(record)
    }

    /// Accepts a record if there is room, and never waits, whatever [`WhenFull`] says.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push), and [`ErrorKind::Overloaded`] if the buffer is full.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, ErrorKind, Ingestor, Result};
    /// fn sample<T: Bucketed>(ingestor: &Ingestor<T>, record: &T) -> Result<bool> {
    ///     match ingestor.try_push(record) {
    ///         Ok(_) => Ok(true),
    ///         Err(error) if matches!(error.kind(), ErrorKind::Overloaded { .. }) => Ok(false),
    ///         Err(error) => Err(error),
    ///     }
    /// }
    /// ```
    pub fn try_push(&self, record: &T) -> Result<Receipt> {
        if !self.gate().has_room() {
            return Err(self.shared().overloaded());
        }
        self.accept(record)
    }

    /// Writes what was accepted before the call, without lingering, and waits until all of it is settled.
    ///
    /// The report covers everything since the start, and all handles: records that others push in the
    /// meantime may be pending in it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Ingestor, Result};
    /// async fn commit<T: Bucketed>(ingestor: &Ingestor<T>) -> Result<()> {
    ///     ingestor.flush().await.into_result().map(drop)
    /// }
    /// ```
    pub async fn flush(&self) -> IngestReport {
        self.shared().flush().await;
        self.report()
    }

    /// Accepts no more records, from any handle, writes everything that was accepted, and ends the tasks.
    ///
    /// While the server is unavailable, this takes as long as each batch is retried. To bound a shutdown,
    /// wrap it in a timeout, then call [`abort`](Self::abort):
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use bucket_mongo::{Bucketed, IngestReport, Ingestor};
    /// async fn stop<T: Bucketed>(ingestor: &Ingestor<T>) -> IngestReport {
    ///     let grace = Duration::from_secs(20);
    ///     match tokio::time::timeout(grace, ingestor.shutdown()).await {
    ///         Ok(report) => report,
    ///         Err(_) => ingestor.abort().await,
    ///     }
    /// }
    /// ```
    pub async fn shutdown(&self) -> IngestReport {
        self.shared().close();
        self.flush().await
    }

    /// Accepts no more records, from any handle, and stops at once.
    ///
    /// Records that were only buffered are not stored and fail with [`ErrorKind::ShutDown`]. The outcome of a
    /// batch that is being written is unknown: its records fail with [`ErrorKind::OutcomeUnknown`]. Commands
    /// that were sent continue in tasks of their own, so no connection is left with half a message.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Ingestor};
    /// async fn stop<T: Bucketed>(ingestor: &Ingestor<T>) {
    ///     let report = ingestor.abort().await;
    ///     println!("{} not stored, {} not known", report.not_stored(), report.unknown());
    /// }
    /// ```
    pub async fn abort(&self) -> IngestReport {
        self.shared().abort();
        self.flush().await
    }

    /// Reports the outcome of everything so far, without waiting.
    pub fn report(&self) -> IngestReport {
        self.shared().report()
    }

    /// The size of everything accepted and not yet settled, in bytes as
    /// [`max_buffered_bytes`](IngestorBuilder::max_buffered_bytes) counts them.
    #[must_use]
    pub fn buffered_bytes(&self) -> usize {
        self.gate().bytes()
    }

    /// The number of records that are accepted and not yet settled.
    #[must_use]
    pub fn buffered_records(&self) -> usize {
        self.gate().records()
    }

    fn accept(&self, record: &T) -> Result<Receipt> {
        self.shared().accept(record, self.buckets.limits(record))
    }

    /// The error of a record that was not accepted.
    fn shut_down(&self) -> Error {
        self.shared().shut_down("push")
    }

    /// Asks for everything accepted to be written, without waiting for it.
    fn ask(&self) {
        self.shared().ask();
    }

    fn gate(&self) -> &Gate {
        &self.shared().gate
    }

    fn shared(&self) -> &Shared {
        &self.handle.shared
    }
}

impl<T: Record> Clone for Ingestor<T> {
    fn clone(&self) -> Self {
        Self {
            buckets: self.buckets.clone(),
            handle: Arc::clone(&self.handle),
            when_full: self.when_full,
        }
    }
}

impl<T: Record> fmt::Debug for Ingestor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ingestor")
            .field("buckets", &self.buckets)
            .field("when_full", &self.when_full)
            .field("buffered_records", &self.buffered_records())
            .field("buffered_bytes", &self.buffered_bytes())
            .finish_non_exhaustive()
    }
}
