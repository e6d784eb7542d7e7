//! Walks over every form, page by page, with damaged buckets in between: every readable record
//! once, in its position, and every damaged bucket once.
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

use std::collections::BTreeSet;

use bson::{Bson, DateTime, Document, doc};
use bucket_core::{
    CursorToken, DamagedBucket, Form, Record, TimeRange,
    read::{Live, Placed, Walk, WalkOrder, longest},
    write::Batch,
};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    sample::{
        COUNT, COUNT_BYTES, HYBRID_MERGE, HYBRID_SIDE, NUMBERED, NUMBERED_OBJECT, PARTS, Sample,
        SampleKey, WINDOW, WINDOW_BYTES, WINDOW_CAPACITY, WINDOW_OBJECT,
    },
    writer::store,
};

/// The buckets that several writers store, one after the other.
fn stored<const F: usize>(plans: &[Vec<Drawn>]) -> Collection {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    for (number, plan) in plans.iter().enumerate() {
        let mut batch = Batch::of::<Sample<F>>();
        for (index, drawn) in plan.iter().enumerate() {
            let sample = drawn.sample::<F>(number * 1_000 + index);
            batch.push(index, &sample).unwrap();
        }
        store(batch, &mut collection);
    }
    collection
}

fn key(device: u8) -> SampleKey {
    SampleKey(device.to_string())
}

/// A number that no other bucket has.
fn drawn_from(id: &Bson) -> i64 {
    let bytes = id.to_string().into_bytes().into_iter();
    bytes.fold(7, |hash: i64, byte| {
        hash.wrapping_mul(31).wrapping_add(byte.into())
    })
}

/// Breaks a bucket in one of many ways.
fn damage<const F: usize>(document: &mut Document, way: usize) {
    let spec = Sample::<F>::SPEC;
    let names = spec.names();
    match (way, spec.form()) {
        (0, _) => drop(document.insert(names.count, 99)),
        (1, _) => drop(document.remove(names.count)),
        (2, _) => drop(document.insert(spec.items(), "none")),
        (3, _) => drop(document.insert(spec.items(), vec![Bson::from(5)])),
        (4, Form::Window { .. } | Form::Hybrid { .. }) => drop(document.remove(names.end)),
        (5, Form::Window { .. }) => drop(document.insert(names.start, 7)),
        (5, Form::Numbered { .. }) => drop(document.insert(names.number, "x")),
        // No position at all.
        (6, _) if !spec.object_ids() => {
            let id = format!("{} is no id", document.get_str("_id").unwrap());
            document.insert("_id", id);
        }
        (7, _) if !spec.object_ids() => {
            let id = format!(" {} is none", document.get_str("_id").unwrap());
            document.insert("_id", id);
        }
        // Ids of other types, and of other keys.
        (8, _) if !spec.object_ids() => {
            let id = drawn_from(&document["_id"]);
            document.insert("_id", id);
        }
        (9, _) if !spec.object_ids() => {
            let id = DateTime::from_millis(drawn_from(&document["_id"]));
            document.insert("_id", id);
        }
        (10 | 11, _) if !spec.object_ids() => {
            let id = document.get_str("_id").unwrap().to_owned();
            let other = if way == 10 { " " } else { "z" };
            document.insert("_id", format!("{other}{id}"));
        }
        // Only the window is its own.
        (12..=17, Form::Window { .. }) if spec.object_ids() => {
            let part: Bson = match way {
                12 => Bson::Null,
                13 => f64::NAN.into(),
                14 => 1.5.into(),
                15 => "x".into(),
                16 => Bson::MinKey,
                _ => (-1).into(),
            };
            document.insert("bucket_part", part);
        }
        _ => {
            let item = doc! { "at": "now" };
            document.insert(spec.items(), vec![item]);
        }
    }
}

struct Page<const F: usize> {
    records: Vec<Placed<Sample<F>>>,
    more: bool,
    damaged: Option<Placed<DamagedBucket>>,
}

/// The first records of a walk, as an executor reads them.
fn page<const F: usize>(
    collection: &Collection,
    walk: &mut Walk<Sample<F>>,
    most: usize,
) -> Page<F> {
    let mut records = Vec::new();
    let mut damaged = None;
    let mut wanted = 2;
    loop {
        let found = collection.find(&walk.find(wanted));
        let mut came = 0;
        for stored in &found {
            came += 1;
            let ready = walk.take(stored);
            records.extend(ready.records);
            damaged = damaged.or(ready.damaged.into_iter().next());
            assert_eq!(walk.longer(), None);
            if records.len() > most || damaged.is_some() {
                break;
            }
        }
        if records.len() <= most && damaged.is_none() && came < wanted {
            let rest = walk.end();
            records.extend(rest.records);
            damaged = rest.damaged.into_iter().next();
            break;
        }
        if records.len() > most || damaged.is_some() {
            break;
        }
        wanted *= 2;
        assert!(wanted < 10_000, "the walk does not end");
    }
    let more = records.len() > most || damaged.is_some();
    records.truncate(most);
    Page {
        records,
        more,
        damaged,
    }
}

