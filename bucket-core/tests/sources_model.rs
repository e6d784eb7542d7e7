//! Sources against a modelled server. Two consumers of one source, as when one takes over from the
//! other, continue from the first record that is not known to be stored. Commands and replies get
//! lost or arrive late, and clients die. Each record is stored once, in the order of its positions.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/naive.rs"]
mod naive;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use std::collections::BTreeMap;

use bson::RawDocumentBuf;
use bucket_core::{
    Record, bucket,
    write::{Batch, Source},
};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    sample::{
        COUNT, NUMBERED, NUMBERED_OBJECT, PARTS, PARTS_OBJECT, Sample, SampleBucket,
        WINDOW_CAPACITY,
    },
    writer::{Faults, Server, Writer},
};

/// Reads a source from the first record that it does not know to be stored.
struct Consumer<const F: usize> {
    /// Everything up to here is stored.
    position: usize,
    /// The records of a call.
    call: std::ops::Range<usize>,
    writer: Option<Writer>,
    faults: Faults,
}

impl<const F: usize> Consumer<F> {
    fn new(faults: Faults) -> Self {
        Self {
            position: 0,
            call: 0..0,
            writer: None,
            faults,
        }
    }

    /// Performs one step. Dies now and then in the middle of a call.
    fn go_on(&mut self, records: &[Sample<F>], server: &mut Server) {
        let Some(writer) = &mut self.writer else {
            return self.begin(records);
        };
        if !self.faults.are_none() && self.faults.draw(self.faults.rarely()) == 1 {
            writer.drop_call(server, true);
            self.writer = None;
            return;
        }
        writer.go_on(server);
        if !writer.is_done() {
            return;
        }
        let failed = writer.unknown.iter().chain(&writer.refused).min();
        self.position = failed.copied().unwrap_or(self.call.end);
        self.writer = None;
    }

    fn begin(&mut self, records: &[Sample<F>]) {
        if self.position >= records.len() {
            return;
        }
        let length = 1 + usize::try_from(self.faults.draw(20)).unwrap();
        let end = records.len().min(self.position + length);
        self.call = self.position..end;
        let middle = self.position + length / 2;
        let batch = |positions: std::ops::Range<usize>| {
            let mut batch = Batch::of::<Sample<F>>();
            batch.set_source(Source::new(Sample::<F>::SPEC, "s").unwrap());
            for at in positions {
                batch.set_position(i64::try_from(at).unwrap());
                batch.push(at, &records[at]).unwrap();
            }
            batch
        };
        let next = (middle < end && middle > self.position).then(|| batch(middle..end));
        let first = batch(self.position..if next.is_some() { middle } else { end });
        let number = usize::try_from(self.faults.draw(1_000)).unwrap();
        let faults = self.faults.of(number);
        self.writer = Some(Writer::new(first, next).with_faults(faults));
    }

    fn finish(&mut self, records: &[Sample<F>], server: &mut Server) {
        while self.position < records.len() {
            self.go_on(records, server);
        }
    }
}

fn run<const F: usize>(drawn: &[Drawn], one_in: u64, seed: u64) -> Result<(), TestCaseError> {
    let records = drawn.iter().enumerate();
    let records: Vec<Sample<F>> = records.map(|(at, drawn)| drawn.sample(at)).collect();
    let mut server = Server::new(Collection::new(Sample::<F>::SPEC));
    let faults = Faults::one_in(one_in, seed);
    let mut turns = faults.of(9);
    let mut consumers = [0, 1].map(|number| Consumer::new(faults.of(number)));
    for _ in 0..1_000 {
        match turns.draw(5) {
            0 => server.go_on_late(usize::try_from(turns.draw(7)).unwrap()),
            turn => consumers[usize::from(turn > 2)].go_on(&records, &mut server),
        }
    }
    server.settle();
    for consumer in &mut consumers {
        if let Some(writer) = &mut consumer.writer {
            writer.drop_call(&mut server, true);
        }
    }
    server.settle();
    // Once more from the beginning, without losses.
    Consumer::new(Faults::default()).finish(&records, &mut server);

    let mut buckets: Vec<SampleBucket<F>> = Vec::new();
    for document in &server.collection.documents() {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        if bucket::has_records::<Sample<F>>(&raw) {
            let bucket = bucket::decode::<Sample<F>>(&raw).unwrap();
            naive::check(&bucket);
            buckets.push(bucket);
        }
    }
    buckets.sort_by_key(|bucket| (bucket.fields.number, bucket.id.clone()));
    // Positions are kept per key; in windows, per key and window.
    let mut stored: BTreeMap<(String, i64), Vec<i64>> = BTreeMap::new();
    for bucket in &buckets {
        let window = if [WINDOW_CAPACITY, PARTS, PARTS_OBJECT].contains(&F) {
            bucket.fields.start.timestamp_millis()
        } else {
            0
        };
        let of_key = stored.entry((bucket.key.0.clone(), window)).or_default();
        of_key.extend(bucket.items.iter().map(|item| item.unique));
    }
    let mut all: Vec<i64> = stored.values().flatten().copied().collect();
    for ((key, _), positions) in &stored {
        prop_assert!(
            positions.is_sorted(),
            "positions of {key} are out of order: {positions:?}"
        );
    }
    all.sort_unstable();
    let sent = (0..records.len()).map(|at| i64::try_from(at).unwrap());
    prop_assert_eq!(all, sent.collect::<Vec<_>>());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn each_record_of_a_source_is_stored_once_and_in_order(
        drawn in prop::collection::vec(drawn(), 1..50),
        one_in in 3..60_u64,
        seed in any::<u64>(),
    ) {
        run::<COUNT>(&drawn, one_in, seed)?;
        run::<WINDOW_CAPACITY>(&drawn, one_in, seed)?;
        run::<PARTS>(&drawn, one_in, seed)?;
        run::<PARTS_OBJECT>(&drawn, one_in, seed)?;
        run::<NUMBERED>(&drawn, one_in, seed)?;
        run::<NUMBERED_OBJECT>(&drawn, one_in, seed)?;
    }
}
