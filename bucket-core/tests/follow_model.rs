//! Walks in order of arrival while others write. Finds yield between any two buckets, as on a
//! server, and the result is compared with the final contents.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    CursorToken, FieldPath, Record, TimeRange,
    attribute::RecordFilter,
    read::{self, FindPlan, Placed, Walk},
    write::Batch,
};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    sample::{
        COUNT, COUNT_BYTES, COUNT_BYTES_EXPIRE, COUNT_EXPIRE, COUNT_RAISED, EXPIRE_AFTER, NUMBERED,
        NUMBERED_BYTES, NUMBERED_EXPIRE, NUMBERED_OBJECT, Sample, SampleKey,
    },
    writer::{Server, Writer},
};

/// The time by the writers' clock: nothing since 1970 has expired.
const NOW: i64 = EXPIRE_AFTER as i64 * 1_000;

/// A collection, its writers, and when each of them continues.
struct World<const F: usize> {
    server: Server,
    writers: Vec<Writer>,
    /// A writer, and the number of its steps before the server continues with a read.
    yields: Vec<(usize, usize)>,
    turn: usize,
    /// The number of finds sent.
    finds: usize,
}

impl<const F: usize> World<F> {
    fn new(plans: &[Vec<Drawn>], yields: &[(usize, usize)]) -> Self {
        let writer = |(number, plan): (usize, &Vec<Drawn>)| {
            let mut batch = Batch::of::<Sample<F>>();
            batch.set_now(DateTime::from_millis(NOW));
            for (index, drawn) in plan.iter().enumerate() {
                // An expired record is refused.
                drop(batch.push(index, &drawn.sample::<F>(number * 1_000 + index)));
            }
            Writer::new(batch, None)
        };
        Self {
            server: Server::new(Collection::new(Sample::<F>::SPEC)),
            writers: plans.iter().enumerate().map(writer).collect(),
            yields: yields.to_vec(),
            turn: 0,
            finds: 0,
        }
    }

    /// Others continue in the middle of a read.
    fn give_way(&mut self) {
        let Some((writer, things)) = self.yields.get(self.turn % self.yields.len().max(1)) else {
            return;
        };
        self.turn += 1;
        let writer = writer % self.writers.len();
        for _ in 0..*things {
            self.go_on(writer);
        }
    }

    fn go_on(&mut self, writer: usize) {
        if !self.writers[writer].is_done() {
            self.writers[writer].go_on(&mut self.server);
        }
    }

    /// Lets a writer continue that has not finished. Returns whether there is one.
    fn is_under_way(&mut self) -> bool {
        let writing: Vec<usize> = (0..self.writers.len())
            .filter(|at| !self.writers[*at].is_done())
            .collect();
        self.turn += 1;
        if let Some(writer) = writing.get(self.turn % writing.len().max(1)) {
            self.go_on(*writer);
        }
        !writing.is_empty()
    }

    /// Everything stored so far, in order.
    fn all(&mut self, query: &Query) -> Vec<i64> {
        let everything = Query {
            least: None,
            ..*query
        };
        let mut walk = everything.walk::<F>(None, false);
        let mut seen = Vec::new();
        // Nobody interrupts.
        let found = self.server.collection.find(&walk.find(0));
        let ready = found.iter().map(|stored| walk.take(stored));
        for ready in ready {
            let records = ready.records.iter().map(|placed| &placed.record);
            let asked =
                records.filter(|record| query.least.is_none_or(|least| record.value >= least));
            seen.extend(asked.map(|record| record.unique));
        }
        seen
    }
}

/// A find that is scanning an index.
struct Scan {
    plan: FindPlan,
    /// The bucket that it has reached. Buckets keep their positions.
    at: Option<Bson>,
    left: i64,
}

impl Scan {
    fn new<const F: usize>(plan: FindPlan, world: &mut World<F>) -> Self {
        world.finds += 1;
        Self {
            at: None,
            left: if plan.limit > 0 { plan.limit } else { i64::MAX },
            plan,
        }
    }

    /// The same read with another filter and without a limit.
    fn with(&self, filter: &Document) -> FindPlan {
        let mut plan = self.plan.clone();
        plan.filter = RawDocumentBuf::try_from(filter).unwrap();
        plan.limit = 0;
        plan
    }

