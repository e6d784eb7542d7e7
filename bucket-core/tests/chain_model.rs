//! The write plans of the manual's form against a naive model of a collection: several writers, statements
//! interleaved at will, tails as stale as can be; writers that end amid a command, commands whose reply is
//! lost, and a reader that goes on by its cursor meanwhile.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

#[path = "common/collection.rs"]
mod collection;
mod common;

use std::collections::BTreeSet;

use bson::{Document, RawDocumentBuf};
use bucket_core::{
    Record, bucket,
    read::{RecordPlace, Walk},
    write::{Batch, Doubt, Need, Round},
};
use collection::{Answer, Collection, reply};
use common::{Reading, ReadingKey, reading};
use proptest::prelude::*;

const CAPACITY: i32 = 3;
const DEVICES: [&str; 2] = ["0", "1"];
/// The number of the writer that comes last.
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
fn of_device<'a>(collection: &'a Collection, device: &str) -> Vec<&'a Document> {
    let buckets = collection.documents.iter();
    let mut buckets: Vec<&Document> = buckets
        .filter(|bucket| bucket.get_str("device").unwrap() == device)
        .collect();
    buckets.sort_by_key(|bucket| id(bucket));
    buckets
}

/// What holds after every statement, whoever sent it.
fn check(collection: &Collection, statement: &Document, before: &BTreeSet<String>) {
    for device in DEVICES {
        let buckets = of_device(collection, device);
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
                "the count is of another type: {bucket}"
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
fn pages(collection: &Collection) -> BTreeSet<String> {
    let buckets = collection.documents.iter();
    let pages = buckets.filter(|bucket| count(bucket) > 0);
    pages.map(|bucket| id(bucket).to_owned()).collect()
}

fn execute(collection: &mut Collection, statement: &Document) -> Answer {
    let before = pages(collection);
    let answer = collection.execute(statement);
    check(collection, statement, &before);
    answer
}

/// How a writer ends before its time.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    /// Not at all.
    Lives,
    /// It does nothing any more, and the command that is under way goes no further.
    Dies,
    /// It gives up, and the command goes on.
    Leaves,
}

struct UnderWay {
    round: Round,
    statements: Vec<Document>,
    answers: Vec<Answer>,
    ordered: bool,
}

impl UnderWay {
    /// Executes a statement, if there is one left.
    fn go_on(&mut self, collection: &mut Collection) -> bool {
        let failed = matches!(self.answers.last(), Some(Answer::Refused(..)));
        if self.statements.is_empty() || (self.ordered && failed) {
            return false;
        }
        let statement = self.statements.remove(0);
        self.answers.push(execute(collection, &statement));
        true
    }
}

/// A writer with commands under way: each statement is executed on its own, replies come last.
struct Writer {
    batch: Batch<Reading>,
    under_way: Vec<UnderWay>,
    stored: Vec<usize>,
    unknown: Vec<usize>,
    opened: usize,
    commands: usize,
    turns: usize,
    /// After so many turns.
    fate: (Fate, usize),
    has_left: bool,
}

impl Writer {
    /// Does one thing: executes a statement, takes a reply, or plans the next round.
    fn go_on(&mut self, collection: &mut Collection) {
        self.turns += 1;
        if self.has_left {
            if !self.under_way[0].go_on(collection) {
                self.under_way.remove(0);
            }
            return;
        }
        let (fate, turns) = self.fate;
        if fate != Fate::Lives && self.turns > turns && !self.under_way.is_empty() {
            self.end(fate);
            return;
        }
        let Some(under_way) = self.under_way.first_mut() else {
            return self.plan(collection);
        };
        if under_way.go_on(collection) {
            return;
        }
        let UnderWay { round, answers, .. } = self.under_way.remove(0);
        let settled = self.batch.settle(&round, &reply(&answers), Doubt::None);
        assert!(settled.failed.is_empty());
        self.stored.extend(settled.stored);
        self.opened += settled.opened.len();
    }

    fn end(&mut self, fate: Fate) {
        for under_way in &self.under_way {
            self.unknown.extend(self.batch.abandon(&under_way.round));
        }
        self.batch.give_up();
        self.has_left = true;
        if fate == Fate::Dies {
            self.under_way.clear();
        }
    }

    fn plan(&mut self, collection: &Collection) {
        self.commands += 1;
        assert!(self.commands < 10_000, "a writer does not come to an end");
        for chain in self.batch.chains_mut() {
            let need = chain.need();
            if !matches!(need, Need::OpenBucket | Need::NewestBucket) {
                continue;
            }
            let mut found = collection.find(&chain.open_bucket());
            if found.is_empty() && need == Need::NewestBucket {
                found = collection.find(&chain.newest_bucket());
            }
            match found.first() {
                Some(tail) => chain.saw(tail).unwrap(),
                None => chain.saw_none_open(),
            }
        }
        for round in self.batch.rounds(None) {
            let body = Document::try_from(round.command().body().to_owned()).unwrap();
            let statements = body.get_array("updates").unwrap().iter();
            let statements = statements.map(|it| it.as_document().unwrap().clone());
            self.under_way.push(UnderWay {
                statements: statements.collect(),
                ordered: body.get_bool("ordered").unwrap(),
                round,
                answers: Vec::new(),
            });
        }
    }

    fn is_done(&self) -> bool {
        let mut chains = self.batch.chains().iter();
        self.under_way.is_empty() && chains.all(|chain| chain.need() == Need::Nothing)
    }
}

/// Reads the records of a device a few at a time, each time from its last place on.
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
    // In order of one key: whole buckets that follow each other.
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

fn begin(plans: &[Plan], first: usize) -> Vec<Writer> {
    let each = (first..).zip(plans).map(|(number, (plan, fate))| {
        let mut batch = Batch::default();
        for (index, (device, millis)) in plan.iter().enumerate() {
            let value = i32::try_from(number * 1000 + index).unwrap();
            let record = reading(&device.to_string(), *millis, value);
            batch.push(index, &record).unwrap();
        }
        let device = plans[0].0[0].0;
        batch.guess(|_| Some(format!("{device}_c_0000000000")));
        Writer {
            batch,
            under_way: Vec::new(),
            stored: Vec::new(),
            unknown: Vec::new(),
            opened: 0,
            commands: 0,
            turns: 0,
            fate: *fate,
            has_left: false,
        }
    });
    each.collect()
}

/// The values of the records of a device, in order.
fn values(collection: &Collection, device: &str) -> Vec<i32> {
    let buckets = of_device(collection, device).into_iter();
    let records = buckets.flat_map(|bucket| {
        let raw = RawDocumentBuf::try_from(bucket).unwrap();
        bucket::assemble_records(bucket::decode::<Reading>(&raw).unwrap())
    });
    records.map(|record| record.value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn concurrent_writers_store_each_record_once_in_full_ordered_pages(
        plans in writers(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 100..1000),
    ) {
        let mut collection = Collection::new(<Reading as Record>::SPEC);
        let mut writers = begin(&plans, 0);
        let mut readers = DEVICES.map(|device| Reader { device, place: None, values: Vec::new() });
        for turn in &order {
            let at = turn.index(writers.len() + 1);
            match writers.get_mut(at) {
                Some(writer) if !writer.is_done() => writer.go_on(&mut collection),
                Some(_) => {}
                None => for reader in &mut readers {
                    reader.read(&collection, 1 + turn.index(5));
                },
            }
        }
        for writer in &mut writers {
            while !writer.is_done() {
                writer.go_on(&mut collection);
            }
        }
        // What a writer left without records is for the next one.
        let mut last = begin(&[(vec![(0, 0), (1, 0)], (Fate::Lives, 0))], LAST).remove(0);
        while !last.is_done() {
            last.go_on(&mut collection);
        }

        let stored: Vec<i32> = DEVICES.iter().flat_map(|device| values(&collection, device)).collect();
        let own = |number: usize| {
            let of = move |value: &&i32| usize::try_from(**value / 1000) == Ok(number);
            stored.iter().filter(of).map(|value| usize::try_from(value % 1000).unwrap())
        };
        let mut opened = last.opened;
        let mut all_live = true;
        for (number, ((plan, (fate, _)), writer)) in plans.iter().zip(&mut writers).enumerate() {
            opened += writer.opened;
            all_live &= !writer.has_left;
            let mut found: Vec<usize> = own(number).collect();
            found.sort_unstable();
            let distinct: BTreeSet<usize> = found.iter().copied().collect();
            prop_assert_eq!(distinct.len(), found.len(), "a record is stored twice");
            prop_assert!(writer.stored.iter().all(|index| distinct.contains(index)), "a record is lost");
            let told: BTreeSet<usize> = writer.stored.iter().chain(&writer.unknown).copied().collect();
            prop_assert!(distinct.is_subset(&told), "a record is stored that was not sent");
            if *fate == Fate::Lives {
                prop_assert_eq!(found, (0..plan.len()).collect::<Vec<_>>());
            }
        }
        if all_live {
            prop_assert_eq!(opened, collection.documents.len());
        }
        for reader in &mut readers {
            loop {
                let before = reader.values.len();
                reader.read(&collection, 5);
                if reader.values.len() == before {
                    break;
                }
            }
            prop_assert_eq!(&reader.values, &values(&collection, reader.device), "the cursor");
        }
        for device in DEVICES {
            let values = values(&collection, device);
            for number in 0..plans.len() {
                let own = values.iter().filter(|value| usize::try_from(**value / 1000) == Ok(number));
                prop_assert!(own.is_sorted(), "writer {}'s records of one key changed order", number);
            }
        }
        prop_assert_eq!(<Reading as Record>::SPEC.capacity(), Some(3));
    }
}
