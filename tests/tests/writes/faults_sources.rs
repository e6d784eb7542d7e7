//! Sources with records that fail by themselves, through damaged messages, step-downs and a
//! changing validator: consumers that follow the guide lose nothing, store nothing twice, and keep
//! the order.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, InsertReport, Record,
    bson::{DateTime, Document, doc},
    mongodb::Client,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{
    documents,
    faults::{
        Seed, duration,
        plan::Plan,
        proxy::Proxy,
        random::Random,
        sample::{self, Sample, SampleBucket},
        stored::{check_form, check_values, stored, window_of, window_of_record},
        writer::Span,
    },
};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

/// This percentage of the writes is damaged.
const PERCENT: u64 = 6;
/// The minimum number of rounds of a consumer.
const ROUNDS: u64 = 8;
/// The keys that all sources share.
const KEYS: u64 = 4;
const BATCH: u64 = 40;
/// How far back a restarted consumer begins.
const BACK: u64 = 60;
/// The sources of the consumers: the first one has two consumers that do not know each other.
const SOURCES: [u64; 4] = [0, 0, 1, 2];
/// Shorter than a retry takes.
const SHORT: Duration = Duration::from_millis(250);
/// One in this many records is refused when it is encoded, and one by the validator while that
/// exists.
const ENCODED: u64 = 50;
const VALIDATED: u64 = 30;
/// What the validator refuses.
const REFUSED: f64 = -1.0;
/// What the server says when a validator refuses a document.
const DOCUMENT_VALIDATION: i32 = 121;
/// The time between two changes of the validator, and the number of them between two step-downs.
const STEP: Duration = Duration::from_millis(120);
const STEPS: u64 = 12;
/// The time between two records of a source.
const MILLIS: u64 = 30;
/// Far more than it takes to cover everything.
const HANGS: Duration = Duration::from_secs(60);

/// The record of a source at a position: the same for every delivery.
fn record<const F: usize>(seed: u64, source: u64, position: u64) -> Sample<F> {
    let mut random = Random::new(seed, ((source + 1) << 32) | position);
    let number = |number: u64| i64::try_from(number).unwrap();
    let device = random.below(KEYS).to_string();
    let time = position * MILLIS + random.below(5 * MILLIS);
    let fails = random.below(ENCODED) == 0;
    let level = match random.below(VALIDATED) {
        0 => Some(REFUSED),
        level if level % 3 == 0 => None,
        level => u32::try_from(level).ok().map(f64::from),
    };
    Sample {
        device,
        at: DateTime::from_millis(1_698_335_223_000 + number(time)),
        unique: number((source << 32) | position),
        // No sum can include it.
        value: if fails {
            i64::MAX
        } else {
            number(random.below(1 << 20))
        },
        level,
        code: format!("s{source}"),
    }
}

fn cannot_be_stored<const F: usize>(record: &Sample<F>) -> bool {
    record.value == i64::MAX
}

/// What holds its records back: the later ones if a record may not be stored.
fn line<const F: usize>(record: &Sample<F>) -> (String, Option<i64>) {
    (record.device.clone(), window_of_record(record))
}

/// The cases that have occurred.
#[derive(Debug, Default)]
struct Met {
    encode: AtomicU64,
    validator: AtomicU64,
    held_back: AtomicU64,
    unknown: AtomicU64,
    duplicates: AtomicU64,
    step_downs: AtomicU64,
}

impl Met {
    fn is_complete(&self) -> bool {
        let all = [
            &self.encode,
            &self.validator,
            &self.held_back,
            &self.duplicates,
            &self.step_downs,
        ];
        all.into_iter().all(|met| met.load(Ordering::SeqCst) > 0)
    }
}

/// The consumers of one collection, and how far its sources were delivered.
#[derive(Debug)]
struct Consumers<const F: usize> {
    calm: TestDatabase,
    seed: u64,
    met: Arc<Met>,
    /// For each source, the position after the last one that was sent.
    ends: Mutex<BTreeMap<u64, u64>>,
}