    /// The next document, as it is when the server reaches it. Others continue before each index
    /// entry.
    fn next<const F: usize>(&mut self, world: &mut World<F>) -> Option<RawDocumentBuf> {
        let asked = Document::try_from(self.plan.filter.clone()).unwrap();
        loop {
            if self.left == 0 {
                return None;
            }
            world.give_way();
            let collection = &world.server.collection;
            let mut entries = self.with(&doc! { "device": "0" });
            entries.projection = doc! { "_id": 1 };
            let entries = collection.find(&entries);
            let id = |entry: &RawDocumentBuf| Document::try_from(entry).unwrap().remove("_id");
            let mut ids = entries.iter().map(id);
            let next = match &self.at {
                None => ids.next(),
                Some(at) => ids.skip_while(|id| id.as_ref() != Some(at)).nth(1),
            };
            let next = next?.unwrap();
            self.at = Some(next.clone());
            let matching = doc! { "$and": [asked.clone(), { "_id": next }] };
            if let Some(found) = collection.find(&self.with(&matching)).pop() {
                self.left -= 1;
                return Some(found);
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Query {
    newest_first: bool,
    range: TimeRange,
    /// The milliseconds by which the reader's clock is ahead.
    ahead: i64,
    /// The least value of the records.
    least: Option<i64>,
}

impl Query {
    fn walk<const F: usize>(&self, token: Option<&CursorToken>, before: bool) -> Walk<Sample<F>> {
        let spec = Sample::<F>::SPEC;
        let live = read::live(spec, DateTime::from_millis(NOW + self.ahead));
        let field = FieldPath::new("items.value");
        let filter = self.least.map(|least| field.gte(least));
        let filter = filter.map(|filter| RecordFilter::new(spec, &filter).unwrap());
        let walk = Walk::new(vec![SampleKey("0".to_owned())], 0)
            .matching(filter)
            .newest_first(self.newest_first)
            .between(self.range, live);
        match token {
            None => walk,
            Some(token) => walk.from_token(token, before).unwrap(),
        }
    }
}

struct Page<const F: usize> {
    records: Vec<Placed<Sample<F>>>,
    more: bool,
}

/// Reads as an executor does.
fn settle<const F: usize>(walk: &mut Walk<Sample<F>>, plan: FindPlan, world: &mut World<F>) {
    let newest = Scan::new(plan, world).next(world);
    walk.settle(newest.as_deref());
}

fn page<const F: usize>(world: &mut World<F>, mut walk: Walk<Sample<F>>, most: usize) -> Page<F> {
    let mut records = Vec::new();
    let mut wanted = 2;
    let mut came = wanted;
    while records.len() <= most && came == wanted {
        let mut scan = Scan::new(walk.find(wanted), world);
        came = 0;
        while let Some(stored) = scan.next(world) {
            came += 1;
            let ready = walk.take(&stored);
            assert!(ready.damaged.is_empty());
            records.extend(ready.records);
            if records.len() > most || walk.to_settle().is_some() {
                break;
            }
        }
        if let Some(plan) = walk.to_settle() {
            settle(&mut walk, plan, world);
            came = wanted;
            continue;
        }
        if came == wanted {
            wanted *= 2;
            came = wanted;
        }
        assert!(wanted < 10_000, "the walk does not end");
    }
    assert!(walk.end().is_empty());
    let more = records.len() > most;
    records.truncate(most);
    Page { records, more }
}

/// All records after the token, over one cursor if none must be read again.
fn stream<const F: usize>(world: &mut World<F>, walk: Walk<Sample<F>>) -> Vec<Placed<Sample<F>>> {
    let scan = Scan::new(walk.find(0), world);
    rest(world, walk, scan)
}

/// All records from the place that a scan has reached.
fn rest<const F: usize>(
    world: &mut World<F>,
    mut walk: Walk<Sample<F>>,
    mut scan: Scan,
) -> Vec<Placed<Sample<F>>> {
    let mut records = Vec::new();
    while let Some(stored) = scan.next(world) {
        records.extend(walk.take(&stored).records);
        if let Some(plan) = walk.to_settle() {
            settle(&mut walk, plan, world);
            scan = Scan::new(walk.find(0), world);
        }
    }
    records
}

/// Reads what has come since, as long as others write, and once more after that. From the newest
/// record, that is what comes after the first record of the first page, which is the first one
/// here.
fn follow<const F: usize>(world: &mut World<F>, query: &Query, limits: &[usize]) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut token: Option<CursorToken> = None;
    // Going back from the newest record also finds what comes after it.
    let before = query.newest_first;
    for turn in 0.. {
        assert!(turn < 5_000, "the follower does not end");
        let is_last = !world.is_under_way();
        let walk = query.walk::<F>(token.as_ref(), before && token.is_some());
        let tokens = walk.tokens();
        // Every seventh read is a stream.
        let (records, more) = match limits[turn % limits.len()] {
            0 if token.is_some() || !query.newest_first => (stream(world, walk), false),
            limit => {
                let page = page(world, walk, limit.max(1));
                (page.records, page.more)
            }
        };
        let mut numbers: Vec<i64> = records.iter().map(|placed| placed.record.unique).collect();
        let edge = if token.is_none() && query.newest_first {
            numbers.truncate(1);
            records.first()
        } else {
            records.last()
        };
        seen.append(&mut numbers);
        token = edge.map(|placed| tokens.of(placed)).or(token);
        if is_last && !more {
            return seen;
        }
    }
    unreachable!()
}

fn check<const F: usize>(
    plans: &[Vec<Drawn>],
    yields: &[(usize, usize)],
    (range, ahead, least): (TimeRange, i64, Option<i64>),
    limits: &[usize],
) -> Result<(), TestCaseError> {
    for newest_first in [false, true] {
        let query = Query {
            newest_first,
            range,
            ahead,
            least,
        };
        let mut world = World::<F>::new(plans, yields);
        let seen = follow(&mut world, &query, limits);
        let ascending = Query {
            newest_first: false,
            ..query
        };
        let mut expected = world.all(&ascending);
        if newest_first {
            // Without the records before it.
            let first = expected.iter().position(|one| seen.first() == Some(one));
            expected.drain(..first.unwrap_or(expected.len()));
        }
        prop_assert_eq!(&seen, &expected, "newest first: {}", newest_first);
    }
    Ok(())
}

fn plans() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    prop::collection::vec(prop::collection::vec(drawn(), 1..24), 2..5)
}

fn yields() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0..5_usize, 0..12_usize), 1..20)
}

