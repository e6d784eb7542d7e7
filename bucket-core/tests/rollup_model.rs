//! Rollups of random ranges and steps over every form, against the records that are stored.
#![cfg(feature = "time-zones")]
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
#[path = "common/projection.rs"]
mod projection;
#[path = "common/sample.rs"]
mod sample;
#[path = "common/writer.rs"]
mod writer;

use bson::{DateTime, Document, RawDocumentBuf};
use bucket_core::{
    BucketId, Form, Interval, IntoTimeRange, Limits, Record, TimeRange, Window,
    bucket::{self, BucketFields},
    error::RollupError,
    read::{Live, RollupReader, RollupSteps, RollupTotals},
    write::Batch,
};
use proptest::prelude::*;

use self::{
    collection::Collection,
    drawn::{Drawn, drawn},
    sample::{
        COUNT, COUNT_IDS, HYBRID_BYTES, HYBRID_MERGE, HYBRID_SIDE, NUMBERED, NUMBERED_OBJECT,
        PARTS, Sample, SampleBucket, SampleItem, SampleKey, WINDOW, WINDOW_BYTES, WINDOW_CAPACITY,
        WINDOW_OBJECT,
    },
    writer::store,
};

/// The records of a test are around this moment, and so are its ranges.
#[derive(Debug, Clone)]
struct Case {
    plans: Vec<Vec<Drawn>>,
    queries: Vec<(TimeRange, Interval)>,
}

fn date(text: &str) -> i64 {
    DateTime::parse_rfc3339_str(text)
        .unwrap()
        .timestamp_millis()
}

/// Where days, weeks and months begin, in UTC and in zones, around changes of the clocks, and before
/// 1970.
fn moments() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => Just(0),
        1 => Just(date("2026-03-29T01:00:00Z")),
        1 => Just(date("2026-10-24T22:00:00Z")),
        1 => Just(date("2024-02-29T00:00:00Z")),
        1 => Just(date("2025-12-31T23:00:00Z")),
        1 => Just(date("1969-12-31T23:00:00Z")),
        1 => Just(date("1900-01-01T00:00:00Z")),
        // Apia has no 2011-12-30.
        1 => Just(date("2011-12-30T10:00:00Z")),
        1 => Just(date("9999-12-31T23:59:59Z")),
    ]
}

fn zoned() -> impl Strategy<Value = Interval> {
    let zone = prop_oneof![
        Just("UTC"),
        Just("Europe/Berlin"),
        Just("America/New_York"),
        Just("Australia/Lord_Howe"),
        Just("Pacific/Apia"),
        Just("Asia/Kolkata"),
    ];
    let every = prop_oneof![
        Just(Interval::day()),
        Just(Interval::week()),
        Just(Interval::month())
    ];
    (every, zone).prop_map(|(every, zone)| every.in_zone(zone).unwrap())
}

fn every() -> impl Strategy<Value = Interval> {
    prop_oneof![
        // The window of the models is a second.
        3 => Just(Interval::seconds(1)),
        6 => (2..10_u32).prop_map(Interval::seconds),
        1 => Just(Interval::hours(1)),
        1 => Just(Interval::quarter()),
        1 => Just(Interval::year()),
        4 => zoned(),
    ]
}

