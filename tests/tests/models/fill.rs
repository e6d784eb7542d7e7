//! How full buckets are: every form against a naive count over the stored documents.
#![allow(clippy::cast_precision_loss, reason = "the numbers are small")]

mod naive;

use bucket_core::{Form, Record};
use bucket_mongo::{
    Bucketed, Buckets, EnsureReport, FillReport, Limits, Window,
    action::Amount,
    bson::{Bson, DateTime, Document, doc, oid::ObjectId},
    mongodb::options::{ReadConcern, UpdateModifications},
};
use bucket_tests::{Load, database, documents, profiled};
use futures_util::future::join_all;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use self::naive::naive;
use crate::common::{
    draw::Draw,
    filled::{filled, store},
    sample::{self, Sample, SampleKey},
};

/// Records around now, some of the future, so that a model with a limit takes them.
fn samples<const F: usize>(draw: &mut Draw, from: i64, number: usize) -> Vec<Sample<F>> {
    let seconds = prop_oneof![4 => -1_800..0_i64, 1 => 600..4_000_i64];
    drawn(draw, from, number, seconds)
}

/// Records of these seconds from now.
fn drawn<const F: usize>(
    draw: &mut Draw,
    from: i64,
    number: usize,
    seconds: impl Strategy<Value = i64>,
) -> Vec<Sample<F>> {
    let now = DateTime::now().timestamp_millis() / 1_000 * 1_000;
    let millis = (seconds, 0..3_i64).prop_map(|(seconds, part)| seconds * 1_000 + part * 300);
    let drawn = draw.draw(prop::collection::vec((0..3_u8, millis), number));
    (from..)
        .zip(drawn)
        .map(|(unique, (device, millis))| Sample {
            device: device.to_string(),
            at: DateTime::from_millis(now + millis),
            unique,
            value: unique,
            level: None,
            code: "x".repeat(usize::try_from(unique % 40).unwrap()),
        })
        .collect()
}

/// Removes some records of each key.
async fn remove_some<const F: usize>(buckets: &Buckets<Sample<F>>, draw: &mut Draw) -> u64 {
    let mut removed = 0;
    for key in buckets.keys().await.unwrap() {
        let page = buckets.records(key.clone()).with_refs().limit(40).await;
        for record in &page.unwrap() {
            if draw.draw(0..4) == 0 {
                let gone = buckets
                    .delete(key.clone(), &record.reference)
                    .await
                    .unwrap();
                removed += u64::from(gone.is_some());
            }
        }
    }
    removed
}

async fn is_as_counted_by_hand<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (database, buckets) = filled::<Sample<F>>(&[]).await;
    for round in 0..3 {
        let samples = samples::<F>(&mut draw, round * 100, 100);
        buckets.offer(&samples).await;
        let removed = remove_some(&buckets, &mut draw).await;
        assert!(removed > 0);
        let stored = documents(&database, "samples").await;
        let report = buckets.fill().await.unwrap();
        let expected = naive::<Sample<F>>(&stored, &report, |_| None);
        assert_eq!(report, expected, "form {F}");
        assert!(report.removed > 0 && report.buckets > 5 && report.damaged == 0);
        let of_keys = join_all(["0", "1", "2"].map(|device| {
            let query = buckets.fill().key(SampleKey(device.to_owned()));
            query.into_future()
        }));
        let mut sum = 0;
        for (device, report) in of_keys.await.into_iter().enumerate() {
            let report = report.unwrap();
            let device = device.to_string();
            let of_key = |one: &&Document| one.get_str("device").unwrap() == device;
            let stored: Vec<Document> = stored.iter().filter(of_key).cloned().collect();
            let expected = naive::<Sample<F>>(&stored, &report, |_| None);
            assert_eq!(report, expected, "key {device} of form {F}");
            sum += report.records;
        }
        assert_eq!(sum, report.records);
        // Limits that are those of the model change nothing.
        let limited = Sample::<F>::buckets(&database).with_limits(|_| Limits::new());
        let mut limited = limited.fill().await.unwrap();
        limited.expiry.clone_from(&report.expiry);
        assert_eq!(limited, report, "form {F}");
    }
}

macro_rules! forms {
    ($($test:ident: $($form:ident),+;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            $(is_as_counted_by_hand::<{ sample::$form }>(u8::try_from(sample::$form).unwrap()).await;)+
        }
    )*};
}

