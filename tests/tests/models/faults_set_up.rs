//! Several writers of a collection that was never set up: nothing is stored before everything that
//! exact writes need exists, and everything from then on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_core::index;
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, Record,
    bson::{Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{
    database,
    faults::{
        Seed, duration,
        ledger::Ledger,
        random::Random,
        sample::{self, Sample},
        writer::Writer,
    },
};
use futures_util::{TryStreamExt, future::join_all};
use tokio::time::{Instant, sleep, timeout};

/// Far longer than anything takes, so that a hang becomes a failure.
const HANGS: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(2);
const KEYS: u64 = 4;
const BATCH: u64 = 30;
/// Enough keys that the calls of a handle wait for each other and are combined.
const WIDE: u64 = 70;
/// This many are stored one by one.
const FEW: usize = 4;
const WRITERS: u64 = 4;
/// The number of calls of each writer once everything exists.
const CALLS: u64 = 2;
/// The one that sets up.
const FOUNDER: u64 = 2;

/// What exists before the set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Nothing,
    /// A collection that was created by hand.
    Plain,
    /// Some of the indexes.
    Some,
}

/// The writers that share a collection.
#[derive(Debug)]
struct Site<const F: usize> {
    database: TestDatabase,
    ledger: Ledger<F>,
    /// The set-up has begun.
    has_begun: AtomicBool,
    /// Everything exists.
    is_ready: AtomicBool,
}

struct Caller<const F: usize> {
    site: Arc<Site<F>>,
    buckets: Buckets<Sample<F>>,
    writer: Writer<F>,
    random: Random,
    number: u64,
}

impl<const F: usize> Site<F> {
    fn collection(&self) -> bucket_mongo::mongodb::Collection<Document> {
        self.database.collection(Sample::<F>::SPEC.collection())
    }

    async fn create_index(&self, definition: Document) {
        let name = Sample::<F>::SPEC.collection();
        let command = doc! { "createIndexes": name, "indexes": [definition] };
        self.database.run_command(command).await.unwrap();
    }

    async fn prepare(&self, start: Start, random: &mut Random) {
        self.has_begun
            .store(start != Start::Nothing, Ordering::SeqCst);
        let name = Sample::<F>::SPEC.collection();
        match start {
            Start::Nothing => {}
            Start::Plain => self.database.create_collection(name).await.unwrap(),
            Start::Some => {
                self.database.create_collection(name).await.unwrap();
                let plans = index::plan(Sample::<F>::SPEC);
                let mut definitions: Vec<Document> = Vec::new();
                for plan in &plans {
                    definitions.push(plan.definition());
                    // One that writes depend on is still missing.
                    let is_enough = index::unmet(Sample::<F>::SPEC, &definitions).is_none();
                    if is_enough || random.below(2) == 0 {
                        definitions.pop();
                    }
                }
                for definition in definitions {
                    self.create_index(definition).await;
                }
            }
        }
    }

    /// Only by `ensure()`, or first by hand, one index after the other.
    async fn set_up(&self, buckets: &Buckets<Sample<F>>, slowly: bool) {
        self.has_begun.store(true, Ordering::SeqCst);
        if slowly {
            for plan in index::plan(Sample::<F>::SPEC) {
                sleep(3 * SOON).await;
                self.create_index(plan.definition()).await;
            }
        }
        buckets.ensure().await.unwrap();
        self.is_ready.store(true, Ordering::SeqCst);
    }

    /// Looks for records that were stored before the indexes.
    async fn watch(&self) {
        while !self.is_ready.load(Ordering::SeqCst) {
            let names = self.database.list_collection_names().await.unwrap();
            let may_be_there = self.has_begun.load(Ordering::SeqCst);
            assert!(names.is_empty() || may_be_there, "{names:?} were made");
            let found = self.collection().find_one(doc! {}).await.unwrap();
            // What is missing now was missing when the bucket was stored.
            let indexes: Vec<Document> = match self.collection().list_indexes().await {
                Ok(indexes) => {
                    let definition = |index| bucket_mongo::bson::serialize_to_document(&index);
                    let all: Vec<_> = indexes.try_collect().await.unwrap();
                    all.into_iter()
                        .map(|index| definition(index).unwrap())
                        .collect()
                }
                Err(_) => Vec::new(),
            };
            let unmet = index::unmet(Sample::<F>::SPEC, &indexes);
            assert!(
                found.is_none() || unmet.is_none(),
                "{found:?} without {unmet:?}"
            );
            sleep(SOON).await;
        }
    }
}

