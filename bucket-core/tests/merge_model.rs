//! Sealed buckets that become one: every read gives what it gave before.
#![cfg(feature = "seal")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/projection.rs"]
mod projection;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use bson::{DateTime, Document, RawDocumentBuf};
use bucket_core::{
    CursorToken, Limits, Record, TimeRange,
    check::Checker,
    read::{Live, StatsReader, Walk, WalkOrder, live, live_stats, longest},
    repair::{Remedy, remedy},
    seal::{
        Due, Grouping, MergeDue, MergeGroup, Sealing, buckets_to_merge, command, expire,
        has_expired, merge_commands, seal,
    },
    write::{Batch, Source},
};
use proptest::prelude::*;

use self::{
    collection::{Collection, is_ok},
    drawn::{Drawn, drawn},
    sample::{
        EXPIRE_AFTER, HYBRID_KEPT_MERGED, HYBRID_MERGED, HYBRID_SECONDS_MERGED, PARTS_MERGED,
        Sample, SampleKey, WINDOW_BYTES_MERGED, WINDOW_KEPT_MERGED, WINDOW_MERGED, at,
    },
    writer::store,
};

/// When all windows are over.
const NOW: DateTime = DateTime::from_millis(i64::MAX - 100_000);
/// When those are over that start before this one, and their slots.
const EARLIER: DateTime = DateTime::from_millis(6_500);

fn key(device: u8) -> SampleKey {
    SampleKey(device.to_string())
}

/// The buckets that several writers store, one after the other.
fn stored<const F: usize>(plans: &[Vec<Drawn>], now: DateTime) -> Collection {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    for (number, plan) in plans.iter().enumerate() {
        store_more::<F>(&mut collection, plan, number * 1_000, now);
    }
    collection
}

fn store_more<const F: usize>(
    collection: &mut Collection,
    plan: &[Drawn],
    first: usize,
    now: DateTime,
) {
    store_from::<F>(None, collection, (plan, first), now);
}

/// The same, from a source with these records.
fn store_from<const F: usize>(
    source: Option<&str>,
    collection: &mut Collection,
    (plan, first): (&[Drawn], usize),
    now: DateTime,
) {
    let mut batch = Batch::of::<Sample<F>>();
    if let Some(source) = source {
        batch.set_source(Source::new(Sample::<F>::SPEC, source).unwrap());
    }
    for (index, drawn) in plan.iter().enumerate() {
        let sample = drawn.sample::<F>(first + index);
        if source.is_some() {
            batch.set_position(i64::try_from(first + index).unwrap());
        }
        batch.push(index, &sample).unwrap();
    }
    batch.set_now(now);
    store(batch, collection);
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

/// Seals those of the buckets that the mask says.
fn sealed<const F: usize>(collection: &Collection, mask: &[bool], now: DateTime) {
    changed::<F>(collection, mask, |document| {
        let is_rows = document.get_array("items").is_ok();
        is_rows.then(|| seal::<Sample<F>>(&raw(document), |_| None, Due::after(0, now)).unwrap())
    });
}

/// Takes the items of those whose records have expired.
fn expired<const F: usize>(collection: &Collection, mask: &[bool], now: DateTime) {
    changed::<F>(collection, mask, |document| {
        let sealed = document.get_document("_sealed");
        let is_header = sealed.is_ok_and(|sealed| sealed.contains_key("expired"));
        let stored = raw(document);
        // The scan leaves out those that take records.
        let is_open = matches!(document.get_bool("is_closed"), Ok(false));
        let is_due = !is_header && !is_open && has_expired(Sample::<F>::SPEC, &stored, now);
        is_due.then(|| expire::<Sample<F>>(&stored, |_| None, now).unwrap())
    });
}

fn changed<const F: usize>(
    collection: &Collection,
    mask: &[bool],
    change: impl Fn(&Document) -> Option<Sealing>,
) {
    let mut statements = Vec::new();
    for (index, document) in collection.documents().iter().enumerate() {
        if mask[index % mask.len()]
            && let Some(Sealing::Statement(statement)) = change(document)
        {
            statements.push(statement);
        }
    }
    for statement in &statements {
        let reply = collection.run(&command(Sample::<F>::SPEC, [statement]));
        assert!(
            is_ok(&reply) && matches!(reply.get_i32("n"), Ok(1)),
            "{reply}"
        );
    }
}

/// Merges what is due, but for the buckets that the mask leaves out; returns how many buckets became one.
fn merged<const F: usize>(collection: &Collection, mask: &[bool], now: DateTime) -> u64 {
    let spec = Sample::<F>::SPEC;
    let due = MergeDue::after(spec, 0, now).unwrap();
    let mut documents = collection.documents();
    documents.sort_by_key(|document| {
        let text = |name: &str| document.get_str(name).unwrap().to_owned();
        (text("device"), text("_id"))
    });
    let mut grouping = Grouping::new(spec, due);
    let mut groups = Vec::new();
    for (index, document) in documents.iter_mut().enumerate() {
        let lately = DateTime::from_millis(now.timestamp_millis() + 1);
        let is_held = !mask[(index * 7 + 3) % mask.len()];
        if let (true, Ok(sealed)) = (is_held, document.get_document_mut("_sealed")) {
            let is_header = sealed.contains_key("expired");
            sealed.insert(if is_header { "expired" } else { "at" }, lately);
        }
        groups.extend(grouping.take::<Sample<F>>(&raw(document)));
    }
    groups.extend(grouping.end());
    let mut buckets = 0;
    for group in groups {
        assert!(!group.undated);
        let found: Vec<_> = group
            .finds(spec)
            .flat_map(|find| collection.find(&find))
            .collect();
        assert_eq!(found.len(), group.ids.len());
        // One whose content is damaged keeps those of its group from being merged.
        let Some(merge) = group.merge::<Sample<F>>(&found, now) else {
            continue;
        };
        buckets += merge.buckets;
        for (command, _, documents) in merge_commands(spec, &[merge]) {
            let reply = collection.run(&command);
            let number = i32::try_from(documents).unwrap();
            assert!(
                is_ok(&reply) && matches!(reply.get_i32("n"), Ok(n) if n == number),
                "{reply}"
            );
        }
    }
    buckets
}

/// A read of all records: those that came, with their tokens and references.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    unique: i64,
    token: Option<CursorToken>,
    reference: String,
    /// The id of the bucket that the record was stored in, and the place there.
    stored_in: (String, u32),
}