/// Delivers one source.
struct Consumer<const F: usize> {
    shared: Arc<Consumers<F>>,
    client: Client,
    buckets: Buckets<Sample<F>>,
    source: u64,
    random: Random,
    at: u64,
}

impl<const F: usize> Consumers<F> {
    async fn new(server: &DevServer, seed: u64, met: &Arc<Met>) -> Arc<Self> {
        let calm = server.database("sources").await.unwrap();
        Sample::<F>::buckets(&calm).ensure().await.unwrap();
        Arc::new(Self {
            calm,
            seed,
            met: Arc::clone(met),
            ends: Mutex::default(),
        })
    }

    fn consumer(self: &Arc<Self>, client: &Client, source: u64, number: u64) -> Consumer<F> {
        let mut consumer = Consumer {
            shared: Arc::clone(self),
            client: client.clone(),
            buckets: Sample::<F>::buckets(&self.calm),
            source,
            random: Random::new(self.seed, number + 1),
            at: 0,
        };
        consumer.start_again();
        consumer
    }

    async fn blow(self: &Arc<Self>, proxy: &Proxy, span: &Span) {
        let client = proxy.client().await;
        let mut consumers = Vec::new();
        for (number, source) in (0..).zip(SOURCES) {
            let consumer = self.consumer(&client, source, number);
            consumers.push(tokio::spawn(consumer.run(span.clone())));
        }
        for consumer in join_all(consumers).await {
            consumer.unwrap();
        }
    }

    /// Sets the validator; during a step-down this fails.
    async fn validate(&self, random: &mut Random) -> bool {
        let validator = if random.below(2) == 0 {
            doc! {}
        } else {
            doc! { "items.level": { "$ne": REFUSED } }
        };
        // Records stored without the validator may block their bucket.
        let level = ["strict", "moderate"][usize::try_from(random.below(2)).unwrap()];
        self.set_validator(validator, level).await
    }

    async fn set_validator(&self, validator: Document, level: &str) -> bool {
        let name = Sample::<F>::SPEC.collection();
        let command = doc! { "collMod": name, "validator": validator, "validationLevel": level };
        self.calm.run_command(command).await.is_ok()
    }

    /// Delivers the rest without faults, and checks everything.
    async fn check(self: &Arc<Self>) {
        while !self.set_validator(doc! {}, "strict").await {
            sleep(STEP).await;
        }
        let client = self.calm.client().clone();
        let ends = self.ends.lock().unwrap().clone();
        // A second time, from the start, through a handle that remembers nothing.
        for from_start in [false, true] {
            for (source, end) in &ends {
                let mut consumer = self.consumer(&client, *source, 99);
                consumer.buckets = Sample::<F>::buckets(&self.calm);
                while consumer.at < *end {
                    let length = (end - consumer.at).min(3 * BATCH);
                    let stored = consumer.deliver(length).await;
                    assert!(!from_start || stored == 0, "{stored} more are stored");
                }
            }
            self.check_stored(&ends).await;
        }
        eprintln!("{:?}: positions {ends:?}", Sample::<F>::SPEC.form());
    }

    async fn check_stored(&self, ends: &BTreeMap<u64, u64>) {
        let form = Sample::<F>::SPEC.form();
        let buckets = stored::<F>(&self.calm).await;
        check_form(&buckets);
        let mut found: BTreeMap<i64, u64> = BTreeMap::new();
        let mut last = BTreeMap::new();
        for bucket in buckets.iter().filter(|bucket| bucket.count > 0) {
            check_values(bucket);
            for item in &bucket.items {
                *found.entry(item.unique).or_default() += 1;
                let line = (bucket.key.0.clone(), window_of(bucket), item.code.clone());
                let before = last.insert(line, item.unique);
                assert!(
                    before < Some(item.unique),
                    "{form:?}: {} of {} after {before:?} in {}",
                    item.unique,
                    item.code,
                    bucket.id
                );
            }
        }
        let mut expected = BTreeMap::new();
        for (source, end) in ends {
            let records = (0..*end).map(|position| record::<F>(self.seed, *source, position));
            let records = records.filter(|record| !cannot_be_stored(record));
            expected.extend(records.map(|record| (record.unique, 1)));
        }
        let wrong = |(unique, times): &(&i64, &u64)| expected.get(*unique) != Some(*times);
        let wrong: Vec<_> = found.iter().filter(wrong).take(9).collect();
        assert!(wrong.is_empty(), "{form:?}: not stored once: {wrong:?}");
        let missing = expected.keys().filter(|unique| !found.contains_key(unique));
        let missing: Vec<_> = missing.take(9).collect();
        assert!(missing.is_empty(), "{form:?}: not stored: {missing:?}");
        self.check_positions(&buckets).await;
    }