struct Query {
    newest_first: bool,
    range: TimeRange,
}

impl Query {
    fn walk<const F: usize>(&self, token: Option<&CursorToken>, before: bool) -> Walk<Sample<F>> {
        let longest = longest(Sample::<F>::SPEC, None).unwrap();
        let walk = Walk::new(vec![key(0)], longest)
            .newest_first(self.newest_first)
            .between(self.range, Live::default());
        match token {
            None => walk,
            Some(token) => walk.from_token(token, before).unwrap(),
        }
    }

    /// Every page from the token on: the records, and the ids of damaged buckets.
    fn pages<const F: usize>(
        &self,
        collection: &Collection,
        token: Option<CursorToken>,
        before: bool,
        limits: &[usize],
    ) -> (Vec<i64>, Vec<String>) {
        let paged = self.paged::<F>(collection, token, before, limits);
        (paged.seen, paged.bad)
    }

    fn paged<const F: usize>(
        &self,
        collection: &Collection,
        mut token: Option<CursorToken>,
        before: bool,
        limits: &[usize],
    ) -> Paged {
        let (mut seen, mut bad, mut stops) = (Vec::new(), Vec::new(), Vec::new());
        for turn in 0.. {
            assert!(turn < 2_000, "the pages do not end");
            let mut walk = self.walk::<F>(token.as_ref(), before);
            let tokens = walk.tokens();
            let page = page(collection, &mut walk, limits[turn % limits.len()]);
            seen.extend(page.records.iter().map(|placed| placed.record.unique));
            token = match (page.records.last(), page.damaged) {
                (None, Some(damaged)) => {
                    bad.push(damaged.record.id().to_owned());
                    stops.push((tokens.of(&damaged), seen.len()));
                    Some(tokens.of(&damaged))
                }
                (last, _) => last.filter(|_| page.more).map(|last| tokens.of(last)),
            };
            if token.is_none() {
                break;
            }
        }
        Paged { seen, bad, stops }
    }
}

/// What the pages of a walk gave.
struct Paged {
    seen: Vec<i64>,
    bad: Vec<String>,
    /// The token of each damaged bucket, and the number of records before it.
    stops: Vec<(CursorToken, usize)>,
}

/// A walk as a stream runs it.
fn all<const F: usize>(
    collection: &Collection,
    mut walk: Walk<Sample<F>>,
) -> (Vec<i64>, Vec<String>) {
    let (mut seen, mut bad) = (Vec::new(), Vec::new());
    let found = collection.find(&walk.find(0));
    let mut ready: Vec<_> = found.iter().map(|stored| walk.take(stored)).collect();
    ready.push(walk.end());
    for ready in ready {
        seen.extend(ready.records.iter().map(|placed| placed.record.unique));
        bad.extend(
            ready
                .damaged
                .iter()
                .map(|placed| placed.record.id().to_owned()),
        );
    }
    (seen, bad)
}