#[derive(Debug, Clone, Copy)]
struct Query {
    newest_first: bool,
    order: WalkOrder,
    range: TimeRange,
    now: DateTime,
}

impl Query {
    fn walk<const F: usize>(self) -> Walk<Sample<F>> {
        let longest = longest(Sample::<F>::SPEC, None).unwrap();
        let live: Live = live(Sample::<F>::SPEC, self.now);
        Walk::new(vec![key(0)], longest)
            .newest_first(self.newest_first)
            .order(self.order)
            .between(self.range, live)
    }

    fn all<const F: usize>(self, collection: &Collection) -> Vec<Seen> {
        let walk = self.walk::<F>();
        let tokens = walk.has_tokens().then(|| walk.tokens());
        let records = streamed(collection, walk);
        let referenced = streamed(collection, self.walk::<F>().with_refs());
        let in_buckets = streamed(collection, self.walk::<F>().with_buckets());
        assert_eq!(records.len(), referenced.len());
        let seen = records.iter().zip(referenced).zip(in_buckets);
        seen.map(|((placed, referenced), in_bucket)| {
            assert_eq!(placed.record.unique, referenced.record.record.unique);
            assert_eq!(placed.record.unique, in_bucket.record.record.unique);
            Seen {
                unique: placed.record.unique,
                token: tokens.map(|tokens| tokens.of(placed)),
                reference: referenced.record.reference.to_string(),
                stored_in: (in_bucket.record.bucket.to_string(), in_bucket.record.index),
            }
        })
        .collect()
    }

    /// Page by page from a token on.
    fn pages<const F: usize>(
        self,
        collection: &Collection,
        from: Option<&CursorToken>,
        before: bool,
        most: usize,
    ) -> Vec<i64> {
        let mut seen = Vec::new();
        let mut token = from.cloned();
        loop {
            let walk = self.walk::<F>();
            let mut walk = match &token {
                None => walk,
                Some(token) => walk.from_token(token, before).unwrap(),
            };
            let tokens = walk.tokens();
            let (mut records, mut wanted) = (Vec::new(), 1);
            loop {
                let found = collection.find(&walk.find(wanted));
                for stored in &found {
                    let ready = walk.take(stored);
                    assert!(ready.damaged.is_empty(), "{:?}", ready.damaged);
                    assert_eq!(walk.longer(), None);
                    records.extend(ready.records);
                }
                if found.len() < usize::try_from(wanted).unwrap() {
                    records.extend(walk.end().records);
                    break;
                }
                if records.len() > most {
                    break;
                }
                wanted *= 2;
            }
            let more = records.len() > most;
            records.truncate(most);
            seen.extend(records.iter().map(|placed| placed.record.unique));
            match records.last() {
                Some(last) if more => token = Some(tokens.of(last)),
                _ => return seen,
            }
        }
    }
}

fn streamed<const F: usize, R>(
    collection: &Collection,
    mut walk: Walk<Sample<F>, R>,
) -> Vec<bucket_core::read::Placed<R>> {
    let mut records = Vec::new();
    for stored in collection.find(&walk.find(0)) {
        let ready = walk.take(&stored);
        assert!(ready.damaged.is_empty(), "{:?}", ready.damaged);
        assert_eq!(walk.longer(), None);
        records.extend(ready.records);
    }
    records.extend(walk.end().records);
    records
}

/// Exact aggregates of the records of a range: how many there are, their values and their times.
type Figures = (u64, [Option<i64>; 3], [Option<DateTime>; 2], u64);

fn figures<const F: usize>(
    collection: &Collection,
    range: TimeRange,
    now: DateTime,
) -> Option<Figures> {
    let live = live_stats(Sample::<F>::SPEC, now);
    let mut reader = StatsReader::<Sample<F>>::new(key(0), range, None, 0, live).unwrap();
    for found in projection::find(collection, &reader.plan()) {
        reader
            .take(&found)
            .unwrap_or_else(|error| panic!("{error}: {found:?} {}", reader.plan().projection));
    }
    assert_eq!(reader.longer(), None);
    let totals = reader.finish().unwrap()?;
    let stats = &totals.stats;
    Some((
        totals.count,
        [
            stats.value::<i64>(at::MIN),
            stats.value::<i64>(at::MAX),
            stats.sum::<i64>(at::SUM),
        ],
        [stats.time(at::FIRST_TIME), stats.time(at::LAST_TIME)],
        stats.count(at::ODD),
    ))
}

