//! What the handles and the workers of an ingestor share.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
};

use bucket_core::{
    Limits, Record,
    key::{KeySink, KeyValue},
};

use super::{
    gate::Gate,
    gathered::Gathered,
    meters::Meters,
    receipt::Receipt,
    replacer::Replacer,
    report::{IngestReport, Ledger},
    settlement::{Outcome, Settled, Settlement},
    shard::{BatchLimits, Refusal, Shard},
};
use crate::{
    Error, ErrorKind, Result,
    error::{Context, NotKnown},
    store::Store,
    writer::Settings,
};

/// An ingestor without its handles: the workers hold it until they are done.
pub(super) struct Shared {
    pub(super) store: Store,
    pub(super) settings: Settings,
    pub(super) batch_limits: BatchLimits,
    pub(super) shards: Box<[Shard]>,
    pub(super) gate: Gate,
    pub(super) ledger: Ledger,
    pub(super) meters: Meters,
    pub(super) hashes: RandomState,
    /// Of an ingestor that replaces stored records.
    pub(super) replacer: Option<Box<dyn Replacer>>,
}

impl Shared {
    /// Accepts a record, however full the buffer is.
    pub(super) fn accept<T: Record>(&self, record: &T, limits: Option<Limits>) -> Result<Receipt> {
        let mut filled = false;
        let pushed = self
            .shard(record)
            .push(record, limits, self.batch_limits, |bytes| {
                // Under the shard's lock, so that no worker returns room that was not taken yet.
                filled = self.gate.enter(bytes);
                self.ledger.accept()
            });
        if filled {
            // The buffer is full: batches stop lingering, or tasks that wait for room would wait as long.
            self.shards.iter().for_each(|shard| shard.wake.notify_one());
        }
        pushed.map_err(|refusal| match refusal {
            Refusal::Closed => self.shut_down("push"),
            Refusal::Encode(source) => {
                let context = Context::of::<T>("push", &record.key());
                Error::new(ErrorKind::Encode(source), &context)
            }
        })
    }

    /// The error of a record for which there is no room.
    pub(super) fn overloaded(&self) -> Error {
        self.meters.refused();
        let limit = self.gate.limit();
        Error::new(ErrorKind::Overloaded { limit }, &self.context("push"))
    }

    fn shard<T: Record>(&self, record: &T) -> &Shard {
        let mut hash = KeyHash(self.hashes.build_hasher());
        record.visit_key(&mut hash);
        let shards = u64::try_from(self.shards.len()).unwrap_or(u64::MAX);
        // In range: the remainder is below the number of shards, and there is at least one.
        let at = usize::try_from(hash.0.finish() % shards).unwrap_or(0);
        &self.shards[at]
    }

    /// Asks for everything accepted to be written. Returns the last batch of each shard.
    pub(super) fn ask(&self) -> Vec<Arc<Settlement>> {
        self.shards.iter().filter_map(Shard::ask).collect()
    }

    /// Waits until everything that was accepted before is settled.
    pub(super) async fn flush(&self) {
        for settlement in self.ask() {
            Settled::of(settlement).await;
        }
    }

    /// Accepts nothing more; what was accepted is written at once.
    pub(super) fn close(&self) {
        self.shards.iter().for_each(Shard::close);
        // After the shards: tasks that the gate wakes find them closed.
        self.gate.close();
    }

    /// Accepts nothing more; records that are not being written yet are returned as not stored.
    pub(super) fn abort(&self) {
        for shard in &self.shards {
            self.give_back(shard);
            shard.abort.notify_one();
        }
        self.gate.close();
    }

    /// Closes a shard, and returns records that are not being written yet as not stored.
    pub(super) fn give_back(&self, shard: &Shard) {
        let left = shard.empty();
        self.ledger.name_all();
        let outcome = Arc::new(Outcome::Failed(self.shut_down("ingest")));
        for gathered in left {
            self.settle(&gathered, &outcome);
        }
    }

    pub(super) fn report(&self) -> IngestReport {
        self.ledger.report()
    }

    /// Records the outcome of a batch, and wakes everyone who waits for it.
    pub(super) fn settle(&self, gathered: &Gathered, outcome: &Arc<Outcome>) {
        let figures = self.ledger.settle(gathered.sequences(), outcome);
        self.gate.leave(gathered.records(), gathered.bytes());
        self.meters.settled(figures, &self.gate);
        // Last, so that woken tasks find the report and the room up to date.
        gathered.settlement().settle(Arc::clone(outcome));
    }

    pub(super) fn context(&self, operation: &'static str) -> Context {
        Context::of_spec(operation, self.store.spec())
    }

    /// The error of a record that an ingestor did not accept, or returned.
    pub(super) fn shut_down(&self, operation: &'static str) -> Error {
        Error::new(ErrorKind::ShutDown, &self.context(operation))
    }

    /// The error of records that may have been sent.
    pub(super) fn unknown(&self, why: NotKnown<'_>) -> Error {
        Error::not_known(why, &self.context("ingest"))
    }
}

/// Hashes the parts of a key.
struct KeyHash<H>(H);

impl<H: Hasher> KeySink for KeyHash<H> {
    fn part(&mut self, value: KeyValue<'_>) {
        match value {
            KeyValue::Bool(value) => self.0.write_u8(u8::from(value)),
            KeyValue::Int32(value) => self.0.write_i32(value),
            KeyValue::Int64(value) => self.0.write_i64(value),
            KeyValue::String(value) | KeyValue::Text(value) => {
                self.0.write(value.as_bytes());
                self.0.write_u8(0xff);
            }
            KeyValue::ObjectId(value) => self.0.write(&value.bytes()),
            KeyValue::Uuid(value) => self.0.write(&value),
            // A key type added in the future only spreads badly until it is named here.
            _ => {}
        }
    }
}