fn limits() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..7_usize, 1..5)
}

fn range() -> impl Strategy<Value = (TimeRange, i64, Option<i64>)> {
    let bound = || prop::option::weighted(0.7, (-4_000..9_000_i64).prop_map(DateTime::from_millis));
    let range = (bound(), bound()).prop_map(|bounds| match bounds {
        (Some(a), Some(b)) => TimeRange::new(Some(a.min(b)), Some(a.max(b))),
        (a, b) => TimeRange::new(a, b),
    });
    let range = prop_oneof![Just(TimeRange::ALL), range];
    let least = prop::option::of(any::<i32>().prop_map(i64::from));
    (range, 0..5_000_i64, least)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_follower_of_counted_buckets_misses_nothing(plans in plans(), yields in yields(), range in range(), limits in limits()) {
        check::<COUNT>(&plans, &yields, range, &limits)?;
        check::<COUNT_BYTES>(&plans, &yields, range, &limits)?;
        check::<COUNT_RAISED>(&plans, &yields, range, &limits)?;
    }

    #[test]
    fn a_follower_of_numbered_buckets_misses_nothing(plans in plans(), yields in yields(), range in range(), limits in limits()) {
        check::<NUMBERED>(&plans, &yields, range, &limits)?;
        check::<NUMBERED_BYTES>(&plans, &yields, range, &limits)?;
        check::<NUMBERED_OBJECT>(&plans, &yields, range, &limits)?;
    }

    #[test]
    fn a_follower_misses_no_unexpired_record(plans in plans(), yields in yields(), range in range(), limits in limits()) {
        check::<COUNT_EXPIRE>(&plans, &yields, range, &limits)?;
        check::<COUNT_BYTES_EXPIRE>(&plans, &yields, range, &limits)?;
        check::<NUMBERED_EXPIRE>(&plans, &yields, range, &limits)?;
    }
}

/// The buckets of a writer without concurrent writers.
fn written<const F: usize>(records: usize) -> World<F> {
    let record = |at: usize| Drawn {
        device: 0,
        at: i64::try_from(at).unwrap() * 1_000,
        value: 1,
        level: None,
        code: String::new(),
    };
    let mut world = World::<F>::new(&[(0..records).map(record).collect()], &[]);
    while world.is_under_way() {}
    world
}

const ALL: Query = Query {
    newest_first: false,
    range: TimeRange::ALL,
    ahead: 0,
    least: None,
};

/// The number of finds for a page and for a stream.
fn finds<const F: usize>(mut world: World<F>, query: &Query, limit: usize) -> (usize, usize) {
    let most = page(&mut world, query.walk(None, false), limit);
    assert_eq!(most.records.len(), limit);
    let of_page = std::mem::take(&mut world.finds);
    stream(&mut world, query.walk(None, false));
    (of_page, world.finds)
}