    /// Each bucket keeps its last position of each source.
    async fn check_positions(&self, buckets: &[SampleBucket<F>]) {
        let stored = documents(&self.calm, Sample::<F>::SPEC.collection()).await;
        let mut kept = BTreeMap::new();
        for document in &stored {
            let sources = document.get_document("sources").unwrap();
            let positions = sources.iter().map(|(name, position)| {
                (
                    name.clone(),
                    position.as_i64().unwrap() & i64::from(u32::MAX),
                )
            });
            let positions: BTreeMap<String, i64> = positions.collect();
            kept.insert(document.get("_id").unwrap().to_string(), positions);
        }
        for bucket in buckets.iter().filter(|bucket| bucket.count > 0) {
            let mut positions = BTreeMap::new();
            for item in &bucket.items {
                let position = item.unique & i64::from(u32::MAX);
                positions.insert(item.code.clone(), position);
            }
            let id = format!("\"{}\"", bucket.id);
            assert_eq!(kept.get(&id), Some(&positions), "the positions of {id}");
        }
    }
}

impl<const F: usize> Consumer<F> {
    async fn run(mut self, span: Span) {
        let mut round = 0;
        while span.goes_on(round) {
            round += 1;
            if self.random.below(8) == 0 {
                self.at = self.at.saturating_sub(self.random.below(BACK));
                self.start_again();
            }
            let length = self.random.below(BATCH) + 1;
            self.deliver(length).await;
        }
    }

    /// Through a handle that remembers nothing.
    fn start_again(&mut self) {
        let database = self.client.database(self.shared.calm.name());
        self.buckets = Sample::<F>::buckets(&database);
        if self.random.below(2) == 0 {
            self.buckets = self.buckets.clone().with_deadline(SHORT);
        }
    }

    /// Sends this many records, and continues as the guide says; returns how many were reported as
    /// new.
    async fn deliver(&mut self, length: u64) -> usize {
        let (seed, source, first) = (self.shared.seed, self.source, self.at);
        let records = (first..first + length).map(|position| record::<F>(seed, source, position));
        let records: Vec<Sample<F>> = records.collect();
        {
            let mut ends = self.shared.ends.lock().unwrap();
            let end = ends.entry(source).or_default();
            *end = (*end).max(first + length);
        }
        let report = self.buckets.insert_many(&records);
        let report = report.from_source(format!("s{source}"), first).await;
        let report = report.unwrap();
        self.check_report(&records, &report);
        let met = u64::try_from(report.duplicates().len()).unwrap();
        self.shared.met.duplicates.fetch_add(met, Ordering::SeqCst);
        let first_failed = report.failed().first().map(|failed| failed.index);
        let next = first_failed.unwrap_or(report.tried());
        // A record that is refused every time is set aside.
        let next = match records.get(next) {
            Some(record) if cannot_be_stored(record) => next + 1,
            _ => next,
        };
        self.at = first + u64::try_from(next).unwrap();
        report.stored()
    }

