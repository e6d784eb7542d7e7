//! The write plans of the manual's form against a modelled server. Several writers run
//! with arbitrarily interleaved statements and arbitrarily stale tails. Writers end in the middle
//! of a command, replies get lost, and a reader continues by its cursor in the meantime.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
mod common;
#[path = "common/writer.rs"]
mod writer;

use std::collections::BTreeSet;

use bson::{Document, RawDocumentBuf};
use bucket_core::{
    Record, bucket,
    read::{RecordPlace, Walk},
    write::Batch,
};
use collection::Collection;
use common::{Reading, ReadingKey, reading};
use proptest::prelude::*;
use writer::{Faults, Server, Writer};

const CAPACITY: i32 = 3;
const DEVICES: [&str; 2] = ["0", "1"];
/// The number of the last writer.
const LAST: usize = 900;

fn key(device: &str) -> ReadingKey {
    ReadingKey {
        device: device.to_owned(),
        channel: "c".to_owned(),
    }
}

fn count(bucket: &Document) -> i64 {
    let count = bucket.get_i32("count").map(i64::from);
    count.unwrap_or_else(|_| bucket.get_i64("count").unwrap())
}

fn id(bucket: &Document) -> &str {
    bucket.get_str("_id").unwrap()
}

/// The buckets of a device in the order of their ids.
fn of_device<'a>(documents: &'a [Document], device: &str) -> Vec<&'a Document> {
    let mut buckets: Vec<&Document> = documents
        .iter()
        .filter(|bucket| bucket.get_str("device").unwrap() == device)
        .collect();
    buckets.sort_by_key(|bucket| id(bucket));
    buckets
}

/// The invariants after every statement, from any writer.
fn check(before: &[Document], after: &[Document], statement: &Document) {
    let before = pages(before);
    for device in DEVICES {
        let buckets = of_device(after, device);
        let capacity = i64::from(CAPACITY);
        let open = buckets.iter().filter(|bucket| count(bucket) < capacity);
        assert!(open.count() <= 1, "two open buckets: {buckets:?}");
        for page in buckets.iter().rev().skip(1) {
            let id = id(page);
            assert_eq!(count(page), capacity, "{id} is not full: {statement}");
        }
        for bucket in &buckets {
            let items = bucket.get_array("readings").unwrap().len();
            assert_eq!(usize::try_from(count(bucket)), Ok(items), "{statement}");
            assert!(count(bucket) <= capacity, "over the capacity");
            let is_empty = items == 0;
            let is_reserved = matches!(bucket.get("count"), Some(bson::Bson::Int64(_)));
            assert!(
                is_empty || !is_reserved,
                "the count has another type: {bucket}"
            );
        }
        let pages = buckets.iter().filter(|bucket| count(bucket) > 0);
        let pages: Vec<&str> = pages.map(|bucket| id(bucket)).collect();
        let new = pages.iter().position(|id| !before.contains(*id));
        let is_last = new.is_none_or(|at| at + 1 == pages.len());
        assert!(
            is_last,
            "a page was opened before an existing one: {statement}"
        );
    }
}

/// Every bucket that has records.
fn pages(documents: &[Document]) -> BTreeSet<&str> {
    let pages = documents.iter().filter(|bucket| count(bucket) > 0);
    pages.map(id).collect()
}

/// How a writer ends early.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    /// It does not.
    Lives,
    /// It stops, and so does its current command.
    Dies,
    /// It gives up, but its command continues.
    Leaves,
}

/// A writer, and how it ends.
struct Fated {
    writer: Writer,
    turns: usize,
    /// After this many turns.
    fate: (Fate, usize),
    has_left: bool,
}

impl Fated {
    fn go_on(&mut self, server: &mut Server) {
        self.turns += 1;
        let (fate, turns) = self.fate;
        if fate != Fate::Lives && self.turns > turns && self.writer.is_sending() {
            self.writer.drop_call(server, fate == Fate::Leaves);
            self.has_left = true;
        } else {
            self.writer.go_on(server);
        }
    }