fn check<const F: usize>(
    plans: &[Vec<Drawn>],
    ways: &[Option<usize>],
    range: TimeRange,
    limits: &[usize],
) -> Result<(), TestCaseError> {
    let spec = Sample::<F>::SPEC;
    let mut collection = stored::<F>(plans);
    let of_key = |document: &Document| document.get_str("device").is_ok_and(|device| device == "0");
    let mut healthy = collection.documents();
    healthy.retain(of_key);
    let mut damaged = BTreeSet::new();
    let mut placeless: Vec<(String, Vec<DateTime>)> = Vec::new();
    let mut has_placeless = false;
    let mut without_part = BTreeSet::new();
    let ids: Vec<Bson> = healthy.iter().map(|one| one["_id"].clone()).collect();
    collection.damage(|documents| {
        for (id, way) in ids.iter().zip(ways) {
            let Some(way) = way else { continue };
            let same = |document: &Document| document.get("_id") == Some(id);
            healthy.retain(|document| !same(document));
            let of_bucket = |document: &&mut Document| same(document);
            let document = documents.iter_mut().find(of_bucket).unwrap();
            damage::<F>(document, *way);
            has_placeless |= matches!(way, 6..=11) && !spec.object_ids();
            has_placeless |= *way == 5 && matches!(spec.form(), Form::Numbered { .. });
            has_placeless |= *way == 5 && spec.object_ids();
            if spec.object_ids() && matches!((way, spec.form()), (12..=17, Form::Window { .. })) {
                // Pages name the first of those in one window.
                has_placeless |= !without_part.insert(document["bucket_start"].to_string());
            }
            damaged.insert(document["_id"].to_string());
            if matches!(way, 6..=11) && !spec.object_ids() {
                let items = document.get_array(spec.items()).unwrap().iter();
                let times =
                    items.map(|item| *item.as_document().unwrap().get_datetime("at").unwrap());
                placeless.push((document["_id"].to_string(), times.collect()));
            }
        }
    });
    let healthy = Collection::with(spec, healthy);
    for newest_first in [false, true] {
        let query = Query {
            newest_first,
            range,
        };
        let (expected, none) = all(&healthy, query.walk::<F>(None, false));
        prop_assert!(none.is_empty());
        let Paged { seen, bad, stops } = query.paged::<F>(&collection, None, false, limits);
        prop_assert_eq!(&seen, &expected);
        for (token, before) in stops {
            let (mut back, _) = query.pages::<F>(&collection, Some(token), true, limits);
            back.reverse();
            prop_assert_eq!(&back, &expected[..before]);
        }
        let (streamed, of_stream) = all(&collection, query.walk::<F>(None, false));
        prop_assert_eq!(&streamed, &expected);
        prop_assert!(of_stream.iter().all(|id| damaged.contains(id)));
        let is_among = |id: &String| id.ends_with(" is no id\"");
        if range == TimeRange::ALL {
            prop_assert_eq!(of_stream.len(), damaged.len());
        } else if !spec.object_ids() {
            // Those with records in the range: the dates of the others say that they have none.
            let is_in = |times: &Vec<DateTime>| times.iter().any(|time| range.contains(*time));
            let placeless = placeless.iter().filter(|(id, _)| !is_among(id));
            for (id, _) in placeless.filter(|(_, times)| spec.form().has_span() && is_in(times)) {
                prop_assert!(of_stream.contains(id), "{} {:?}", id, of_stream);
            }
        }
        // A page that starts elsewhere may skip a bucket without a position of its own.
        if !has_placeless {
            prop_assert_eq!(&bad, &of_stream);
        }
        prop_assert!(bad.iter().all(|id| of_stream.contains(id)));

        // And back, from the end.
        let mut walk = query.walk::<F>(None, false);
        let tokens = walk.tokens();
        let found = collection.find(&walk.find(0));
        let mut records: Vec<_> = found
            .iter()
            .flat_map(|stored| walk.take(stored).records)
            .collect();
        records.extend(walk.end().records);
        let Some(last) = records.last() else { continue };
        let end = tokens.just_after(&tokens.of(last)).unwrap();
        let Paged {
            mut seen, stops, ..
        } = query.paged::<F>(&collection, Some(end), true, limits);
        seen.reverse();
        prop_assert_eq!(&seen, &expected);
        for (token, after) in stops {
            let (forth, _) = query.pages::<F>(&collection, Some(token), false, limits);
            prop_assert_eq!(&forth, &expected[expected.len() - after..]);
        }

        // Nothing is between a record and the positions next to it.
        for (at, placed) in records.iter().enumerate() {
            let token = tokens.of(placed);
            let from = tokens.just_before(&token);
            let (seen, _) = query.pages::<F>(&healthy, from, false, limits);
            prop_assert_eq!(&seen, &expected[at..]);
            if let Some(from) = tokens.just_after(&token) {
                let (mut seen, _) = query.pages::<F>(&healthy, Some(from), true, limits);
                seen.reverse();
                prop_assert_eq!(&seen, &expected[..=at]);
            }
        }
    }
    Ok(())
}

fn plans() -> impl Strategy<Value = Vec<Vec<Drawn>>> {
    prop::collection::vec(prop::collection::vec(drawn(), 1..20), 1..4)
}

fn damages() -> impl Strategy<Value = Vec<Option<usize>>> {
    prop::collection::vec(prop::option::weighted(0.3, 0..19_usize), 30)
}

fn range() -> impl Strategy<Value = TimeRange> {
    let bound = || prop::option::weighted(0.7, (-4_000..9_000_i64).prop_map(DateTime::from_millis));
    let range = (bound(), bound()).prop_map(|bounds| match bounds {
        (Some(a), Some(b)) => TimeRange::new(Some(a.min(b)), Some(a.max(b))),
        (a, b) => TimeRange::new(a, b),
    });
    prop_oneof![Just(TimeRange::ALL), range]
}