impl<const F: usize> Caller<F> {
    /// Writes until everything is stored, and makes some further calls.
    async fn run(mut self) {
        let mut left = Vec::new();
        let mut calls = 0;
        let mut refused = self.random.below(4);
        while calls < CALLS || !left.is_empty() {
            if self.number == FOUNDER && !self.site.is_ready.load(Ordering::SeqCst) {
                if refused == 0 {
                    let slowly = self.random.below(2) == 0;
                    self.site.set_up(&self.buckets, slowly).await;
                }
                refused = refused.saturating_sub(1);
            }
            let (records, keys) = match (left.len(), self.random.below(4)) {
                (0, 0) => (1, KEYS),
                (0, 1) => (WIDE, WIDE),
                (0, _) => (self.random.below(BATCH) + 2, KEYS),
                _ => (0, KEYS),
            };
            left.extend((0..records).map(|_| self.writer.record(keys)));
            let is_ready = self.site.is_ready.load(Ordering::SeqCst);
            let records = std::mem::take(&mut left);
            for (record, told) in self.write(records).await {
                self.site.ledger.tell(&record, told.as_ref().copied());
                let Err(error) = told else { continue };
                assert!(!is_ready, "everything existed: {error}");
                let is_unmet = matches!(
                    error.kind(),
                    ErrorKind::MissingIndex { .. } | ErrorKind::UnfinishedIndex { .. }
                );
                assert!(is_unmet && !error.is_outcome_unknown(), "{error:?}");
                left.push(record);
            }
            calls += u64::from(is_ready);
            sleep(SOON).await;
        }
    }

    /// In one of the ways to write; returns the answer for each record.
    async fn write(&mut self, records: Vec<Sample<F>>) -> Vec<(Sample<F>, Result<(), Error>)> {
        let way = self.random.below(5);
        let mut told = Vec::new();
        match way {
            0 => {
                let ingestor = self.buckets.ingestor().linger(SOON).start().unwrap();
                let mut receipts = Vec::new();
                for record in &records {
                    receipts.push(ingestor.push(record).await.unwrap());
                }
                drop(ingestor.shutdown().await);
                for receipt in receipts {
                    told.push(receipt.await.map(drop));
                }
            }
            1 if records.len() < FEW => {
                for record in &records {
                    told.push(self.buckets.insert(record).await.map(drop));
                }
            }
            _ => {
                let client = self.site.database.client();
                let mut session = client.start_session().await.unwrap();
                let many = self.buckets.insert_many(&records);
                let many = if way == 2 {
                    many.session(&mut session)
                } else {
                    many
                };
                let report = many.await.unwrap();
                told.extend(records.iter().map(|_| Ok(())));
                for failed in report.failed() {
                    told[failed.index] = Err(failed.error.clone());
                }
                let stopped = report.stopped_by();
                for told in told.iter_mut().skip(report.tried()) {
                    *told = Err(stopped.unwrap().clone());
                }
            }
        }
        records.into_iter().zip(told).collect()
    }
}

async fn check<const F: usize>(seed: u64) {
    let begin = Instant::now();
    let mut random = Random::new(seed, u64::try_from(F).unwrap() + 100);
    let (mut round, mut stored, mut refused) = (0, 0, 0);
    while round == 0 || begin.elapsed() < duration() / 2 {
        // Forms that run concurrently begin differently.
        let start = [Start::Nothing, Start::Plain, Start::Some][(F + round) % 3];
        round += 1;
        let site = Arc::new(Site::<F> {
            database: database().await,
            ledger: Ledger::default(),
            has_begun: AtomicBool::new(false),
            is_ready: AtomicBool::new(false),
        });
        site.prepare(start, &mut random).await;
        let shared = Sample::<F>::buckets(&site.database);
        let mut callers = Vec::new();
        for number in 0..WRITERS {
            // Some share a handle.
            let own = Sample::<F>::buckets(&site.database);
            let buckets = if number % 2 == 0 { shared.clone() } else { own };
            let at = usize::try_from(number).unwrap();
            let writer = Writer::new(buckets.clone(), &site.ledger, random.below(1 << 40), at);
            let caller = Caller {
                site: Arc::clone(&site),
                writer: writer.counting_from(i64::try_from(number << 32).unwrap()),
                random: Random::new(random.below(1 << 40), number),
                buckets,
                number,
            };
            callers.push(tokio::spawn(timeout(HANGS, caller.run())));
        }
        let watch = timeout(HANGS, site.watch());
        let (watched, ended) = tokio::join!(watch, join_all(callers));
        watched.expect("no hang");
        for caller in ended {
            caller.unwrap().expect("no hang");
        }
        let verdict = site.ledger.audit(&site.database).await;
        verdict.assert_true();
        assert_eq!((verdict.not_stored, verdict.unknown), (0, 0), "{verdict}");
        stored += verdict.stored;
        refused += verdict
            .errors
            .values()
            .map(|(number, _)| number)
            .sum::<u64>();
    }
    let form = Sample::<F>::SPEC.form();
    eprintln!("{form:?}: {round} rounds, {stored} stored, {refused} refused before");
    assert!(refused > 0, "nothing was refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_before_everything_is_set_up_and_all_from_then_on() {
    let seed = Seed::from_environment();
    let seed = seed.get();
    tokio::join!(
        check::<{ sample::COUNT }>(seed),
        check::<{ sample::WINDOW }>(seed),
        check::<{ sample::WINDOW_CAPACITY }>(seed),
        check::<{ sample::WINDOW_OBJECT }>(seed),
        check::<{ sample::HYBRID_MERGE }>(seed),
        check::<{ sample::NUMBERED }>(seed),
        check::<{ sample::NUMBERED_OBJECT }>(seed),
        check::<{ sample::COUNT_IDS }>(seed),
        check::<{ sample::NUMBERED_IDS }>(seed),
        check::<{ sample::COUNT_AVG }>(seed),
    );
}