    fn finish(&mut self, server: &mut Server) {
        while !self.writer.is_done() {
            self.go_on(server);
        }
    }
}

/// Reads the records of a device, a few at a time, each time from its last position.
struct Reader {
    device: &'static str,
    place: Option<RecordPlace>,
    values: Vec<i32>,
}

impl Reader {
    fn read(&mut self, collection: &Collection, most: usize) {
        let walk = Walk::<Reading>::new(vec![key(self.device)], 0);
        let tokens = walk.tokens();
        let mut walk = match self.place {
            None => walk,
            Some(place) => walk.from_token(&tokens.at(place), false).unwrap(),
        };
        let found = collection.find(&walk.find(2));
        let mut records = Vec::new();
        for stored in found {
            let ready = walk.take(&stored);
            assert!(ready.damaged.is_empty());
            records.extend(ready.records);
        }
        records.truncate(most);
        for placed in records {
            self.place = Some(placed.place());
            self.values.push(placed.record.value);
        }
    }
}

type Plan = (Vec<(u8, i64)>, (Fate, usize));

fn writers() -> impl Strategy<Value = Vec<Plan>> {
    let record = (0..2_u8, prop_oneof![Just(0), 0..4000_i64, any::<i64>()]);
    // One key in order: whole buckets that follow each other.
    let load = (0..2_u8, 0..4000_i64, 6..60_i64);
    let load = load.prop_map(|(device, from, length)| {
        (from..from + length).map(|at| (device, at * 300)).collect()
    });
    let length = prop_oneof![Just(1..2_usize), Just(1..40)];
    let mixed = length.prop_flat_map(move |length| prop::collection::vec(record.clone(), length));
    let fate = prop_oneof![
        3 => Just(Fate::Lives),
        1 => Just(Fate::Dies),
        1 => Just(Fate::Leaves),
    ];
    let writer = (prop_oneof![mixed, load], (fate, 0..40_usize));
    prop::collection::vec(writer, 1..8)
}

fn begin(plans: &[Plan], first: usize, faults: &Faults) -> Vec<Fated> {
    let each = (first..).zip(plans).map(|(number, (plan, fate))| {
        let mut batch = Batch::of::<Reading>();
        for (index, (device, millis)) in plan.iter().enumerate() {
            let value = i32::try_from(number * 1000 + index).unwrap();
            let record = reading(&device.to_string(), *millis, value);
            batch.push(index, &record).unwrap();
        }
        let device = plans[0].0[0].0;
        batch.guess(|_| Some(format!("{device}_c_0000000000")));
        Fated {
            writer: Writer::new(batch, None).with_faults(faults.of(number)),
            turns: 0,
            fate: *fate,
            has_left: false,
        }
    });
    each.collect()
}

/// The values of the records of a device, in order.
fn values(collection: &Collection, device: &str) -> Vec<i32> {
    let documents = collection.documents();
    let buckets = of_device(&documents, device).into_iter();
    let records = buckets.flat_map(|bucket| {
        let raw = RawDocumentBuf::try_from(bucket).unwrap();
        bucket::assemble_records(bucket::decode::<Reading>(&raw).unwrap())
    });
    records.map(|record| record.value).collect()
}

