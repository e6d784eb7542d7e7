//! The write plans against a naive model of a collection: several writers, statements interleaved
//! at will, tails as stale as can be.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

mod common;

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use bucket_core::{
    Record,
    write::{Batch, Doubt, Need, Round},
};
use common::{Reading, reading};
use proptest::prelude::*;

const CAPACITY: i32 = 3;

/// A collection that does what the server's documents say of the statements that are sent.
#[derive(Default)]
struct Collection {
    buckets: BTreeMap<String, Document>,
}

impl Collection {
    fn of_key(&self, device: &str) -> impl DoubleEndedIterator<Item = &Document> + use<'_> {
        let device = Bson::from(device);
        self.buckets
            .values()
            .filter(move |bucket| bucket.get("device") == Some(&device))
    }

    fn open(&self, device: &str) -> Option<&Document> {
        let mut open = self
            .of_key(device)
            .filter(|bucket| count(bucket) < CAPACITY);
        let first = open.next();
        assert!(open.next().is_none(), "two open buckets of {device}");
        first
    }

    /// Executes one statement; the error is a code and an index name.
    fn execute(&mut self, statement: &Document) -> Result<i32, (i32, &'static str)> {
        let filter = statement.get_document("q").unwrap();
        let update = statement.get_document("u").unwrap();
        let device = filter.get_str("device").unwrap().to_owned();
        let matched = self.of_key(&device).find(|bucket| matches(filter, bucket));
        let new_id = update
            .get_document("$set")
            .ok()
            .map(|set| set.get_str("_id").unwrap());
        if let Some(matched) = matched {
            let id = matched.get_str("_id").unwrap().to_owned();
            if new_id.is_some_and(|new| new != id) {
                return Err((66, ""));
            }
            append(self.buckets.get_mut(&id).unwrap(), update);
            return Ok(1);
        }
        if !statement.get_bool("upsert").unwrap_or(false) {
            return Ok(0);
        }
        let id = new_id
            .or_else(|| filter.get_str("_id").ok())
            .unwrap()
            .to_owned();
        if self.buckets.contains_key(&id) {
            return Err((11_000, "_id_"));
        }
        let mut bucket =
            doc! { "_id": &id, "device": &device, "channel": "c", "count": 0, "readings": [] };
        append(&mut bucket, update);
        if count(&bucket) < CAPACITY && self.open(&device).is_some() {
            return Err((11_000, "bucket_open_3"));
        }
        let last = self
            .of_key(&device)
            .next_back()
            .map(|last| last.get_str("_id").unwrap().to_owned());
        assert!(
            last.is_none_or(|last| last < id),
            "{id} was opened before an existing page"
        );
        self.buckets.insert(id, bucket);
        Ok(1)
    }
}

fn count(bucket: &Document) -> i32 {
    bucket.get_i32("count").unwrap()
}

fn matches(filter: &Document, bucket: &Document) -> bool {
    let id = bucket.get_str("_id").unwrap();
    let id_fits = match filter.get("_id") {
        None => true,
        Some(Bson::String(wanted)) => id == wanted,
        Some(behind) => id > behind.as_document().unwrap().get_str("$gt").unwrap(),
    };
    let room_fits = filter.get_document("count").ok().is_none_or(|room| {
        room.get_i32("$lt").map_or_else(
            |_| count(bucket) <= room.get_i32("$lte").unwrap(),
            |limit| count(bucket) < limit,
        )
    });
    id_fits && room_fits
}

fn append(bucket: &mut Document, update: &Document) {
    let pushed = update
        .get_document("$push")
        .unwrap()
        .get_document("readings")
        .unwrap();
    let items = match pushed.get_array("$each") {
        Ok(items) => items.clone(),
        Err(_) => vec![Bson::Document(pushed.clone())],
    };
    let more = update
        .get_document("$inc")
        .unwrap()
        .get_i32("count")
        .unwrap();
    assert_eq!(usize::try_from(more), Ok(items.len()));
    let count = count(bucket) + more;
    bucket.insert("count", count);
    bucket.get_array_mut("readings").unwrap().extend(items);
    let length = bucket.get_array("readings").unwrap().len();
    assert_eq!(
        usize::try_from(count),
        Ok(length),
        "the count is not the number of items"
    );
    assert!(count <= CAPACITY, "a bucket is over its capacity");
}

/// A writer with commands under way: each statement is executed on its own, replies come last.
struct Writer {
    batch: Batch<Reading>,
    under_way: Vec<(Round, Vec<Document>, Vec<Document>, i32)>,
    stored: Vec<usize>,
    commands: usize,
}