forms! {
    count_buckets_are_as_counted_by_hand: COUNT, COUNT_BYTES, COUNT_AVG, COUNT_RAISED, COUNT_IDS;
    windows_are_as_counted_by_hand: WINDOW, WINDOW_CAPACITY, WINDOW_BYTES, WINDOW_AVG, WINDOW_OBJECT, PARTS;
    hybrid_buckets_are_as_counted_by_hand: HYBRID_MERGE, HYBRID_SIDE, HYBRID_REJECT, HYBRID_BYTES, HYBRID_AVG;
    numbered_buckets_are_as_counted_by_hand: NUMBERED, NUMBERED_BYTES, NUMBERED_AVG, NUMBERED_OBJECT;
    buckets_that_expire_are_as_counted_by_hand:
        COUNT_EXPIRE, WINDOW_EXPIRE, HYBRID_EXPIRE, NUMBERED_EXPIRE, COUNT_AVG_EXPIRE, COUNT_BYTES_EXPIRE;
}

#[tokio::test]
async fn a_collection_without_buckets_is_empty_and_so_is_one_that_does_not_exist() {
    let database = database().await;
    let count = Sample::<{ sample::COUNT }>::buckets(&database);
    assert_eq!(count.fill().await.unwrap(), FillReport::default());
    count.ensure().await.unwrap();
    assert_eq!(count.fill().await.unwrap(), FillReport::default());
    let report = count.fill().key(SampleKey("a".into())).await.unwrap();
    assert_eq!(report, FillReport::default());
    let expiring = Sample::<{ sample::WINDOW_EXPIRE }>::buckets(&database);
    let expiry = expiring.fill().await.unwrap().expiry.unwrap();
    assert_eq!((expiry.overdue.buckets, expiry.steps.len()), (0, 0));
    assert_eq!(expiry.expire_after, sample::EXPIRE_AFTER);
}

/// The limits of the keys below.
fn limits_of(device: &str) -> Option<Limits> {
    match device {
        "0" => Some(Limits::new().capacity(2)),
        "1" => Some(Limits::new().capacity(9)),
        // Limits that no bucket can have: writers are refused, and readers go on with the model's.
        "2" => Some(Limits::new().capacity(0)),
        _ => None,
    }
}

