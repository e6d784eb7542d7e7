//! The settings of an ingestor.

use std::{hash::RandomState, sync::Arc, time::Duration};

use bucket_core::Record;
use mongodb::options::WriteConcern;
use tokio::runtime::Handle;

use super::{
    Ingestor,
    gate::Gate,
    meters::Meters,
    replacer::{OfModel, Replacer},
    report::Ledger,
    shard::{BatchLimits, Shard},
    shared::Shared,
    when_full::WhenFull,
    worker::Worker,
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::{replacement::Replacement, replaces::Replaces},
    error::Context,
    writer::{Settings, Writer},
};

/// The most batches that can be in flight: more would cost memory and gain nothing.
const MAX_IN_FLIGHT: usize = 1_024;

/// The settings of an ingestor before its start; see [`Buckets::ingestor`].
///
/// ```no_run
/// # use std::time::Duration;
/// # use bucket_mongo::{Bucketed, Buckets, Ingestor, Result, WhenFull};
/// # fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<Ingestor<T>> {
/// buckets
///     .ingestor()
///     .linger(Duration::from_millis(50))
///     .max_buffered_bytes(256 * 1024 * 1024)
///     .when_full(WhenFull::Refuse)
///     .start()
/// # }
/// ```
#[must_use = "nothing is taken until it is started"]
#[derive(Debug)]
pub struct IngestorBuilder<T: Record> {
    buckets: Buckets<T>,
    max_batch_records: usize,
    max_batch_bytes: usize,
    linger: Duration,
    max_buffered_bytes: usize,
    when_full: WhenFull,
    in_flight: usize,
    settings: Settings,
    replacement: Option<Replacement<'static, T>>,
}

impl<T: Record> Buckets<T> {
    /// Builds an ingestor: many tasks push records into it, and it stores them in large batches.
    ///
    /// Settings: `max_batch_records`, `max_batch_bytes`, `linger`, `max_buffered_bytes`,
    /// `when_full`, `in_flight`, `write_concern`, `deadline`, `replace`, `replace_if`. Then `start`.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn store<T: Bucketed>(buckets: &Buckets<T>, records: Vec<T>) -> Result<()> {
    ///     let ingestor = buckets.ingestor().start()?;
    ///     for record in &records {
    ///         ingestor.push(record).await?; // waits if the server is slower
    ///     }
    ///     let report = ingestor.shutdown().await;
    ///     println!("{} of {} records stored", report.stored(), report.accepted());
    ///     report.into_result().map(drop)
    /// }
    /// ```
    pub fn ingestor(&self) -> IngestorBuilder<T> {
        IngestorBuilder::new(self)
    }
}

impl<T: Record> IngestorBuilder<T> {
    pub(super) fn new(buckets: &Buckets<T>) -> Self {
        Self {
            buckets: buckets.clone(),
            max_batch_records: 20_000,
            max_batch_bytes: 8 * 1024 * 1024,
            linger: Duration::from_millis(10),
            max_buffered_bytes: 64 * 1024 * 1024,
            when_full: WhenFull::default(),
            in_flight: 4,
            settings: Settings::default(),
            replacement: Replacement::of_model(),
        }
    }

    /// Sets the number of records at which a batch is written at once: 20,000 by default, at least 1.
    ///
    /// Records of the same bucket share the cost of one statement, so large batches over few keys are the
    /// fastest.
    pub fn max_batch_records(mut self, records: usize) -> Self {
        self.max_batch_records = records;
        self
    }

    /// Sets the number of bytes at which a batch is written at once: 8 MiB by default, at least 1. They are
    /// counted as for [`max_buffered_bytes`](Self::max_buffered_bytes).
    pub fn max_batch_bytes(mut self, bytes: usize) -> Self {
        self.max_batch_bytes = bytes;
        self
    }

    /// Sets how long the first record of a batch waits for others at most: 10 ms by default. With zero, a
    /// batch holds what arrived while the batch before it was written.
    ///
    /// A full buffer and [`Ingestor::flush`] cut the wait short.
    pub fn linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Sets how much may be accepted and not yet settled, buffered and in flight, in bytes: 64 MiB by
    /// default, at least 1.
    ///
    /// This counts the encoded items and keys, 128 bytes for each record, 48 for each of its values with an
    /// aggregate, and 1,024 for each key in a batch. Each task that pushes at the limit may exceed it by one
    /// record. While a batch is being written, its commands take the size of its items once more.
    pub fn max_buffered_bytes(mut self, bytes: usize) -> Self {
        self.max_buffered_bytes = bytes;
        self
    }