fn verified<const F: usize>(collection: &Collection, now: DateTime) -> Result<(), TestCaseError> {
    let mut checker = Checker::<Sample<F>>::new(now);
    let mut documents = collection.documents();
    documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    for document in &documents {
        checker.take(&raw(document), |_| None);
    }
    checker.end();
    let findings = checker.findings();
    prop_assert!(findings.is_empty(), "{:?}", findings);
    let suspicions = checker.suspicions();
    prop_assert!(suspicions.is_empty(), "{:?}", suspicions);
    Ok(())
}

fn check<const F: usize>(
    (plans, late): (&[Vec<Drawn>], &[Drawn]),
    masks: &[Vec<bool>],
    ranges: &[TimeRange],
    most: usize,
    now: DateTime,
) -> Result<(), TestCaseError> {
    let mut collection = stored::<F>(plans, now);
    let mut queries = Vec::new();
    for range in ranges {
        for newest_first in [false, true] {
            for order in [WalkOrder::Cursor, WalkOrder::Time] {
                queries.push(Query {
                    newest_first,
                    order,
                    range: *range,
                    now,
                });
            }
        }
    }
    for (round, mask) in masks.iter().enumerate() {
        let before: Vec<Vec<Seen>> = queries.iter().map(|it| it.all::<F>(&collection)).collect();
        let figures_of = |collection: &Collection| {
            let ranges = ranges.iter();
            let all = ranges.map(|range| figures::<F>(collection, *range, now));
            all.collect::<Vec<_>>()
        };
        let figures_before = figures_of(&collection);
        sealed::<F>(&collection, mask, now);
        merged::<F>(&collection, mask, now);
        verified::<F>(&collection, now)?;
        prop_assert_eq!(figures_of(&collection), figures_before);
        for (query, before) in queries.iter().zip(&before) {
            let after = query.all::<F>(&collection);
            prop_assert_eq!(&after, before);
            let unique: Vec<i64> = before.iter().map(|seen| seen.unique).collect();
            if query.order == WalkOrder::Time {
                continue;
            }
            prop_assert_eq!(
                query.pages::<F>(&collection, None, false, most),
                unique.clone()
            );
            // What was read before goes on.
            for (at, seen) in before.iter().enumerate() {
                let token = seen.token.as_ref();
                let forth = query.pages::<F>(&collection, token, false, most);
                prop_assert_eq!(&forth, &unique[at + 1..]);
                let mut back = query.pages::<F>(&collection, token, true, most);
                back.reverse();
                prop_assert_eq!(&back, &unique[..at]);
            }
        }
        // Late records go to buckets of their own, whatever is merged.
        let all = Query {
            newest_first: false,
            order: WalkOrder::Cursor,
            range: TimeRange::ALL,
            now,
        };
        let unique = |seen: Vec<Seen>| {
            let mut unique: Vec<i64> = seen.iter().map(|seen| seen.unique).collect();
            unique.sort_unstable();
            unique
        };
        let mut expected = unique(all.all::<F>(&collection));
        let first = 100_000 * (round + 1);
        let of_key = late
            .iter()
            .enumerate()
            .filter(|(_, drawn)| drawn.device == 0);
        expected.extend(of_key.map(|(index, _)| i64::try_from(first + index).unwrap()));
        store_more::<F>(&mut collection, late, first, now);
        prop_assert_eq!(unique(all.all::<F>(&collection)), expected);
        verified::<F>(&collection, now)?;
    }
    Ok(())
}

fn plans() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    prop::collection::vec(prop::collection::vec(drawn(), 1..20), 1..4)
}

fn masks() -> impl Strategy<Value = Vec<Vec<bool>>> {
    let mask = prop::collection::vec(prop::bool::weighted(0.7), 1..12);
    prop::collection::vec(mask, 1..4)
}

fn ranges() -> impl Strategy<Value = Vec<TimeRange>> {
    let bound = || prop::option::weighted(0.7, (-4_000..9_000_i64).prop_map(DateTime::from_millis));
    let range = (bound(), bound()).prop_map(|bounds| match bounds {
        (Some(a), Some(b)) => TimeRange::new(Some(a.min(b)), Some(a.max(b))),
        (a, b) => TimeRange::new(a, b),
    });
    let range = prop_oneof![Just(TimeRange::ALL), range];
    prop::collection::vec(range, 1..3)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn reads_give_the_same_before_and_after_a_merge(
        plans in plans(), late in prop::collection::vec(drawn(), 1..12), masks in masks(), ranges in ranges(),
        most in 1..9_usize,
    ) {
        let records = (&*plans, &*late);
        check::<WINDOW_MERGED>(records, &masks, &ranges, most, NOW)?;
        check::<WINDOW_BYTES_MERGED>(records, &masks, &ranges, most, NOW)?;
        check::<PARTS_MERGED>(records, &masks, &ranges, most, NOW)?;
        check::<WINDOW_MERGED>(records, &masks, &ranges, most, EARLIER)?;
    }

    #[test]
    fn reads_of_hybrid_buckets_give_the_same_before_and_after_a_merge(
        plans in plans(), late in prop::collection::vec(drawn(), 1..12), masks in masks(), ranges in ranges(),
        most in 1..9_usize,
    ) {
        let records = (&*plans, &*late);
        check::<HYBRID_MERGED>(records, &masks, &ranges, most, NOW)?;
        check::<HYBRID_SECONDS_MERGED>(records, &masks, &ranges, most, NOW)?;
        check::<HYBRID_MERGED>(records, &masks, &ranges, most, EARLIER)?;
        check::<HYBRID_SECONDS_MERGED>(records, &masks, &ranges, most, EARLIER)?;
    }
}