async fn follows_the_limits_of_each_key<const F: usize>() {
    let mut draw = Draw::new(7);
    let (database, buckets) = filled::<Sample<F>>(&[]).await;
    let of_model = drawn::<F>(&mut draw, 0, 120, -20..-10_i64);
    buckets.load(&of_model).await;
    let buckets =
        Sample::<F>::buckets(&database).with_limits(|key| limits_of(&key.0).unwrap_or_default());
    let of_keys = drawn::<F>(&mut draw, 120, 200, -20..0_i64);
    let of_keys = of_keys.iter().filter(|sample| sample.device != "2");
    buckets.load(of_keys.cloned()).await;
    remove_some(&Sample::<F>::buckets(&database), &mut draw).await;
    let stored = documents(&database, "samples").await;
    let report = buckets.fill().await.unwrap();
    let expected = naive::<Sample<F>>(&stored, &report, limits_of);
    assert_eq!(report, expected, "form {F}");
    let capacity = report.capacity.unwrap();
    // Buckets of the model's capacity, of a key that has a smaller one now.
    assert!(capacity.most > 1.0 && capacity.by_percent.last().unwrap().to.is_none());
    let report = buckets.fill().key(SampleKey("1".into())).await.unwrap();
    let of_key = |one: &&Document| one.get_str("device").unwrap() == "1";
    let stored: Vec<Document> = stored.iter().filter(of_key).cloned().collect();
    assert_eq!(
        report,
        naive::<Sample<F>>(&stored, &report, limits_of),
        "form {F}"
    );
    let refused = buckets.fill().key(SampleKey("2".into())).await.unwrap_err();
    assert!(refused.to_string().contains("capacity"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_key_is_compared_with_its_own_capacity() {
    follows_the_limits_of_each_key::<{ sample::WINDOW_CAPACITY }>().await;
    follows_the_limits_of_each_key::<{ sample::WINDOW_OBJECT }>().await;
    follows_the_limits_of_each_key::<{ sample::HYBRID_MERGE }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_bucket_is_compared_with_the_capacity_that_it_stores() {
    let mut draw = Draw::new(8);
    let database = database().await;
    let buckets = Sample::<{ sample::NUMBERED }>::buckets(&database)
        .with_limits(|key| Limits::new().capacity(if key.0 == "0" { 2 } else { 20 }));
    buckets.ensure().await.unwrap();
    store(&buckets, &samples(&mut draw, 0, 200)).await;
    let stored = documents(&database, "samples").await;
    let report = buckets.fill().await.unwrap();
    let expected = naive::<Sample<{ sample::NUMBERED }>>(&stored, &report, |_| None);
    assert_eq!(report, expected);
    let capacity = report.capacity.unwrap();
    assert_eq!(capacity.used, 200);
    // The same for a handle that knows no limits.
    let other = Sample::<{ sample::NUMBERED }>::buckets(&database)
        .fill()
        .await
        .unwrap();
    assert_eq!(other.capacity, Some(capacity));
}

/// What another tool may have stored in the place of a bucket.
fn damages(form: Form) -> Vec<Document> {
    let mut all = vec![
        doc! { "count": "3" },
        doc! { "count": -1 },
        doc! { "count": 1.5 },
        doc! { "count": f64::NAN },
        doc! { "count": f64::INFINITY },
        doc! { "count": Bson::Null },
        doc! { "count": 99 },
        doc! { "items": "none" },
        doc! { "items": "none", "count": -1 },
        doc! { "items": { "0": 1 } },
        doc! { "_edits": { "number": 1, "removed": 77 } },
        doc! { "_edits": { "number": 1, "removed": -1 } },
        doc! { "_edits": { "number": 1, "removed": f64::NAN } },
    ];
    match form {
        Form::Window { .. } => all.extend([
            doc! { "bucket_end": "soon" },
            doc! { "bucket_start": Bson::Null },
        ]),
        Form::Hybrid { .. } => all.extend([
            doc! { "bucket_end": 5 },
            doc! { "is_closed": "no" },
            doc! { "is_closed": Bson::Null },
        ]),
        Form::Numbered { .. } => all.extend([
            doc! { "is_full": 1 },
            doc! { "bucket_size": 0 },
            doc! { "bucket_size": "10" },
            doc! { "bucket_size": 2.5 },
        ]),
        _ => {}
    }
    all
}

async fn counts_damage_apart<const F: usize>() {
    let mut draw = Draw::new(9);
    let (database, buckets) = filled::<Sample<F>>(&[]).await;
    buckets.load(&samples::<F>(&mut draw, 0, 300)).await;
    let collection = database.collection::<Document>("samples");
    // Some of them would not get past the indexes.
    collection.drop_indexes().await.unwrap();
    let mut damages = damages(Sample::<F>::SPEC.form());
    if Sample::<F>::SPEC.max_bytes().is_some() {
        damages.push(doc! { "bytes": "many" });
    }
    let stored = documents(&database, "samples").await;
    assert!(stored.len() > damages.len());
    for (damage, bucket) in damages.iter().zip(&stored) {
        let of = doc! { "_id": bucket.get("_id").unwrap() };
        let set = doc! { "$set": damage };
        collection.update_one(of, set).await.unwrap();
    }
    // Foreign documents, and one as large as any can be.
    collection
        .insert_one(doc! { "_id": "other" })
        .await
        .unwrap();
    let large = doc! { "_id": ObjectId::new(), "device": "x".repeat(16_000_000) };
    collection.insert_one(large).await.unwrap();
    let stored = documents(&database, "samples").await;
    let report = buckets.fill().await.unwrap();
    let bad = damages.len() as u64 + 2;
    assert_eq!(report.damaged, bad, "form {F}");
    let expected = naive::<Sample<F>>(&stored, &report, |_| None);
    assert_eq!(report, expected, "form {F}");
    let example = report.damaged_example.clone().unwrap();
    assert!(report.to_string().contains(&example[..4]), "{report}");
    let limited = buckets.clone().with_limits(|_| Limits::new());
    let mut limited = limited.fill().await.unwrap();
    limited.expiry.clone_from(&report.expiry);
    limited.damaged_example.clone_from(&report.damaged_example);
    assert_eq!(limited, report, "form {F}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_bucket_is_counted_apart_and_nowhere_else() {
    counts_damage_apart::<{ sample::COUNT }>().await;
    counts_damage_apart::<{ sample::COUNT_BYTES }>().await;
    counts_damage_apart::<{ sample::WINDOW_EXPIRE }>().await;
    counts_damage_apart::<{ sample::HYBRID_MERGE }>().await;
    counts_damage_apart::<{ sample::NUMBERED }>().await;
}

#[tokio::test]
async fn numbers_of_other_types_count_as_what_they_are() {
    let (database, buckets) =
        filled::<Sample<{ sample::COUNT }>>(&samples(&mut Draw::new(3), 0, 30)).await;
    let before = buckets.fill().await.unwrap();
    let collection = database.collection::<Document>("samples");
    let as_double = vec![doc! { "$set": { "count": { "$toDouble": "$count" } } }];
    let as_double = UpdateModifications::Pipeline(as_double);
    collection.update_many(doc! {}, as_double).await.unwrap();
    let after = buckets.fill().await.unwrap();
    assert_eq!((after.records, after.damaged), (before.records, 0));
    assert_eq!(after.capacity, before.capacity);
}

#[tokio::test]
async fn an_empty_bucket_of_a_writer_is_counted_apart() {
    let (database, buckets) =
        filled::<Sample<{ sample::COUNT }>>(&samples(&mut Draw::new(4), 0, 30)).await;
    let before = buckets.fill().await.unwrap();
    let collection = database.collection::<Document>("samples");
    // As a writer leaves it that reserved a bucket and stopped, and as it is once another one took it over.
    for (key, count) in [("9", Bson::Int64(0)), ("8", Bson::Int32(0))] {
        let mut empty = collection.find_one(doc! {}).await.unwrap().unwrap();
        empty.insert("device", key);
        empty.insert("_id", format!("{key}_99"));
        empty.insert("count", count);
        empty.insert("items", Vec::<Bson>::new());
        collection.insert_one(empty).await.unwrap();
    }
    let mut after = buckets.fill().await.unwrap();
    assert_eq!(after.empty, 2);
    after.empty = 0;
    assert_eq!(after, before);
}

trait Event: Bucketed + Clone {
    fn of(at: i64) -> Self;
}

macro_rules! events {
    ($($module:ident: [$($attributes:tt)*];)*) => {$(
        mod $module {
            events! { @one Without [$($attributes)*] }
            events! { @one Short [$($attributes)*, expire_after = "30d"] }
            events! { @one Long [$($attributes)*, expire_after = "400d"] }
        }
    )*};
    (@one $name:ident [$($attributes:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, bucket_mongo::Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: bucket_mongo::bson::DateTime,
        }

        impl super::Event for $name {
            fn of(at: i64) -> Self {
                let at = bucket_mongo::bson::DateTime::from_millis(at);
                Self { device: at.timestamp_millis() / 1_000 % 3, at }
            }
        }
    };
}

events! {
    counted: [capacity = 3];
    windows: [window = "1h", capacity = 3];
    hybrid: [capacity = 3, max_duration = "1d"];
    numbered: [capacity = 3, numbered];
}

const DAY: i64 = 86_400_000;

/// Stores records of the last 100 days with a long limit, and shortens it to 30 days.
async fn says_what_goes_when<Long: Event, Short: Event, Without: Event>() {
    let now = DateTime::now().timestamp_millis();
    let records: Vec<Long> = (0..200)
        .map(|n| Long::of(now - (200 - n) * DAY / 2 - n))
        .collect();
    let (database, long) = filled(&records).await;
    let report = long.fill().await.unwrap();
    let expiry = report.expiry.unwrap();
    assert_eq!(expiry.overdue, Amount::default());
    // 400 days are weeks.
    assert_eq!(expiry.step, 7 * 86_400);
    assert!(
        expiry.steps.len() <= 60 && expiry.steps.len() > 42,
        "{}",
        expiry.steps.len()
    );

    let short = Short::buckets(&database);
    let report = short.fill().await.unwrap();
    let stored = documents(&database, "events").await;
    assert_eq!(report, naive::<Short>(&stored, &report, |_| None));
    let expiry = report.expiry.as_ref().unwrap();
    assert_eq!(
        (expiry.step, expiry.at.timestamp_millis() >= now),
        (86_400, true)
    );
    assert!(expiry.overdue.buckets > 15, "{expiry}");
    let days = expiry.steps.iter().map(|step| step.removed.buckets);
    assert!(
        days.clone().filter(|buckets| *buckets > 0).count() > 8,
        "{expiry}"
    );
    for (number, step) in (0..).zip(&expiry.steps) {
        let from = expiry.at.timestamp_millis() + number * DAY;
        assert_eq!(step.from.timestamp_millis(), from);
        assert_eq!(step.until.timestamp_millis(), from + DAY);
    }
    assert_eq!(expiry.undated, Amount::default());
    let mut all = expiry.overdue.buckets + days.sum::<u64>() + expiry.later.buckets;
    all += expiry.open.buckets + expiry.hidden.buckets;
    assert_eq!(all, report.buckets);

    // `ensure` says the same of what would go at once.
    let drift: EnsureReport = short.ensure().await.unwrap();
    let removes = drift.drift.iter().find_map(|drift| match drift {
        bucket_core::Drift::Expiry { removes, .. } => *removes,
        _ => None,
    });
    let removes = removes.unwrap();
    assert_eq!(removes.buckets, expiry.overdue.buckets);
    assert_eq!(removes.records, expiry.overdue.records);
    // A handle whose model has no limit says nothing of it.
    let without = Without::buckets(&database).fill().await.unwrap();
    assert_eq!((without.buckets, without.expiry), (report.buckets, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_when_is_as_counted_by_hand_and_as_ensure_says() {
    says_what_goes_when::<counted::Long, counted::Short, counted::Without>().await;
    says_what_goes_when::<windows::Long, windows::Short, windows::Without>().await;
    says_what_goes_when::<hybrid::Long, hybrid::Short, hybrid::Without>().await;
    says_what_goes_when::<numbered::Long, numbered::Short, numbered::Without>().await;
}

#[tokio::test]
async fn buckets_from_before_the_limit_are_undated_until_ensure_dates_them() {
    let now = DateTime::now().timestamp_millis();
    let records: Vec<counted::Without> = (0..30).map(|n| Event::of(now - n * DAY * 3)).collect();
    let (database, _without) = filled(&records).await;
    let short = counted::Short::buckets(&database);
    let report = short.fill().await.unwrap();
    let expiry = report.expiry.unwrap();
    assert_eq!(expiry.undated.buckets, report.buckets);
    assert_eq!((expiry.overdue, expiry.open), Default::default());
    short.ensure().change_expiry().await.unwrap();
    // The server may remove some meanwhile.
    let expiry = short.fill().await.unwrap().expiry.unwrap();
    assert_eq!(expiry.undated, Amount::default());
}

#[tokio::test]
async fn an_open_bucket_past_the_limit_is_hidden_and_not_due() {
    let now = DateTime::now().timestamp_millis();
    let old: Vec<counted::Long> = (0..2)
        .map(|n| Event::of((now - 60 * DAY) / 3_000 * 3_000 + n))
        .collect();
    let (database, _long) = filled(&old).await;
    let short = counted::Short::buckets(&database);
    let report = short.fill().await.unwrap();
    let expiry = report.expiry.unwrap();
    assert_eq!((expiry.hidden.buckets, expiry.hidden.records), (1, 2));
    assert_eq!((expiry.open, expiry.overdue), Default::default());
    assert_eq!((report.records, report.open.buckets), (2, 1));
    assert_eq!(short.count(0_i64).await.unwrap(), 0);
}

fn sum(profile: &[Document], name: &str) -> i64 {
    let number = |found: &Document| found.get(name).map_or(0, whole);
    profile.iter().map(number).sum()
}

fn whole(value: &Bson) -> i64 {
    bucket_core::whole::of(value).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_bucket_is_read_once_and_a_key_by_its_index() {
    let (database, buckets) =
        filled::<Sample<{ sample::HYBRID_MERGE }>>(&samples(&mut Draw::new(5), 0, 400)).await;
    let stored = documents(&database, "samples").await;
    let of_key = |one: &&Document| one.get_str("device").unwrap() == "1";
    let of_key = i64::try_from(stored.iter().filter(of_key).count()).unwrap();
    let all = i64::try_from(stored.len()).unwrap();
    assert!(of_key > 10 && all > 2 * of_key);
    let (report, profile) = profiled(&database, "samples", buckets.fill().into_future()).await;
    assert_eq!(report.unwrap().buckets, all.unsigned_abs());
    assert_eq!(
        (sum(&profile, "docsExamined"), sum(&profile, "keysExamined")),
        (all, 0)
    );
    // The rows are few.
    assert!(sum(&profile, "nreturned") < 40, "{profile:?}");
    let of_one = buckets.fill().key(SampleKey("1".into()));
    let (report, profile) = profiled(&database, "samples", of_one.into_future()).await;
    assert_eq!(report.unwrap().buckets, of_key.unsigned_abs());
    assert_eq!(sum(&profile, "docsExamined"), of_key);
    assert!(sum(&profile, "keysExamined") <= of_key + 1, "{profile:?}");
    let plan = profile[0].get_str("planSummary").unwrap();
    assert_eq!(plan, "IXSCAN { device: 1, _id: 1 }");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_while_writers_are_at_work_is_a_state_of_each_bucket() {
    let (database, buckets) = filled::<Sample<{ sample::NUMBERED }>>(&[]).await;
    let writers = (0..4).map(|writer| {
        let buckets = buckets.clone();
        tokio::spawn(async move {
            let mut draw = Draw::new(20 + writer);
            for round in 0..15 {
                store(&buckets, &samples(&mut draw, round * 20, 20)).await;
                remove_some(&buckets, &mut draw).await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let mut before = 0;
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        let query = buckets.fill().read_concern(ReadConcern::snapshot());
        let report = query.await.unwrap();
        assert_eq!(report.damaged, 0);
        // At one moment, each key has one open bucket.
        assert!(report.open.buckets <= 3, "{report}");
        let places = report.records + report.removed;
        assert!(places >= before && places <= 1_200);
        assert_eq!(places, report.capacity.map_or(0, |of| of.used));
        before = places;
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let report = buckets.fill().await.unwrap();
    assert_eq!(report.records + report.removed, 1_200);
    let stored = documents(&database, "samples").await;
    assert_eq!(
        report,
        naive::<Sample<{ sample::NUMBERED }>>(&stored, &report, |_| None)
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "the rooms",
    items = "the items",
    count = "how many",
    capacity = 4
)]
#[bucket(
    bytes = "so large",
    max_bytes = "4KB",
    expire_after = "9d",
    expire_from = "aged from"
)]
struct Named {
    #[bucket(key)]
    #[serde(rename = "the room")]
    room: String,
    #[bucket(key)]
    floor: i64,
    #[bucket(time)]
    #[serde(rename = "the$time")]
    at: DateTime,
    #[bucket(min, avg = "avg")]
    degrees: f64,
    #[bucket(attribute(array = "tags", k = "colour"))]
    colour: Option<String>,
}

#[tokio::test]
async fn names_attributes_and_averages_of_a_model_change_nothing() {
    let now = DateTime::now().timestamp_millis();
    let records = (0..50_i64).map(|n| Named {
        room: format!("$r.{}", n % 2),
        floor: n % 3,
        at: DateTime::from_millis(now - n * 3_600_000),
        degrees: 0.5,
        colour: (n % 4 == 0).then(|| "red".to_owned()),
    });
    let records: Vec<Named> = records.collect();
    let (database, buckets) = filled(&records).await;
    let stored = documents(&database, "the rooms").await;
    let report = buckets.fill().await.unwrap();
    assert_eq!(report, naive::<Named>(&stored, &report, |_| None));
    assert_eq!((report.records, report.damaged), (50, 0));
    assert_eq!(report.expiry.as_ref().unwrap().step, 21_600);
    let json = serde_json_like(&report);
    assert!(
        json.contains_key("by_records") && json.contains_key("expiry"),
        "{json}"
    );
}

fn serde_json_like(report: &FillReport) -> Document {
    bucket_mongo::bson::serialize_to_document(report).unwrap()
}

#[tokio::test]
async fn windows_are_over_once_their_time_has_passed() {
    let now = DateTime::now().timestamp_millis();
    let hour = 3_600_000;
    let (start, _) = Window::hours(1).span(DateTime::from_millis(now + 2 * hour));
    let start = start.timestamp_millis();
    let times = [0, 3, 6, hour, -10 * hour, -10 * hour + 3, -20 * hour];
    let records = times.map(|at| windows::Without::of(start + at));
    let (_database, buckets) = filled(&records).await;
    let report = buckets.fill().await.unwrap();
    let states = [report.full, report.open, report.over];
    assert_eq!(
        states.map(|of| (of.buckets, of.records)),
        [(1, 3), (1, 1), (2, 3)]
    );
}