/// Runs the writers, and checks the outcome of their records.
fn run(
    plans: &[Plan],
    order: &[prop::sample::Index],
    faults: &Faults,
) -> Result<(), TestCaseError> {
    let collection = Collection::new(<Reading as Record>::SPEC);
    let mut server = Server::new(collection);
    if !faults.take_numbers() {
        server = server.checking(check);
    }
    let mut writers = begin(plans, 0, faults);
    let mut readers = DEVICES.map(|device| Reader {
        device,
        place: None,
        values: Vec::new(),
    });
    for turn in order {
        let at = turn.index(writers.len() + 1);
        match writers.get_mut(at) {
            Some(writer) if !writer.writer.is_done() => writer.go_on(&mut server),
            Some(_) => server.go_on_late(turn.index(7)),
            None => {
                for reader in &mut readers {
                    reader.read(&server.collection, 1 + turn.index(5));
                }
            }
        }
    }
    for writer in &mut writers {
        writer.finish(&mut server);
    }
    server.settle();
    // The next writer fills what an earlier one left empty.
    let last = [(vec![(0, 0), (1, 0)], (Fate::Lives, 0))];
    let mut last = begin(&last, LAST, &Faults::default()).remove(0);
    last.finish(&mut server);
    let collection = server.collection;

    let devices = DEVICES.iter();
    let stored: Vec<i32> = devices
        .flat_map(|device| values(&collection, device))
        .collect();
    let own = |number: usize| {
        let of = move |value: &&i32| usize::try_from(**value / 1000) == Ok(number);
        let of = stored.iter().filter(of);
        of.map(|value| usize::try_from(value % 1000).unwrap())
    };
    let mut opened = last.writer.opened;
    let mut all_live = true;
    for (number, ((plan, (fate, _)), fated)) in plans.iter().zip(&writers).enumerate() {
        let writer = &fated.writer;
        opened += writer.opened;
        all_live &= !fated.has_left;
        let mut found: Vec<usize> = own(number).collect();
        found.sort_unstable();
        let distinct: BTreeSet<usize> = found.iter().copied().collect();
        prop_assert_eq!(distinct.len(), found.len(), "a record is stored twice");
        let is_stored = |index: &usize| distinct.contains(index);
        prop_assert!(writer.stored.iter().all(is_stored), "a record is lost");
        let told = writer.stored.iter().chain(&writer.unknown).copied();
        let told: BTreeSet<usize> = told.collect();
        prop_assert!(
            distinct.is_subset(&told),
            "a record is stored although it was reported as not stored"
        );
        if *fate == Fate::Lives && faults.are_none() {
            prop_assert_eq!(found, (0..plan.len()).collect::<Vec<_>>());
        }
    }
    if all_live && faults.are_none() {
        prop_assert_eq!(opened, collection.documents().len());
    }
    for reader in readers.iter_mut().filter(|_| !faults.take_numbers()) {
        loop {
            let before = reader.values.len();
            reader.read(&collection, 5);
            if reader.values.len() == before {
                break;
            }
        }
        let all = values(&collection, reader.device);
        prop_assert_eq!(&reader.values, &all, "the cursor");
    }
    for device in DEVICES.iter().filter(|_| faults.are_none()) {
        let values = values(&collection, device);
        for number in 0..plans.len() {
            let of = |value: &&i32| usize::try_from(**value / 1000) == Ok(number);
            let own = values.iter().filter(of);
            prop_assert!(
                own.is_sorted(),
                "writer {number}'s records of one key changed order"
            );
        }
    }
    prop_assert_eq!(<Reading as Record>::SPEC.capacity(), Some(3));
    Ok(())
}

fn order() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    prop::collection::vec(any::<prop::sample::Index>(), 100..1000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn concurrent_writers_store_each_record_once_in_full_ordered_pages(
        plans in writers(),
        order in order(),
    ) {
        run(&plans, &order, &Faults::default())?;
    }

    #[test]
    fn lost_or_late_commands_store_no_record_twice_and_hide_none(
        plans in writers(),
        order in order(),
        one_in in 3..40_u64,
        seed in any::<u64>(),
    ) {
        run(&plans, &order, &Faults::one_in(one_in, seed))?;
    }

    /// Pages may then come out of order: statements in the middle of a command are not executed.
    #[test]
    fn a_number_that_another_command_used_hides_and_duplicates_no_record(
        plans in writers(),
        order in order(),
        one_in in 1..5_u64,
        seed in any::<u64>(),
    ) {
        run(&plans, &order, &Faults::taken_numbers(one_in, seed))?;
    }
}