/// A time after the limit of records: those are left that are younger.
fn limit(millis: i64) -> DateTime {
    DateTime::from_millis(i64::from(EXPIRE_AFTER) * 1_000 + millis)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Of whole slots, whatever is packed, merged or gone in between.
    #[test]
    fn statistics_stay_when_records_go_and_headers_are_merged(
        plans in plans(), masks in masks(), slots in prop::collection::vec((-3..4_i64, 1..4_i64), 1..4),
        mut clock in prop::collection::vec(-5_000..15_000_i64, 4),
    ) {
        const F: usize = WINDOW_KEPT_MERGED;
        clock.sort_unstable();
        let mut ranges = vec![TimeRange::ALL];
        ranges.extend(slots.iter().map(|(first, number)| {
            let bound = |slot: i64| Some(DateTime::from_millis(slot * 3_000));
            TimeRange::new(bound(*first), bound(first + number))
        }));
        let collection = stored::<F>(&plans, DateTime::from_millis(20_000));
        let figures_at = |now: DateTime| {
            let figures = ranges.iter().map(|range| figures::<F>(&collection, *range, now));
            figures.collect::<Vec<_>>()
        };
        let expected = figures_at(limit(-10_000));
        let rounds = masks.iter().map(Vec::as_slice).chain([&[true][..]]);
        for (mask, now) in rounds.zip(clock.into_iter().chain([20_000, 20_000])) {
            let now = limit(now);
            prop_assert_eq!(&figures_at(now), &expected);
            sealed::<F>(&collection, mask, now);
            merged::<F>(&collection, mask, now);
            expired::<F>(&collection, mask, now);
            merged::<F>(&collection, mask, now);
            verified::<F>(&collection, now)?;
            prop_assert_eq!(&figures_at(now), &expected);
        }
        let now = limit(40_000);
        expired::<F>(&collection, &[true], now);
        merged::<F>(&collection, &[true], now);
        verified::<F>(&collection, now)?;
        prop_assert_eq!(&figures_at(now), &expected);
        // One header for each slot of a key.
        let mut slots: Vec<(String, i64)> = Vec::new();
        for document in collection.documents() {
            let start = document.get_datetime("bucket_start").unwrap().timestamp_millis();
            slots.push((document.get_str("device").unwrap().to_owned(), start.div_euclid(3_000)));
        }
        let number = slots.len();
        slots.sort();
        slots.dedup();
        prop_assert_eq!(slots.len(), number);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Their spans go beyond slots, so only those of all records are whole buckets.
    #[test]
    fn statistics_of_hybrid_buckets_stay_when_records_go_and_headers_are_merged(
        plans in plans(), masks in masks(), mut clock in prop::collection::vec(-5_000..15_000_i64, 4),
    ) {
        const F: usize = HYBRID_KEPT_MERGED;
        clock.sort_unstable();
        let collection = stored::<F>(&plans, DateTime::from_millis(20_000));
        let expected = figures::<F>(&collection, TimeRange::ALL, limit(-10_000));
        let rounds = masks.iter().map(Vec::as_slice).chain([&[true][..]]);
        for (mask, now) in rounds.zip(clock.into_iter().chain([20_000, 40_000])) {
            let now = limit(now);
            sealed::<F>(&collection, mask, now);
            merged::<F>(&collection, mask, now);
            expired::<F>(&collection, mask, now);
            merged::<F>(&collection, mask, now);
            verified::<F>(&collection, now)?;
            prop_assert_eq!(figures::<F>(&collection, TimeRange::ALL, now), expected);
        }
    }
}

/// The ids of the buckets, and of those that have late records.
fn ids(collection: &Collection) -> (Vec<String>, Vec<String>) {
    let mut all = Vec::new();
    let mut late = Vec::new();
    for document in collection.documents() {
        let id = document.get_str("_id").unwrap().to_owned();
        if document.contains_key("is_late") {
            late.push(id.clone());
        }
        all.push(id);
    }
    all.sort();
    late.sort();
    (all, late)
}

#[test]
fn hybrid_buckets_in_order_become_one_and_late_ones_stay() {
    let spread = |step: i64| (0..18).map(|n| Drawn::at(n * step)).collect::<Vec<_>>();
    let mut collection = stored::<HYBRID_SECONDS_MERGED>(&[spread(150)], NOW);
    store_more::<HYBRID_SECONDS_MERGED>(&mut collection, &spread(100), 100, NOW);
    let (before, late) = ids(&collection);
    assert!(late.len() > 2, "{late:?}");
    sealed::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
    let became = merged::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
    // All but the late ones, and the last one, which is open.
    assert_eq!(
        became,
        u64::try_from(before.len() - late.len() - 1).unwrap()
    );
    let (after, still_late) = ids(&collection);
    assert_eq!(still_late, late);
    assert_eq!(after.len(), late.len() + 2);
    // What comes next at the second of a bucket that is merged goes on counting.
    for round in 2..5 {
        store_more::<HYBRID_SECONDS_MERGED>(&mut collection, &spread(100), 100 * round, NOW);
        verified::<HYBRID_SECONDS_MERGED>(&collection, NOW).unwrap();
        sealed::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
        merged::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
    }
}

/// The side bucket has the second of an id between those in order.
#[test]
fn a_bucket_in_order_after_a_late_one_of_its_second_stays() {
    let records = |times: &[i64]| times.iter().copied().map(Drawn::at).collect::<Vec<_>>();
    let mut collection = stored::<HYBRID_SECONDS_MERGED>(&[records(&[500])], NOW);
    let store = |collection: &mut Collection, times: &[i64], first| {
        store_more::<HYBRID_SECONDS_MERGED>(collection, &records(times), first, NOW);
    };
    store(&mut collection, &[200], 100);
    // The bucket takes four.
    store(&mut collection, &[600, 601, 602], 200);
    store(&mut collection, &[900, 901, 902, 903], 300);
    store(&mut collection, &[1_950, 1_951, 1_952, 1_953], 400);
    let (_, late) = ids(&collection);
    assert_eq!(late, ["0_0000000000_1"]);
    for round in 5..9 {
        sealed::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
        merged::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
        store(&mut collection, &[300, 310, 320, 330, 340], 100 * round);
        verified::<HYBRID_SECONDS_MERGED>(&collection, NOW).unwrap();
    }
}

/// The one in the middle starts nowhere, or in the future.
#[test]
fn buckets_on_both_sides_of_one_with_a_damaged_start_do_not_become_one() {
    type Damage = fn(&mut Document);
    let damages: [Damage; 3] = [
        |document| {
            document.remove("bucket_start");
        },
        |document| {
            document.insert("bucket_start", "x");
        },
        |document| {
            document.insert("bucket_start", DateTime::MAX);
        },
    ];
    let spec = Sample::<HYBRID_MERGED>::SPEC;
    for damage in damages {
        let records: Vec<Drawn> = (0..20).map(|n| Drawn::at(n * 100)).collect();
        let mut collection = stored::<HYBRID_MERGED>(&[records], NOW);
        sealed::<HYBRID_MERGED>(&collection, &[true], NOW);
        collection.damage(|documents| {
            documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
            damage(&mut documents[2]);
        });
        let due = MergeDue::after(spec, 0, NOW).unwrap();
        let scan = buckets_to_merge(spec, None, TimeRange::ALL, &due);
        let mut grouping = Grouping::new(spec, due);
        let mut groups = Vec::new();
        let all = Query {
            newest_first: false,
            order: WalkOrder::Cursor,
            range: TimeRange::ALL,
            now: NOW,
        };
        let mut find = all.walk::<HYBRID_MERGED>().find(0);
        find.filter = scan.filter;
        for stored in collection.find(&find) {
            groups.extend(grouping.take::<Sample<HYBRID_MERGED>>(&stored));
        }
        groups.extend(grouping.end());
        let buckets: Vec<u64> = groups.iter().map(MergeGroup::buckets).collect();
        assert_eq!(buckets, [2, 2]);
    }
}

#[test]
fn hybrid_buckets_on_both_sides_of_one_that_stays_do_not_become_one() {
    let records: Vec<Drawn> = (0..20).map(|n| Drawn::at(n * 100)).collect();
    let collection = stored::<HYBRID_MERGED>(&[records], NOW);
    sealed::<HYBRID_MERGED>(&collection, &[true], NOW);
    let (before, _) = ids(&collection);
    assert_eq!(before.len(), 5);
    // The third one was sealed too lately.
    let held: Vec<bool> = (0..5_usize).map(|at| at != (2 * 7 + 3) % 5).collect();
    assert_eq!(merged::<HYBRID_MERGED>(&collection, &held, NOW), 4);
    let (after, _) = ids(&collection);
    assert_eq!(after, [0, 2, 3].map(|at: usize| before[at].clone()));
    verified::<HYBRID_MERGED>(&collection, NOW).unwrap();
}

#[test]
fn a_merge_of_hybrid_buckets_hides_nothing_that_verify_finds() {
    type Damages = (&'static str, fn(&mut Document));
    let damages: [Damages; 8] = [
        ("it is gone", |document| document.clear()),
        ("its count is a text", |document| {
            document.insert("count", "x");
        }),
        ("its start is a text", |document| {
            document.insert("bucket_start", "x");
        }),
        ("it ends too early", |document| {
            moved(document, "bucket_end", -50);
        }),
        ("it starts elsewhere", |document| {
            moved(document, "bucket_start", 1_000);
            moved(document, "bucket_end", 1_000);
        }),
        ("it is late, in a way", |document| {
            document.insert("is_late", "x");
        }),
        ("it is not closed", |document| {
            document.insert("is_closed", false);
        }),
        ("it ends before it starts", |document| {
            moved(document, "bucket_end", -5_000);
        }),
    ];
    let records: Vec<Drawn> = (0..25).map(|n| Drawn::at(n * 100)).collect();
    let whole = stored::<HYBRID_MERGED>(&[records], NOW);
    sealed::<HYBRID_MERGED>(&whole, &[true], NOW);
    assert_eq!(kinds::<HYBRID_MERGED>(&whole), [""; 0]);
    for at in 0..whole.documents().len() {
        for (damage, change) in damages {
            let mut collection = Collection::with(Sample::<HYBRID_MERGED>::SPEC, whole.documents());
            collection.damage(|documents| {
                change(&mut documents[at]);
                documents.retain(|document| !document.is_empty());
            });
            let before = kinds::<HYBRID_MERGED>(&collection);
            merged::<HYBRID_MERGED>(&collection, &[true], NOW);
            let after = kinds::<HYBRID_MERGED>(&collection);
            assert_eq!(after, before, "bucket {at}: {damage}");
        }
    }
}

#[test]
fn a_hybrid_bucket_with_a_record_after_its_end_stays_until_it_is_repaired() {
    let records: Vec<Drawn> = (0..20).map(|n| Drawn::at(n * 100)).collect();
    let mut collection = stored::<HYBRID_MERGED>(&[records], NOW);
    sealed::<HYBRID_MERGED>(&collection, &[true], NOW);
    let third = |documents: &mut Vec<Document>, millis: i64| {
        documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
        moved(&mut documents[2], "bucket_end", millis);
    };
    collection.damage(|documents| third(documents, -50));
    assert_eq!(merged::<HYBRID_MERGED>(&collection, &[true], NOW), 0);
    collection.damage(|documents| third(documents, 50));
    assert_eq!(merged::<HYBRID_MERGED>(&collection, &[true], NOW), 5);
}

#[test]
fn a_hybrid_bucket_that_ends_too_late_ends_with_its_last_record_once_it_is_merged() {
    let records: Vec<Drawn> = (0..20).map(|n| Drawn::at(n * 100)).collect();
    let mut collection = stored::<HYBRID_MERGED>(&[records], NOW);
    sealed::<HYBRID_MERGED>(&collection, &[true], NOW);
    for at in [1, 4] {
        collection.damage(|documents| {
            documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
            moved(&mut documents[at], "bucket_end", 300);
        });
    }
    assert_eq!(kinds::<HYBRID_MERGED>(&collection), ["LongSpan"; 2]);
    assert_eq!(merged::<HYBRID_MERGED>(&collection, &[true], NOW), 5);
    assert_eq!(kinds::<HYBRID_MERGED>(&collection), [""; 0]);
}

#[test]
fn the_span_of_a_merged_hybrid_bucket_is_checked_and_mended() {
    type Damage = fn(&mut Document);
    let damages: [Damage; 6] = [
        |document| {
            document.insert("bucket_start", "x");
        },
        |document| {
            document.remove("bucket_end");
        },
        |document| moved(document, "bucket_start", 100),
        |document| moved(document, "bucket_start", -5_000),
        |document| moved(document, "bucket_end", -300),
        |document| moved(document, "bucket_end", 300),
    ];
    let records: Vec<Drawn> = (0..20).map(|n| Drawn::at(n * 100 + 50)).collect();
    for (number, damage) in damages.into_iter().enumerate() {
        let mut collection = stored::<HYBRID_SECONDS_MERGED>(std::slice::from_ref(&records), NOW);
        sealed::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
        merged::<HYBRID_SECONDS_MERGED>(&collection, &[true], NOW);
        let whole = collection.documents();
        collection.damage(|documents| damage(&mut documents[0]));
        let stored = raw(&collection.documents()[0]);
        assert_ne!(
            kinds::<HYBRID_SECONDS_MERGED>(&collection),
            [""; 0],
            "{number}"
        );
        let what = remedy::<Sample<HYBRID_SECONDS_MERGED>>(&stored, |_| None, NOW, None, false);
        let Remedy::Mend { command, .. } = &what else {
            panic!("damage {number}: {what:?}");
        };
        let set = command
            .get_array("updates")
            .unwrap()
            .get_document(0)
            .unwrap();
        let set = set.get_document("u").unwrap().get_document("$set").unwrap();
        collection.damage(|documents| {
            for (name, value) in &Document::try_from(set).unwrap() {
                documents[0].insert(name.clone(), value.clone());
            }
        });
        for name in ["bucket_start", "bucket_end"] {
            let mended = collection.documents()[0].get(name).cloned();
            assert_eq!(mended.as_ref(), whole[0].get(name), "damage {number}");
        }
        assert_eq!(kinds::<HYBRID_SECONDS_MERGED>(&collection), [""; 0]);
    }
}

#[test]
fn buckets_become_one() {
    let collection = stored::<WINDOW_MERGED>(&[(0..18).map(|n| Drawn::at(n * 500)).collect()], NOW);
    assert_eq!(collection.documents().len(), 9);
    sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
    assert_eq!(merged::<WINDOW_MERGED>(&collection, &[true], NOW), 9);
    let documents = collection.documents();
    assert_eq!(documents.len(), 3);
    for document in documents {
        assert_eq!(document.get_i32("count").unwrap(), 6);
        let sum = document.get_document("stats").unwrap();
        assert_eq!(sum.get_i64("sum").unwrap(), 6, "{sum}");
    }
}

/// Of a slot that is not over, only the begin can be in one bucket with it.
fn goes_on_after_damage<const F: usize>() {
    // Those that end until 3,500 may be merged.
    let now = DateTime::from_millis(4_500);
    let mut collection = stored::<F>(&[(0..8).map(|n| Drawn::at(3_000 + n)).collect()], now);
    collection.damage(|documents| {
        documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
        documents[0].insert("count", "x");
    });
    let query = Query {
        newest_first: false,
        order: WalkOrder::Cursor,
        range: TimeRange::ALL,
        now,
    };
    let mut walk = query.walk::<F>();
    let tokens = walk.tokens();
    let mut damaged = Vec::new();
    for stored in collection.find(&walk.find(0)) {
        damaged.extend(walk.take(&stored).damaged);
    }
    damaged.extend(walk.end().damaged);
    let token = tokens.of(&damaged[0]);
    let next = [Drawn::at(5_200), Drawn::at(5_900)];
    store_more::<F>(&mut collection, &next, 100, now);
    let seen = query.pages::<F>(&collection, Some(&token), false, 10);
    assert_eq!(seen, [100, 101]);
}

#[test]
fn what_comes_after_a_damaged_bucket_of_a_slot_that_goes_on_is_after_its_token() {
    goes_on_after_damage::<WINDOW_MERGED>();
    goes_on_after_damage::<HYBRID_MERGED>();
}

/// They were stored under a longer limit.
#[test]
fn a_walk_meets_the_longest_of_the_buckets_that_a_merged_one_was_made_of() {
    type F = Sample<HYBRID_MERGED>;
    let mut collection = Collection::new(F::SPEC);
    let mut batch = Batch::of::<F>();
    let limits = Limits::new().max_duration(2);
    for (index, at) in [100, 1_900, 2_200, 2_300, 6_000].into_iter().enumerate() {
        let sample = Drawn::at(at).sample::<HYBRID_MERGED>(index);
        batch.push_with(index, &sample, Some(limits)).unwrap();
    }
    batch.set_now(NOW);
    store(batch, &mut collection);
    sealed::<HYBRID_MERGED>(&collection, &[true], NOW);
    assert_eq!(merged::<HYBRID_MERGED>(&collection, &[true], NOW), 2);
    for order in [WalkOrder::Time, WalkOrder::Cursor] {
        let query = Query {
            newest_first: true,
            order,
            range: TimeRange::new(Some(DateTime::from_millis(0)), None),
            now: NOW,
        };
        let mut walk = query.walk::<HYBRID_MERGED>();
        for stored in collection.find(&walk.find(0)) {
            walk.take(&stored);
        }
        assert_eq!(walk.longer(), Some(1_800));
    }
}

/// What `verify` finds, without the ids of the buckets that it finds it by.
fn kinds<const F: usize>(collection: &Collection) -> Vec<String> {
    let mut checker = Checker::<Sample<F>>::new(NOW);
    let mut documents = collection.documents();
    documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    for document in &documents {
        checker.take(&raw(document), |_| None);
    }
    checker.end();
    let suspicions = checker.suspicions().into_iter();
    let suspicions = suspicions.map(bucket_core::check::Suspicion::into_finding);
    let findings = checker.findings().into_iter().chain(suspicions);
    let mut kinds: Vec<String> = findings
        .map(|finding| format!("{:?}", finding.problem.kind()))
        .collect();
    kinds.sort();
    kinds
}

fn damaged_is_merged<const F: usize>() {
    type Damages = (&'static str, fn(&mut Document));
    let damages: [Damages; 6] = [
        ("it is gone", |document| document.clear()),
        ("its count is a text", |document| {
            document.insert("count", "x");
        }),
        ("its start is a text", |document| {
            document.insert("bucket_start", "x");
        }),
        ("it ends too late", |document| {
            moved(document, "bucket_end", 2_500);
        }),
        ("it ends too early", |document| {
            moved(document, "bucket_end", -999);
        }),
        ("it is in another window", |document| {
            moved(document, "bucket_start", 1_000);
            moved(document, "bucket_end", 1_000);
        }),
    ];
    // Three windows of one slot, with more than one bucket each.
    let call = |at: i64| (0..5).map(|n| Drawn::at(at + n)).collect::<Vec<_>>();
    let calls: Vec<Vec<Drawn>> = (0..9).map(|n| call(n / 3 * 1_000 + n)).collect();
    let whole = stored::<F>(&calls, NOW);
    sealed::<F>(&whole, &[true], NOW);
    assert_eq!(kinds::<F>(&whole), [""; 0]);
    for at in 0..whole.documents().len() {
        for (damage, change) in damages {
            let mut collection = Collection::with(Sample::<F>::SPEC, whole.documents());
            collection.damage(|documents| {
                change(&mut documents[at]);
                documents.retain(|document| !document.is_empty());
            });
            let before = kinds::<F>(&collection);
            merged::<F>(&collection, &[true], NOW);
            assert_eq!(kinds::<F>(&collection), before, "bucket {at}: {damage}");
        }
    }
}

fn moved(document: &mut Document, name: &str, millis: i64) {
    let date = document.get_datetime(name).unwrap().timestamp_millis();
    document.insert(name, DateTime::from_millis(date + millis));
}

#[test]
fn a_merge_hides_nothing_that_verify_finds() {
    damaged_is_merged::<WINDOW_BYTES_MERGED>();
    damaged_is_merged::<PARTS_MERGED>();
}

/// Records in some of ten windows of a slot, sealed.
fn some_windows(windows: &[i64]) -> Vec<Drawn> {
    windows
        .iter()
        .map(|window| Drawn::at(window * 1_000))
        .collect()
}

#[test]
fn what_is_inside_of_a_merged_bucket_with_a_damaged_start_stays() {
    type Damage = fn(&mut Document);
    let damages: [Damage; 5] = [
        |document| {
            document.insert("bucket_start", DateTime::MAX);
        },
        |document| {
            document.remove("bucket_start");
        },
        |document| {
            document.insert("bucket_start", "x");
        },
        |document| moved(document, "bucket_start", -1_000),
        |document| moved(document, "bucket_start", -9_000),
    ];
    for (at, damage) in damages.into_iter().enumerate() {
        let mut collection = stored::<WINDOW_MERGED>(&[some_windows(&[0, 2])], NOW);
        sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
        assert_eq!(merged::<WINDOW_MERGED>(&collection, &[true], NOW), 2);
        let start = collection.documents()[0]
            .get_datetime("bucket_start")
            .copied();
        let start = start.unwrap();
        store_more::<WINDOW_MERGED>(&mut collection, &some_windows(&[1]), 100, NOW);
        store_more::<WINDOW_MERGED>(&mut collection, &some_windows(&[2]), 200, NOW);
        sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
        collection.damage(|documents| damage(&mut documents[0]));
        let before = collection.documents().len();
        assert_eq!(
            merged::<WINDOW_MERGED>(&collection, &[true], NOW),
            0,
            "damage {at}"
        );
        assert_eq!(collection.documents().len(), before);
        // Repaired, all become one.
        collection.damage(|documents| {
            documents[0].insert("bucket_start", start);
        });
        merged::<WINDOW_MERGED>(&collection, &[true], NOW);
        assert_eq!(kinds::<WINDOW_MERGED>(&collection), [""; 0]);
    }
}

#[test]
fn buckets_before_a_large_one_become_one_once_their_slot_is_over() {
    let spec = Sample::<WINDOW_MERGED>::SPEC;
    let collection = stored::<WINDOW_MERGED>(&[some_windows(&[0, 1, 2])], NOW);
    sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
    let mut documents = collection.documents();
    documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    let numbers = |count: i32, until: DateTime| {
        let mut grouping = Grouping::new(spec, MergeDue::after(spec, 0, until).unwrap());
        let mut groups = Vec::new();
        for (at, document) in documents.iter().enumerate() {
            let mut document = document.clone();
            document.insert("count", if at == 2 { count } else { 1 });
            groups.extend(grouping.take::<Sample<WINDOW_MERGED>>(&raw(&document)));
        }
        groups.extend(grouping.end());
        groups.iter().map(MergeGroup::buckets).collect::<Vec<_>>()
    };
    assert_eq!(numbers(1, NOW), [3]);
    assert_eq!(numbers(5_000, NOW), [2]);
}

#[test]
fn a_window_of_very_many_records_is_merged_up_to_a_limit() {
    let spec = Sample::<PARTS_MERGED>::SPEC;
    let calls: Vec<Vec<Drawn>> = (0..6).map(|n| vec![Drawn::at(n)]).collect();
    let collection = stored::<PARTS_MERGED>(&calls, NOW);
    let mut grouping = Grouping::new(spec, MergeDue::after(spec, 0, NOW).unwrap());
    let mut groups = Vec::new();
    let mut documents = collection.documents();
    documents.sort_by_key(|document| document.get_str("_id").unwrap().to_owned());
    for document in &mut documents {
        document.insert("count", 30_000);
        groups.extend(grouping.take::<Sample<PARTS_MERGED>>(&raw(document)));
    }
    groups.extend(grouping.end());
    let buckets: Vec<u64> = groups.iter().map(MergeGroup::buckets).collect();
    assert_eq!(buckets, [3]);
}

#[test]
fn what_is_inside_of_a_merged_bucket_is_merged_with_that_one_only() {
    let records: Vec<Drawn> = (0..18).map(|n| Drawn::at(n * 500)).collect();
    let mut collection = stored::<WINDOW_MERGED>(&[records], NOW);
    sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
    merged::<WINDOW_MERGED>(&collection, &[true], NOW);
    let slots = collection.documents().len();
    // Two windows of the first slot.
    let late = [Drawn::at(1_100), Drawn::at(2_100)];
    store_more::<WINDOW_MERGED>(&mut collection, &late, 100, NOW);
    sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
    assert_eq!(collection.documents().len(), slots + 2);
    // The merged one stays: it was sealed too lately.
    let first_stays: Vec<bool> = (0..5).map(|at| at != 3).collect();
    assert_eq!(merged::<WINDOW_MERGED>(&collection, &first_stays, NOW), 0);
    assert_eq!(merged::<WINDOW_MERGED>(&collection, &[true], NOW), 3);
    assert_eq!(collection.documents().len(), slots);
}

#[test]
fn late_records_of_a_source_go_to_the_place_after_those_that_are_merged() {
    let records: Vec<Drawn> = (0..18).map(|n| Drawn::at(n * 500)).collect();
    let mut collection = stored::<WINDOW_MERGED>(&[records], NOW);
    for round in 1..4 {
        sealed::<WINDOW_MERGED>(&collection, &[true], NOW);
        merged::<WINDOW_MERGED>(&collection, &[true], NOW);
        let slots = collection.documents().len();
        let late = [Drawn::at(100), Drawn::at(1_100), Drawn::at(2_100)];
        let late = (&late[..], 100 * round);
        store_from::<WINDOW_MERGED>(Some("s"), &mut collection, late, NOW);
        assert_eq!(collection.documents().len(), slots + 3);
        verified::<WINDOW_MERGED>(&collection, NOW).unwrap();
    }
}