    /// Sets what `push` does when the buffer is full: wait, by default, or refuse.
    pub fn when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// Sets how many batches are written at the same time: 4 by default, 1 to 1,024. Keys are spread over
    /// them, so records of one key are written one after the other.
    pub fn in_flight(mut self, batches: usize) -> Self {
        self.in_flight = batches;
        self
    }

    /// Sets the write concern instead of the handle's.
    pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
        self.settings.write_concern = Some(write_concern);
        self
    }

    /// Sets how long one batch is retried; if not set, the handle's deadline applies, see
    /// [`Buckets::with_deadline`]. Then the batch is given up, with
    /// [`OutcomeUnknown`](ErrorKind::OutcomeUnknown) for records that may have been sent, and the next one
    /// starts.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = Some(deadline);
        self
    }

    /// Replaces records that are stored under the same ids with other data, instead of
    /// [`ErrorKind::Conflict`]. The record that was pushed last wins; see
    /// [`InsertMany::replace`](crate::action::InsertMany::replace).
    pub fn replace(self) -> Self {
        self.replace_if(|_, _| true)
    }

    /// Replaces records that are stored under the same ids with other data, if `replaces` says so: it gets the
    /// stored record and the new one, both as reads give them; see
    /// [`InsertMany::replace_if`](crate::action::InsertMany::replace_if). The receipt of a record that is not
    /// stored for that reason resolves to [`Superseded`](crate::RecordOutcome::Superseded).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Ingestor, Result, bson::DateTime};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "prices", items = "prices", capacity = 100)]
    /// # struct Price {
    /// #     #[bucket(key)] product: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     #[bucket(unique)] id: i64,
    /// #     version: i32,
    /// # }
    /// fn start(prices: &Buckets<Price>) -> Result<Ingestor<Price>> {
    ///     let newer = |stored: &Price, new: &Price| new.version > stored.version;
    ///     prices.ingestor().replace_if(newer).start()
    /// }
    /// ```
    pub fn replace_if(mut self, replaces: impl Fn(&T, &T) -> bool + Send + Sync + 'static) -> Self {
        self.replacement = Some(Replacement::new(replaces));
        self
    }

    /// Starts the tasks that write, in the runtime of the caller.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if a setting is out of range, if a model without record ids is to replace,
    /// or if called outside a Tokio runtime.
    pub fn start(self) -> Result<Ingestor<T>> {
        self.check()?;
        let runtime = Handle::try_current().map_err(|source| invalid::<T>(source.to_string()))?;
        let when_full = self.when_full;
        let buckets = self.buckets.clone();
        let of_model = |replacement| -> Box<dyn Replacer> {
            Box::new(OfModel {
                buckets,
                replacement,
            })
        };
        let replacer = self.replacement.map(of_model);
        let shards = (0..self.in_flight).map(|_| Shard::default()).collect();
        let shared = Arc::new(Shared {
            store: self.buckets.store().clone(),
            settings: self.settings,
            batch_limits: BatchLimits {
                records: self.max_batch_records,
                bytes: self.max_batch_bytes,
                linger: self.linger,
            },
            shards,
            gate: Gate::new(self.max_buffered_bytes),
            ledger: Ledger::default(),
            meters: Meters::new(T::SPEC.collection()),
            hashes: RandomState::new(),
            replacer,
        });
        for shard in 0..self.in_flight {
            runtime.spawn(Worker::new(&shared, shard).run());
        }
        Ok(Ingestor::new(self.buckets, shared, when_full))
    }

    fn check(&self) -> Result<()> {
        let least_1 = [
            ("max_batch_records", self.max_batch_records),
            ("max_batch_bytes", self.max_batch_bytes),
            ("max_buffered_bytes", self.max_buffered_bytes),
        ];
        if let Some((name, _)) = least_1.iter().find(|(_, value)| *value == 0) {
            return Err(invalid::<T>(format!("`{name}` must be at least 1")));
        }
        if !(1..=MAX_IN_FLIGHT).contains(&self.in_flight) {
            let message = format!("`in_flight` must be from 1 to {MAX_IN_FLIGHT}");
            return Err(invalid::<T>(message));
        }
        if self.replacement.is_some() {
            Replaces::<T>::check(&Context::of_all::<T>("ingest"))?;
        }
        // The write concern is checked before anything is accepted.
        let settings = &self.settings;
        Writer::new(
            self.buckets.store(),
            None,
            settings,
            Context::of_all::<T>("ingest"),
        )
        .map(drop)
    }
}

fn invalid<T: Record>(message: String) -> Error {
    let kind = ErrorKind::InvalidArgument { message };
    Error::new(kind, &Context::of_all::<T>("ingest"))
}
