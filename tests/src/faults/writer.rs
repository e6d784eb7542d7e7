//! Writers of every kind, and what they write.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Buckets,
    bson::{DateTime, Document, doc},
    mongodb::{ClientSession, error::ErrorKind},
};
use tokio::time;

use super::{ledger::Ledger, random::Random, sample::Sample};

/// Keys that all writers share; the first one is the hot one.
const KEYS: u64 = 6;
/// The number of keys in wide batches: enough that their writes wait for each other and are
/// combined.
const WIDE: u64 = 90;
/// The most records in a batch.
const BATCH: u64 = 40;
/// Milliseconds between the times of two records of a writer, and how far they jump.
const STEP: i64 = 17;
const JUMP: u64 = 900;
/// A writer that does not wait gives up after less than this many microseconds.
const PATIENCE: u64 = 100_000;
/// What a writer does between two writes.
const PAUSE: Duration = Duration::from_millis(40);

/// What the server says if a session is used with an old transaction number.
const TRANSACTION_TOO_OLD: i32 = 225;

/// How a writer writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habit {
    /// Single records, of any key.
    Single,
    /// Single records of the one hot key.
    Hot,
    /// Batches over all keys.
    Batches,
    /// Batches over many keys.
    Wide,
    /// Single records and batches, in its own session, next to ordinary writes in it.
    Session,
    /// Single records and batches whose futures it drops half-way.
    Impatient,
}

impl Habit {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Single,
        Self::Hot,
        Self::Batches,
        Self::Session,
        Self::Impatient,
    ];
}

/// How long writers continue: until they are stopped, and for a number of rounds however long they
/// take.
#[derive(Debug, Clone)]
pub struct Span {
    stopped: Arc<AtomicBool>,
    rounds: u64,
}

impl Span {
    /// At least this many rounds. Clones are stopped together.
    #[must_use]
    pub fn new(rounds: u64) -> Self {
        Self {
            stopped: Arc::default(),
            rounds,
        }
    }

    /// Lets the writers end their rounds.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether another round follows after this many.
    #[must_use]
    pub fn goes_on(&self, round: u64) -> bool {
        round < self.rounds || !self.stopped.load(Ordering::Relaxed)
    }
}

/// A writer.
#[derive(Debug)]
pub struct Writer<const F: usize> {
    buckets: Buckets<Sample<F>>,
    ledger: Ledger<F>,
    name: String,
    random: Random,
    written: i64,
    first: i64,
    session: Option<ClientSession>,
}

impl<const F: usize> Writer<F> {
    /// A writer with a number of its own.
    #[must_use]
    pub fn new(buckets: Buckets<Sample<F>>, ledger: &Ledger<F>, seed: u64, number: usize) -> Self {
        let stream = u64::try_from(F * 1_000 + number + 2).unwrap_or_default();
        Self {
            buckets,
            ledger: ledger.clone(),
            name: format!("w{number}"),
            random: Random::new(seed, stream),
            written: 0,
            first: 0,
            session: None,
        }
    }

    /// Counts its records from this number on: if the number is their id, no two writers may have
    /// the same.
    #[must_use]
    pub fn counting_from(mut self, first: i64) -> Self {
        self.first = first;
        self
    }

    /// Writes until the end of the span.
    ///
    /// # Panics
    ///
    /// If the library calls its own argument invalid, or has spoilt a session.
    pub async fn run(mut self, habit: Habit, span: Span) {
        let mut round = 0;
        while span.goes_on(round) {
            round += 1;
            let of_many = match habit {
                Habit::Single | Habit::Hot => false,
                Habit::Batches | Habit::Wide => true,
                Habit::Session | Habit::Impatient => self.random.below(2) == 0,
            };
            let keys = match habit {
                Habit::Hot => 1,
                Habit::Wide => WIDE,
                Habit::Impatient if of_many => WIDE,
                _ => KEYS,
            };
            let number = match (of_many, keys) {
                (false, _) => 1,
                (true, WIDE) => 2 * WIDE,
                (true, _) => self.random.below(BATCH) + 1,
            };
            let records: Vec<Sample<F>> = (0..number).map(|_| self.record(keys)).collect();
            match habit {
                Habit::Session => self.in_session(&records, of_many).await,
                Habit::Impatient => self.half_way(records, of_many).await,
                _ if of_many => many(&self.buckets, &self.ledger, &records).await,
                _ => one(&self.buckets, &self.ledger, &records[0]).await,
            }
            if habit == Habit::Impatient {
                // A writer that does not wait for an outage would write only into the outage.
                time::sleep(PAUSE).await;
            }
        }
    }