impl Writer {
    /// Does one thing: executes a statement, takes a reply, or plans the next round.
    fn go_on(&mut self, collection: &mut Collection) {
        let Some((round, statements, errors, touched)) = self.under_way.first_mut() else {
            return self.plan(collection);
        };
        let ordered = {
            let body = Document::try_from(round.command().body().to_owned()).unwrap();
            body.get_bool("ordered").unwrap()
        };
        let stopped = ordered && !errors.is_empty();
        if statements.is_empty() || stopped {
            let reply = doc! { "ok": 1, "n": *touched, "writeErrors": errors.clone() };
            let (round, ..) = self.under_way.remove(0);
            let settled = self.batch.settle(&round, &reply, Doubt::None);
            assert!(settled.failed.is_empty());
            self.stored.extend(settled.stored);
            return;
        }
        let index = i32::try_from(round.command().statements() - statements.len()).unwrap();
        match collection.execute(&statements.remove(0)) {
            Ok(n) => *touched += n,
            Err((code, index_name)) => errors.push(doc! {
                "index": index,
                "code": code,
                "errmsg": format!("E11000 duplicate key error collection: t.r index: {index_name} dup key: {{}}"),
            }),
        }
    }

    fn plan(&mut self, collection: &Collection) {
        self.commands += 1;
        assert!(self.commands < 10_000, "a writer does not come to an end");
        self.learn_tails(collection);
        let rounds = self.batch.rounds(None);
        for round in rounds {
            let body = Document::try_from(round.command().body().to_owned()).unwrap();
            let statements = body.get_array("updates").unwrap().iter();
            let statements = statements
                .map(|s| s.as_document().unwrap().clone())
                .collect();
            self.under_way.push((round, statements, Vec::new(), 0));
        }
    }

    fn learn_tails(&mut self, collection: &Collection) {
        for chain in self.batch.chains_mut() {
            let mut key = bson::RawDocumentBuf::new().into_bytes();
            key.splice(4..4, chain.key().iter().copied());
            let length = i32::try_from(key.len()).unwrap().to_le_bytes();
            key[..4].copy_from_slice(&length);
            let key = Document::from_reader(key.as_slice()).unwrap();
            let device = key.get_str("device").unwrap();
            let need = chain.need();
            if !matches!(need, Need::OpenBucket | Need::NewestBucket) {
                continue;
            }
            let newest = match collection.open(device) {
                Some(open) => Some(open),
                None if need == Need::NewestBucket => collection.of_key(device).next_back(),
                None => None,
            };
            match newest {
                Some(tail) => {
                    let raw = bson::RawDocumentBuf::try_from(tail).unwrap();
                    chain.saw(&raw).unwrap();
                }
                None => chain.saw_none_open(),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.under_way.is_empty()
            && self
                .batch
                .chains()
                .iter()
                .all(|c| c.need() == Need::Nothing)
    }
}

fn writers() -> impl Strategy<Value = Vec<Vec<(u8, i64)>>> {
    let record = (0..2_u8, prop_oneof![Just(0), 0..4000_i64, any::<i64>()]);
    let length = prop_oneof![Just(1..2_usize), Just(1..40)];
    let writer = length.prop_flat_map(move |length| prop::collection::vec(record.clone(), length));
    prop::collection::vec(writer, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn concurrent_writers_store_each_record_once_in_full_ordered_pages(
        plans in writers(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 200..2000),
    ) {
        let mut collection = Collection::default();
        let mut writers: Vec<Writer> = plans.iter().enumerate().map(|(number, plan)| {
            let mut batch = Batch::default();
            for (index, (device, millis)) in plan.iter().enumerate() {
                let value = i32::try_from(number * 1000 + index).unwrap();
                batch.push(index, &reading(&device.to_string(), *millis, value)).unwrap();
            }
            batch.guess(|_| Some(format!("{}_c_0000000000", plan[0].0)));
            Writer { batch, under_way: Vec::new(), stored: Vec::new(), commands: 0 }
        }).collect();
        for turn in order {
            let at = turn.index(writers.len());
            if !writers[at].is_done() {
                writers[at].go_on(&mut collection);
            }
        }
        for writer in &mut writers {
            while !writer.is_done() {
                writer.go_on(&mut collection);
            }
        }

        let mut expected: Vec<i32> = Vec::new();
        for (number, (plan, writer)) in plans.iter().zip(&mut writers).enumerate() {
            writer.stored.sort_unstable();
            prop_assert_eq!(&writer.stored, &(0..plan.len()).collect::<Vec<_>>());
            expected.extend((0..plan.len()).map(|i| i32::try_from(number * 1000 + i).unwrap()));
        }
        let mut stored = Vec::new();
        for device in ["0", "1"] {
            let buckets: Vec<&Document> = collection.of_key(device).collect();
            for full in buckets.iter().rev().skip(1) {
                prop_assert_eq!(count(full), CAPACITY, "a page before the last is not full");
            }
            let values: Vec<i32> = buckets.iter().flat_map(|bucket| {
                let parts = bucket_core::bucket::decode::<Reading>(
                    &bson::RawDocumentBuf::try_from(*bucket).unwrap(),
                ).unwrap();
                bucket_core::bucket::assemble_records(parts)
            }).map(|record| record.value).collect();
            for number in 0..plans.len() {
                let own: Vec<i32> = values.iter().copied()
                    .filter(|value| usize::try_from(value / 1000) == Ok(number)).collect();
                prop_assert!(own.is_sorted(), "writer {}'s records of one key changed order", number);
            }
            stored.extend(values);
        }
        stored.sort_unstable();
        prop_assert_eq!(stored, expected);
        prop_assert_eq!(<Reading as Record>::SPEC.capacity(), Some(3));
    }
}