fn limits() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1..9_usize, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_window_hides_no_other(plans in plans(), damages in damages(), range in range(), limits in limits()) {
        check::<WINDOW>(&plans, &damages, range, &limits)?;
        check::<WINDOW_CAPACITY>(&plans, &damages, range, &limits)?;
        check::<WINDOW_BYTES>(&plans, &damages, range, &limits)?;
        check::<WINDOW_OBJECT>(&plans, &damages, range, &limits)?;
        check::<PARTS>(&plans, &damages, range, &limits)?;
    }

    #[test]
    fn a_damaged_hybrid_bucket_hides_no_other(plans in plans(), damages in damages(), range in range(), limits in limits()) {
        check::<HYBRID_MERGE>(&plans, &damages, range, &limits)?;
        check::<HYBRID_SIDE>(&plans, &damages, range, &limits)?;
    }

    #[test]
    fn a_damaged_counted_bucket_hides_no_other(plans in plans(), damages in damages(), range in range(), limits in limits()) {
        check::<COUNT>(&plans, &damages, range, &limits)?;
        check::<COUNT_BYTES>(&plans, &damages, range, &limits)?;
        check::<NUMBERED>(&plans, &damages, range, &limits)?;
        check::<NUMBERED_OBJECT>(&plans, &damages, range, &limits)?;
    }
}

fn at(millis: i64) -> Drawn {
    Drawn {
        device: 0,
        at: millis,
        value: 1,
        level: None,
        code: String::new(),
    }
}

/// The index has it between the other buckets of its window.
#[test]
fn a_bucket_without_a_position_that_a_page_begins_with_hides_no_record_of_its_window() {
    let times = [1_000, 1_100, 1_200, 1_300, 1_400, 1_500, 1_600, 9_000];
    let plans = [times.map(at).to_vec()];
    for damaged in 0..3 {
        let mut ways = [None; 3];
        ways[damaged] = Some(6);
        for limit in 1..4 {
            check::<WINDOW_CAPACITY>(&plans, &ways, TimeRange::ALL, &[limit]).unwrap();
        }
    }
}

/// Walks over several buckets by time; one of them claims this end.
fn walked_by_time<const F: usize>(times: &[i64], end: i64) -> (Vec<i64>, Option<i64>) {
    let mut collection = stored::<F>(&[times.iter().copied().map(at).collect()]);
    collection.edit(|documents| {
        documents[0].insert("bucket_end", DateTime::from_millis(end));
    });
    let longest = longest(Sample::<F>::SPEC, None).unwrap();
    let start = DateTime::from_millis(*times.iter().min().unwrap());
    let mut walk = Walk::<Sample<F>>::new(vec![key(0)], longest)
        .order(WalkOrder::Time)
        .between(TimeRange::new(Some(start), None), Live::default());
    let mut seen = Vec::new();
    for stored in collection.find(&walk.find(0)) {
        seen.extend(walk.take(&stored).records);
    }
    seen.extend(walk.end().records);
    let seen = seen
        .iter()
        .map(|placed| placed.record.at.timestamp_millis());
    (seen.collect(), walk.longer())
}

const DAY: i64 = 86_400_000;

#[test]
fn an_impossible_window_end_is_not_learned() {
    let times = [20_671 * DAY + 61_000, 20_671 * DAY + 61_500];
    for end in [
        i64::MAX,
        times[0] + 40 * 365 * DAY,
        20_671 * DAY + 61_000 + 300 * DAY,
        times[0] + 17,
    ] {
        assert_eq!(
            walked_by_time::<WINDOW>(&times, end),
            (times.to_vec(), None),
            "{end}"
        );
    }
    // An end that may have belonged to a window is learned.
    let end = 20_671 * DAY + 122_000;
    let start = 20_671 * DAY;
    let (_, longer) = walked_by_time::<WINDOW>(&[start], start + DAY);
    assert_eq!(longer, Some(DAY));
    // A window of two minutes starts with an even minute.
    assert_eq!(walked_by_time::<WINDOW>(&times, end).1, None);
}

#[test]
fn a_hybrid_bucket_is_as_long_as_its_records() {
    let times = [20_671 * DAY, 20_671 * DAY + 500];
    let seen = walked_by_time::<HYBRID_MERGE>(&times, times[0] + 300 * DAY);
    assert_eq!(seen, (times.to_vec(), None));
}
