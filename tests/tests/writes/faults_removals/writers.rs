//! Writers that keep their handles, whatever is removed.

use std::{sync::Arc, time::Duration};

use bucket_mongo::{Buckets, Error, InsertReport, RecordOutcome, bson::DateTime};
use bucket_tests::faults::{
    ledger::{Name, name},
    random::Random,
    sample::Sample,
};

use super::book::{Book, Moment, Told};

/// The keys that all share, besides those of the sources.
pub(super) const KEYS: u64 = 5;
const BATCH: u64 = 30;
/// The number of full buckets of one key.
const BULK: u64 = 26;
/// The most positions of a source before it begins again under another name.
const POSITIONS: usize = 150;
const CHUNK: usize = 45;
const CALLS: u64 = 5;
const STEP: i64 = 17;
const JUMP: u64 = 900;
const SOON: Duration = Duration::from_millis(2);

/// A writer and its handle.
pub(super) struct Writer<const F: usize> {
    book: Arc<Book>,
    buckets: Buckets<Sample<F>>,
    random: Random,
    number: i64,
    written: i64,
    /// What it has sent: records with an id are sometimes redelivered, those of a source always.
    sent: Vec<Sample<F>>,
    kind: Kind,
}

/// How redelivered records are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    /// By their ids.
    Ids,
    /// By their positions in this source, counted from 0.
    Source(u64),
}

impl<const F: usize> Writer<F> {
    pub(super) fn new(
        book: &Arc<Book>,
        buckets: Buckets<Sample<F>>,
        seed: u64,
        number: u64,
        kind: Kind,
    ) -> Self {
        Self {
            book: Arc::clone(book),
            buckets,
            random: Random::new(seed, number + 7),
            number: i64::try_from(number).unwrap(),
            written: 0,
            sent: Vec::new(),
            kind,
        }
    }

    fn record(&mut self, device: String) -> Sample<F> {
        let jump = i64::try_from(self.random.below(JUMP)).unwrap();
        let record = Sample {
            device,
            at: DateTime::from_millis(1_698_335_223_000 + self.written * STEP + jump),
            unique: (self.number << 32) | self.written,
            value: i64::try_from(self.random.below(1 << 20)).unwrap(),
            level: (self.written % 4 > 0).then_some(1.0),
            code: format!("w{}", self.number),
        };
        self.written += 1;
        if self.kind != Kind::Plain {
            self.sent.push(record.clone());
        }
        record
    }

    fn records(&mut self, number: u64, keys: u64) -> Vec<Sample<F>> {
        let first = self.random.below(KEYS);
        let record = |writer: &mut Self| {
            let key = (first + writer.random.below(keys)) % KEYS;
            writer.record(key.to_string())
        };
        (0..number).map(|_| record(self)).collect()
    }

    /// Makes some calls.
    pub(super) async fn burst(mut self) -> Self {
        for _ in 0..CALLS {
            match self.kind {
                Kind::Source(source) => {
                    self.deliver(source).await;
                    break;
                }
                Kind::Plain | Kind::Ids => self.call().await,
            }
        }
        self
    }

    async fn call(&mut self) {
        match self.random.below(6) {
            0 | 1 => {
                let record = self.records(1, KEYS).remove(0);
                let sent = self.book.now();
                let told = self.buckets.insert(&record).await;
                let told = told.map(|inserted| told_of(inserted.outcome));
                self.tell(&record, sent, told);
            }
            2 => {
                let records = self.records(BULK, 1);
                self.many(records).await;
            }
            3 => {
                let records = self.records(BATCH, KEYS);
                self.ingest(&records).await;
            }
            _ => {
                let number = self.random.below(BATCH) + 1;
                let mut records = self.records(number, KEYS);
                if self.kind == Kind::Ids {
                    let old = self.sent.len() - records.len();
                    for _ in 0..self.random.below(12).min(u64::try_from(old).unwrap()) {
                        let at = self.random.below(u64::try_from(old).unwrap());
                        let again = self.sent[usize::try_from(at).unwrap()].clone();
                        // A record that comes twice in one batch is a duplicate of itself.
                        if !records.contains(&again) {
                            records.push(again);
                        }
                    }
                }
                self.many(records).await;
            }
        }
    }

    async fn many(&mut self, records: Vec<Sample<F>>) {
        let sent = self.book.now();
        let report = self.buckets.insert_many(&records).await.unwrap();
        self.note(&records, sent, &report);
    }

    async fn ingest(&self, records: &[Sample<F>]) {
        let ingestor = self.buckets.ingestor().linger(SOON).start().unwrap();
        let sent = self.book.now();
        let mut receipts = Vec::new();
        for record in records {
            receipts.push(ingestor.push(record).await.unwrap());
        }
        drop(ingestor.shutdown().await);
        for (record, receipt) in records.iter().zip(receipts) {
            let told = receipt.await.map(told_of);
            self.tell(record, sent, told);
        }
    }

    /// The entire source from its start, and some more records.
    async fn deliver(&mut self, source: u64) {
        if self.sent.len() > POSITIONS {
            self.sent.clear();
            self.kind = Kind::Source(source + 1);
        }
        for _ in 0..=self.random.below(BATCH) {
            self.record(format!("s{}", self.number));
        }
        let name = format!("{}_{source}", self.number);
        let mut from = 0;
        while from < self.sent.len() {
            let records = &self.sent[from..(from + CHUNK).min(self.sent.len())];
            let position = u64::try_from(from).unwrap();
            let sent = self.book.now();
            let report = self.buckets.insert_many(records);
            let report = report.from_source(&name, position).await.unwrap();
            self.note(records, sent, &report);
            let failed = report.failed().first().map(|failed| failed.index);
            if failed.is_some() || report.tried() < records.len() {
                // Nothing is set up: it continues from the start at another time.
                break;
            }
            from += records.len();
        }
    }

    fn note(&self, records: &[Sample<F>], sent: Moment, report: &InsertReport) {
        for (index, record) in records.iter().enumerate() {
            let failed = report.failed().iter().find(|failed| failed.index == index);
            let told = match (failed, report.stopped_by()) {
                (Some(failed), _) => Err(failed.error.clone()),
                (None, Some(error)) if index >= report.tried() => Err(error.clone()),
                _ => Ok(told_of(report.outcome(index))),
            };
            self.tell(record, sent, told);
        }
    }

    fn tell(&self, record: &Sample<F>, sent: Moment, told: Result<Told, Error>) {
        let of_source = matches!(self.kind, Kind::Source(_));
        let name: Name = name(record);
        self.book
            .tell((name, &record.device, of_source), sent, told);
    }
}

fn told_of(outcome: RecordOutcome) -> Told {
    match outcome {
        RecordOutcome::Stored => Told::Stored,
        RecordOutcome::Duplicate => Told::Duplicate,
        other => panic!("{other:?}"),
    }
}