fn query() -> impl Strategy<Value = (TimeRange, Interval)> {
    let bound = || {
        prop_oneof![
            3 => -4_000..9_000_i64,
            2 => (-4..9_i64).prop_map(|second| second * 1_000),
        ]
    };
    (bound(), bound(), every()).prop_map(|(one, other, every)| {
        let [start, end] = [one.min(other), one.max(other)].map(DateTime::from_millis);
        ((start..end).into_time_range(), every)
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let plans = prop::collection::vec(prop::collection::vec(drawn(), 1..30), 1..5);
    let queries = prop::collection::vec(query(), 1..6);
    (plans, queries, moments()).prop_map(|(mut plans, mut queries, moment)| {
        for drawn in plans.iter_mut().flatten() {
            drawn.at = drawn.at.saturating_add(moment);
        }
        for (range, _) in &mut queries {
            let [start, end] = [range.start(), range.end()]
                .map(|bound| DateTime::from_millis(bound.unwrap().timestamp_millis() + moment));
            *range = (start..end).into_time_range();
        }
        Case { plans, queries }
    })
}

/// The buckets that several writers store, one after the other.
fn stored<const F: usize>(plans: &[Vec<Drawn>], limits: Option<Limits>) -> Collection {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    for (number, plan) in plans.iter().enumerate() {
        let mut batch = Batch::of::<Sample<F>>();
        for (index, drawn) in plan.iter().enumerate() {
            let sample = drawn.sample::<F>(number * 1_000 + index);
            batch.push_with(index, &sample, limits).unwrap();
        }
        store(batch, &mut collection);
    }
    collection
}

/// The rollup, and the buckets that came with items.
fn rollup<const F: usize>(
    collection: &Collection,
    key: &SampleKey,
    limits: Option<Limits>,
    (range, every): &(TimeRange, Interval),
) -> (RollupTotals, Vec<Document>) {
    let steps = RollupSteps::new(*range, every).unwrap();
    let mut reader =
        RollupReader::<Sample<F>>::new(key.clone(), &steps, limits, 0, Live::default()).unwrap();
    let documents = collection.documents();
    let mut opened = Vec::new();
    let mut plans = 0;
    while let Some(plan) = reader.next_plan() {
        plans += 1;
        for found in projection::find(collection, &plan) {
            reader.take(&found).unwrap();
            let sent = Document::try_from(found).unwrap();
            if sent.contains_key("items") {
                let same = |document: &&Document| document.get("_id") == sent.get("_id");
                opened.push(documents.iter().find(same).unwrap().clone());
            }
        }
    }
    assert!(plans <= 2, "the second read requests everything at once");
    assert_eq!(reader.longer(), None);
    (reader.finish().unwrap(), opened)
}

/// A bucket that would hold exactly these items.
fn of_items<const F: usize>(
    key: &SampleKey,
    items: Vec<SampleItem>,
    stats: bucket_core::stats::StoredStats,
) -> SampleBucket<F> {
    SampleBucket {
        id: BucketId::first(key, DateTime::from_millis(0)),
        key: key.clone(),
        count: u32::try_from(items.len()).unwrap(),
        fields: BucketFields::default(),
        stats,
        items,
    }
}

fn check_limited<const F: usize>(case: &Case, limits: Option<Limits>) -> Result<(), TestCaseError> {
    let collection = stored::<F>(&case.plans, limits);
    let mut all: Vec<SampleBucket<F>> = Vec::new();
    for document in &collection.documents() {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        all.push(bucket::decode::<Sample<F>>(&raw).unwrap());
    }
    for (device, query) in ["0", "1"]
        .into_iter()
        .flat_map(|key| case.queries.iter().map(move |query| (key, query)))
    {
        let (range, every) = query;
        let key = SampleKey(device.to_owned());
        let (found, opened) = rollup::<F>(&collection, &key, limits, query);
        let of_key: Vec<_> = all.iter().filter(|bucket| bucket.key == key).collect();
        let items = || of_key.iter().flat_map(|bucket| &bucket.items);
        let inside = |item: &SampleItem| range.contains(item.at);
        let with_records = of_key
            .iter()
            .filter(|bucket| bucket.items.iter().any(inside));
        prop_assert_eq!(found.buckets, u64::try_from(with_records.count()).unwrap());
        // Neighbours touch, and the range is covered.
        let bounds: Vec<_> = found
            .steps
            .iter()
            .map(|step| (step.start, step.end))
            .collect();
        prop_assert!(bounds.windows(2).all(|pair| pair[0].1 == pair[1].0));
        if let (Some(first), Some(last)) = (bounds.first(), bounds.last()) {
            prop_assert!(first.0 <= range.start().unwrap() && last.1 >= range.end().unwrap());
        } else {
            prop_assert!(range.is_empty());
        }
        for step in found.steps {
            prop_assert_eq!(every.span(step.start), (step.start, step.end));
            let of_step =
                |item: &&SampleItem| inside(item) && (step.start <= item.at && item.at < step.end);
            let items: Vec<SampleItem> = items().filter(of_step).cloned().collect();
            prop_assert_eq!(step.count, u64::try_from(items.len()).unwrap());
            match step.stats {
                None => prop_assert!(items.is_empty()),
                Some(stats) => naive::check(&of_items::<F>(&key, items, stats)),
            }
        }
        let once = limits.is_some();
        check_opened::<F>(&opened, query, once)?;
    }
    Ok(())
}

fn check<const F: usize>(case: &Case) -> Result<(), TestCaseError> {
    check_limited::<F>(case, None)
}

/// Only buckets that a bound of the range or of a step cuts come with their items, and only once.
fn check_opened<const F: usize>(
    opened: &[Document],
    (range, every): &(TimeRange, Interval),
    may_open_all: bool,
) -> Result<(), TestCaseError> {
    let mut ids: Vec<String> = Vec::new();
    for document in opened {
        let date = |name| *document.get_datetime(name).unwrap();
        let (first, last) = match Sample::<F>::SPEC.form() {
            Form::Window { .. } => {
                let last = date("bucket_end").timestamp_millis() - 1;
                (date("bucket_start"), DateTime::from_millis(last))
            }
            Form::Hybrid { .. } => (date("bucket_start"), date("bucket_end")),
            _ => (date("first_at"), date("last_at")),
        };
        let is_cut = may_open_all
            || !range.contains(first)
            || !range.contains(last)
            || every.span(first) != every.span(last);
        prop_assert!(is_cut, "{} is opened", document);
        ids.push(document.get("_id").unwrap().to_string());
    }
    let number = ids.len();
    ids.sort();
    ids.dedup();
    prop_assert_eq!(ids.len(), number);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn rollups_of_windows_are_those_of_the_records(case in cases()) {
        check::<WINDOW>(&case)?;
        check::<WINDOW_CAPACITY>(&case)?;
        check::<WINDOW_BYTES>(&case)?;
        check::<WINDOW_OBJECT>(&case)?;
        check::<PARTS>(&case)?;
    }

    /// The items of all buckets are requested at once, or only those of cut buckets.
    #[test]
    fn rollups_of_windows_that_steps_cut_are_those_of_the_records(case in cases(), seconds in 2..5_u32) {
        let limits = Some(Limits::new().window(Window::seconds(seconds)));
        check_limited::<WINDOW>(&case, limits)?;
        check_limited::<WINDOW_BYTES>(&case, limits)?;
        check_limited::<WINDOW_OBJECT>(&case, limits)?;
    }

    #[test]
    fn rollups_of_hybrid_buckets_are_those_of_the_records(case in cases()) {
        check::<HYBRID_MERGE>(&case)?;
        check::<HYBRID_SIDE>(&case)?;
        check::<HYBRID_BYTES>(&case)?;
    }

    #[test]
    fn rollups_of_counted_buckets_are_those_of_the_records(case in cases()) {
        check::<COUNT>(&case)?;
        check::<COUNT_IDS>(&case)?;
        check::<NUMBERED>(&case)?;
        check::<NUMBERED_OBJECT>(&case)?;
    }
}

/// Writes continue between the two reads: each bucket is read at one moment.
#[test]
fn a_bucket_that_is_read_again_counts_as_it_is_then() {
    let cut = [-50, 0, 400].into_iter().map(Drawn::at).collect();
    let mut collection = stored::<HYBRID_MERGE>(&[cut], None);
    let key = SampleKey("0".to_owned());
    let day = 86_400_000;
    let range = DateTime::from_millis(-day)..DateTime::from_millis(day);
    let steps = RollupSteps::new(range.into_time_range(), &Interval::day()).unwrap();
    let mut reader =
        RollupReader::<Sample<HYBRID_MERGE>>::new(key, &steps, None, 0, Live::default()).unwrap();
    let mut plans = 0;
    while let Some(plan) = reader.next_plan() {
        plans += 1;
        for found in projection::find(&collection, &plan) {
            reader.take(&found).unwrap();
        }
        let mut batch = Batch::of::<Sample<HYBRID_MERGE>>();
        let more = Drawn::at(300 + plans).sample::<HYBRID_MERGE>(77);
        batch.push(0, &more).unwrap();
        store(batch, &mut collection);
    }
    assert_eq!(plans, 2);
    let found = reader.finish().unwrap();
    let counts: Vec<u64> = found.steps.iter().map(|step| step.count).collect();
    assert_eq!(counts, [1, 3]);
    assert_eq!((found.buckets, found.opened), (1, 1));
}

#[test]
fn bounds_and_numbers_of_steps_are_checked_before_steps_are_made() {
    let date = DateTime::from_millis;
    let steps = |range: TimeRange, every: Interval| {
        RollupSteps::new(range, &every).map(|steps| steps.len())
    };
    assert_eq!(
        steps((date(0)..).into_time_range(), Interval::day()),
        Err(RollupError::Unbounded)
    );
    assert_eq!(
        steps((..date(0)).into_time_range(), Interval::day()),
        Err(RollupError::Unbounded)
    );
    let reversed = (date(1)..date(0)).into_time_range();
    assert_eq!(steps(reversed, Interval::day()), Err(RollupError::Reversed));
    assert_eq!(
        steps((date(1)..date(1)).into_time_range(), Interval::day()),
        Ok(0)
    );
    let most = (date(0)..date(100_000_000)).into_time_range();
    assert_eq!(steps(most, Interval::seconds(1)), Ok(100_000));
    let more = (date(0)..date(100_000_001)).into_time_range();
    let refused = RollupError::TooManySteps {
        steps: 100_001,
        most: 100_000,
    };
    assert_eq!(steps(more, Interval::seconds(1)), Err(refused));
    assert!(matches!(
        steps(most, Interval::seconds(0)),
        Err(RollupError::Step(_))
    ));
    let all = (DateTime::MIN..DateTime::MAX).into_time_range();
    assert!(matches!(
        steps(all, Interval::year()),
        Err(RollupError::TooManySteps { .. })
    ));
}

#[test]
fn no_command_of_a_rollup_exceeds_the_servers_limit_even_with_long_keys() {
    let collection = stored::<COUNT>(&[vec![Drawn::at(500), Drawn::at(1_500)]], None);
    let range = (DateTime::from_millis(0)..DateTime::from_millis(2_000)).into_time_range();
    let steps = RollupSteps::new(range, &Interval::seconds(1)).unwrap();
    let key = SampleKey("0".to_owned());
    let mut reader =
        RollupReader::<Sample<COUNT>>::new(key, &steps, None, 0, Live::default()).unwrap();
    let plan = reader.next_plan().unwrap();
    let mut bucket = Document::try_from(projection::find(&collection, &plan).remove(0)).unwrap();
    let long = "k".repeat(2_000);
    for number in 0..8_800 {
        bucket.insert("_id", format!("{long}_{number:010}"));
        let sent = RawDocumentBuf::try_from(&bucket).unwrap();
        reader.take(&sent).unwrap();
    }
    let (mut ids, mut commands) = (0, 0);
    while let Some(plan) = reader.next_plan() {
        commands += 1;
        let bytes = plan.filter.as_bytes().len();
        assert!(bytes < 8 * 1024 * 1024, "{bytes} bytes in one command");
        let filter = Document::try_from(plan.filter).unwrap();
        let of_id = filter.get_document("_id").unwrap();
        ids += of_id.get_array("$in").unwrap().len();
    }
    assert_eq!(ids, 8_800);
    assert!(commands < 10, "{commands} commands");
}