    fn check_report(&self, records: &[Sample<F>], report: &InsertReport) {
        let first = i64::try_from(self.at).unwrap();
        let is_failed = |index: usize| !report.is_stored(index);
        for (index, record) in records.iter().enumerate().take(report.tried()) {
            assert!(is_failed(index) || !cannot_be_stored(record), "{record:?}");
        }
        for failed in report.failed() {
            let (error, record) = (&failed.error, &records[failed.index]);
            if let ErrorKind::HeldBack {
                position,
                failed: by,
                ..
            } = error.kind()
            {
                let index = i64::try_from(failed.index).unwrap();
                assert_eq!(*position, first + index, "{error}");
                let by = usize::try_from(by - first).unwrap();
                assert!(by < failed.index && is_failed(by), "{error}");
                assert_eq!(line(record), line(&records[by]), "{error}");
                assert!(error.is_retryable() && !error.is_outcome_unknown());
            }
            let counter = self.counter(error, record);
            if let Some(counter) = counter {
                counter.fetch_add(1, Ordering::SeqCst);
            }
        }
        // After a record of a line that may not be stored, no later one of it is stored.
        let mut stopped = BTreeMap::new();
        for (index, record) in records.iter().enumerate().take(report.tried()) {
            if is_failed(index) {
                stopped.entry(line(record)).or_insert(index);
            } else if let Some(before) = stopped.get(&line(record)) {
                let is_duplicate = report.duplicates().contains(&index);
                assert!(
                    is_duplicate,
                    "{index} is stored, {before} is not: {report:?}"
                );
            }
        }
    }

    fn counter(&self, error: &Error, record: &Sample<F>) -> Option<&AtomicU64> {
        let met = &self.shared.met;
        match error.kind() {
            ErrorKind::Encode(_) => {
                assert!(cannot_be_stored(record), "{error}");
                Some(&met.encode)
            }
            ErrorKind::Server { code, .. } if *code == DOCUMENT_VALIDATION => Some(&met.validator),
            ErrorKind::HeldBack { .. } => Some(&met.held_back),
            _ if error.is_outcome_unknown() => Some(&met.unknown),
            kind => {
                assert!(error.is_retryable(), "{kind:?}: {error}");
                None
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_with_failing_records_are_stored_once_and_in_order_through_faults() {
    let seed = Seed::from_environment();
    let server = DevServer::builder().own().await.unwrap();
    let met = Arc::<Met>::default();
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    let (count, window, numbered, average, ids) = tokio::join!(
        Consumers::<{ sample::COUNT }>::new(&server, seed.get(), &met),
        Consumers::<{ sample::WINDOW_CAPACITY }>::new(&server, seed.get(), &met),
        Consumers::<{ sample::NUMBERED }>::new(&server, seed.get(), &met),
        Consumers::<{ sample::COUNT_AVG }>::new(&server, seed.get(), &met),
        Consumers::<{ sample::NUMBERED_IDS }>::new(&server, seed.get(), &met),
    );
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
    let span = Span::new(ROUNDS);
    let mut random = Random::new(seed.get(), 0);
    let disturb = async {
        let admin = server.client().await.unwrap().database("admin");
        let start = Instant::now();
        let mut step = 0;
        while start.elapsed() < duration() / 2 || !met.is_complete() {
            assert!(start.elapsed() < HANGS, "some cases did not occur: {met:?}");
            sleep(STEP).await;
            count.validate(&mut random).await;
            window.validate(&mut random).await;
            numbered.validate(&mut random).await;
            average.validate(&mut random).await;
            ids.validate(&mut random).await;
            step += 1;
            if step % STEPS == STEPS / 2 {
                let seconds =
                    doc! { "replSetStepDown": 1, "secondaryCatchUpPeriodSecs": 0, "force": true };
                let stepped_down = admin.run_command(seconds).await.is_ok();
                met.step_downs
                    .fetch_add(u64::from(stepped_down), Ordering::SeqCst);
            }
        }
        span.stop();
    };
    tokio::join!(
        disturb,
        count.blow(&proxy, &span),
        window.blow(&proxy, &span),
        numbered.blow(&proxy, &span),
        average.blow(&proxy, &span),
        ids.blow(&proxy, &span),
    );
    proxy.calm_down().await;
    let injected = proxy.injected();
    let writes = proxy.writes();
    eprintln!(
        "seed {}: {injected:?} in {writes} writes, {met:?}",
        seed.get()
    );
    assert!(!injected.is_empty(), "nothing was damaged");
    count.check().await;
    window.check().await;
    numbered.check().await;
    average.check().await;
    ids.check().await;
}