    /// The next record, noted as sent: the times rise and jump, so that some are late.
    pub fn record(&mut self, keys: u64) -> Sample<F> {
        let jump = i64::try_from(self.random.below(JUMP)).unwrap_or_default();
        let value = i64::try_from(self.random.below(1 << 32)).unwrap_or_default() - (1 << 31);
        let level = u32::try_from(self.random.below(1 << 20)).unwrap_or_default();
        let record = Sample {
            device: self.random.below(keys).to_string(),
            at: DateTime::from_millis(1_698_335_223_000 + self.written * STEP + jump),
            unique: self.first + self.written,
            value,
            level: (level % 4 > 0).then(|| f64::from(level) / 64.0),
            code: self.name.clone(),
        };
        self.written += 1;
        self.ledger.send(&record);
        record
    }

    /// In one session for all, whatever the outcome of earlier commands, and next to writes of the
    /// caller's own.
    async fn in_session(&mut self, records: &[Sample<F>], of_many: bool) {
        let database = self.buckets.database().clone();
        let Ok(mut session) = (match self.session.take() {
            Some(session) => Ok(session),
            None => database.client().start_session().await,
        }) else {
            for record in records {
                self.ledger.take_back(record);
            }
            return;
        };
        if of_many {
            let report = self.buckets.insert_many(records);
            note(&self.ledger, records, report.session(&mut session).await);
        } else {
            let told = self.buckets.insert(&records[0]).session(&mut session).await;
            self.ledger.tell(&records[0], told.as_ref().map(|_| ()));
        }
        let collection = database.collection::<Document>("in_session");
        let own = collection.insert_one(doc! {}).session(&mut session).await;
        if let Err(error) = own
            && let ErrorKind::Command(refusal) = error.kind.as_ref()
        {
            assert_ne!(refusal.code, TRANSACTION_TOO_OLD, "{refusal:?}");
        }
        self.session = Some(session);
    }

    /// Drops the future in one of the ways in which services do it.
    async fn half_way(&mut self, records: Vec<Sample<F>>, of_many: bool) {
        let patience = Duration::from_micros(self.random.below(PATIENCE));
        let (buckets, ledger) = (self.buckets.clone(), self.ledger.clone());
        let write = async move {
            if of_many {
                many(&buckets, &ledger, &records).await;
            } else {
                one(&buckets, &ledger, &records[0]).await;
            }
        };
        match self.random.below(3) {
            0 => drop(time::timeout(patience, write).await),
            1 => tokio::select! {
                () = write => {}
                () = time::sleep(patience) => {}
            },
            _ => {
                let task = tokio::spawn(write);
                time::sleep(patience).await;
                task.abort();
                let end = task.await;
                assert!(end.is_ok() || end.is_err_and(|error| error.is_cancelled()));
            }
        }
    }
}

async fn one<const F: usize>(buckets: &Buckets<Sample<F>>, ledger: &Ledger<F>, record: &Sample<F>) {
    let told = buckets.insert(record).await;
    ledger.tell(record, told.as_ref().map(|_| ()));
}

async fn many<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    ledger: &Ledger<F>,
    records: &[Sample<F>],
) {
    let report = buckets.insert_many(records).await;
    note(ledger, records, report);
}

/// Notes the outcomes in the report of a batch.
///
/// # Panics
///
/// If the call was refused entirely.
pub fn note<const F: usize>(
    ledger: &Ledger<F>,
    records: &[Sample<F>],
    report: bucket_mongo::Result<bucket_mongo::InsertReport>,
) {
    let report = report.expect("good arguments");
    for (index, record) in records.iter().enumerate() {
        if report.is_stored(index) {
            ledger.tell(record, Ok(()));
        } else if index >= report.tried() {
            ledger.take_back(record);
        }
    }
    for failed in report.failed() {
        ledger.tell(&records[failed.index], Err(&failed.error));
    }
}