#[test]
fn nothing_is_read_again_if_nobody_writes() {
    let some = TimeRange::new(Some(DateTime::from_millis(2_000)), None);
    for query in [ALL, Query { range: some, ..ALL }] {
        assert_eq!(finds(written::<COUNT>(18), &query, 4), (1, 1));
        assert_eq!(finds(written::<COUNT_BYTES>(18), &query, 1), (1, 1));
        assert_eq!(finds(written::<NUMBERED>(18), &query, 4), (1, 1));
    }
}

#[test]
fn buckets_that_were_full_before_the_capacity_was_raised_are_read_again_only_once() {
    let mut world = written::<COUNT_RAISED>(0);
    // The buckets that a capacity of four left.
    let left = written::<COUNT>(18).server.collection.documents();
    world.server.collection.edit(|documents| *documents = left);
    assert_eq!(finds(world, &ALL, 4), (3, 3));
}

#[test]
fn a_bucket_that_is_reserved_and_filled_during_a_walk_is_not_skipped() {
    let mut world = written::<COUNT>(8);
    let documents = world.server.collection.documents();
    let filled = documents[1].clone();
    let mut reserved = filled.clone();
    reserved.extend(doc! { "count": 0_i64, "items": [] });
    let mut walk = ALL.walk::<COUNT>(None, false);
    let raw = |document: &Document| RawDocumentBuf::try_from(document).unwrap();
    let full = raw(&documents[0]);
    assert_eq!(walk.take(&full).records.len(), 4);
    assert!(walk.take(&raw(&reserved)).is_empty());
    let mut behind = filled.clone();
    behind.insert("_id", format!("{}_9", filled.get_str("_id").unwrap()));
    assert!(walk.take(&raw(&behind)).is_empty());
    world
        .server
        .collection
        .edit(|documents| documents.push(behind));
    let plan = walk.to_settle().unwrap();
    settle(&mut walk, plan, &mut world);
    let rest = stream(&mut world, walk);
    assert_eq!(rest.len(), 8);
}

#[test]
fn a_bucket_that_fills_during_a_walk_is_not_skipped_after_one_that_has_left_the_find() {
    let mut world = written::<COUNT>(12);
    let mut documents = world.server.collection.documents();
    documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    let with_records = |bucket: usize, count: usize| {
        let mut document = documents[bucket].clone();
        let mut items = document.get_array("items").unwrap().clone();
        items.truncate(count);
        let count = i64::try_from(count).unwrap();
        document.extend(doc! { "count": count, "items": items });
        RawDocumentBuf::try_from(&document).unwrap()
    };
    let range = TimeRange::new(Some(DateTime::from_millis(4_000)), None);
    let query = Query { range, ..ALL };
    let mut walk = query.walk::<COUNT>(None, false);
    // Found because of its room. When it is full, no find returns it.
    assert!(walk.take(&with_records(0, 3)).is_empty());
    let second = with_records(1, 3);
    assert!(walk.take(&second).is_empty());
    assert!(walk.to_settle().is_some());
    walk.settle(Some(&second));
    let mut records = walk.take(&second).records;
    // The second one fills before the find comes to the third.
    assert!(walk.take(&with_records(2, 4)).is_empty());
    let plan = walk.to_settle().unwrap();
    settle(&mut walk, plan, &mut world);
    records.extend(stream(&mut world, walk));
    let numbers: Vec<i64> = records.iter().map(|placed| placed.record.unique).collect();
    assert_eq!(numbers, [4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn a_bucket_that_gets_its_first_match_during_a_walk_is_not_skipped() {
    let mut world = written::<COUNT>(8);
    let mut after = world.server.collection.documents();
    after.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    for (bucket, document) in after.iter_mut().enumerate() {
        let items = document.get_array_mut("items").unwrap().iter_mut();
        for (index, item) in items.enumerate() {
            let value = if bucket == 0 && index < 2 { 1_i64 } else { 9 };
            item.as_document_mut().unwrap().insert("value", value);
        }
    }
    let mut before = after[0].clone();
    before.get_array_mut("items").unwrap().truncate(2);
    before.insert("count", 2);
    world.server.collection.edit(|all| *all = vec![before]);
    let query = Query {
        least: Some(5),
        ..ALL
    };
    let mut walk = query.walk::<COUNT>(None, false);
    let mut scan = Scan::new(walk.find(0), &mut world);
    if let Some(first) = scan.next(&mut world) {
        assert!(walk.take(&first).is_empty());
    }
    world.server.collection.edit(|all| *all = after);
    assert_eq!(rest(&mut world, walk, scan).len(), 6);
}
