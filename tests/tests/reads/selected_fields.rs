//! Some fields of each item instead of records: the same records in every read and form, and only
//! the requested fields.

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, FieldPath, Record,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database, profiled};
use futures_util::TryStreamExt;
use serde::Deserialize;

use crate::common::{
    draw::Draw,
    expected::{in_order, in_time, numbers},
    sample::{self, Sample},
};

/// Two of the fields, in another order, one of them as another type.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    code: String,
    unique: u32,
    at: DateTime,
}

const LEVEL: FieldPath = FieldPath::new("items.level");
const CODE: FieldPath = FieldPath::new("items.code");
const UNIQUE: FieldPath = FieldPath::new("items.unique");

fn points<const F: usize>(records: &[Sample<F>]) -> Vec<Point> {
    let point = |record: &Sample<F>| Point {
        code: record.code.clone(),
        unique: u32::try_from(record.unique).unwrap(),
        at: record.at,
    };
    records.iter().map(point).collect()
}

async fn every_read_gives_them<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    for chunk in draw.samples::<F>(0, 120).chunks(23) {
        buckets.offer(chunk).await;
    }
    let fields = [CODE, UNIQUE];

    let expected = points(&in_order(&buckets, "1").await);
    let select = || buckets.records("1").select::<Point>(fields);
    assert!(select().collect().await.unwrap() == expected);
    let streamed: Vec<Point> = select().stream().try_collect().await.unwrap();
    assert!(streamed == expected);
    let mut paged = Vec::new();
    let mut token = None;
    loop {
        let page = select().limit(7).after(token).await.unwrap();
        token = page.next_token().cloned();
        paged.extend(page);
        if token.is_none() {
            break;
        }
    }
    assert!(paged == expected);
    // A token does not depend on the selected fields.
    let first = buckets.records("1").limit(5).await.unwrap();
    let behind = select()
        .after(first.end_token().cloned())
        .limit(1)
        .await
        .unwrap();
    assert_eq!(behind.records(), &expected[5..6]);

    for _ in 0..8 {
        let range = draw.range();
        let expected = points(&in_time(&buckets, "1", range).await);
        let found = buckets.range("1", range).select::<Point>(fields).await;
        assert!(found.unwrap() == expected, "{range:?}");
        let both = buckets.range_many(["0", "1"], range);
        let both = numbers(&both.await.unwrap());
        let found = buckets
            .range_many(["0", "1"], range)
            .select::<Point>(fields);
        let found = found.await.unwrap().into_iter();
        let found: Vec<i64> = found.map(|point| point.unique.into()).collect();
        assert_eq!(found, both, "{range:?}");
    }
}

macro_rules! forms {
    ($($name:ident: $form:ident, $seed:literal;)+) => {
        mod every_read_gives_them_of {
            $(
                #[tokio::test]
                async fn $name() {
                    super::every_read_gives_them::<{ super::sample::$form }>($seed).await;
                }
            )+
        }
    };
}

forms! {
    count: COUNT, 1;
    count_by_bytes: COUNT_BYTES, 2;
    windows: WINDOW, 3;
    windows_with_a_capacity: WINDOW_CAPACITY, 4;
    windows_by_bytes: WINDOW_BYTES, 5;
    windows_with_object_ids: WINDOW_OBJECT, 6;
    hybrid: HYBRID_MERGE, 7;
    hybrid_with_late_ones_aside: HYBRID_SIDE, 8;
    numbered: NUMBERED, 9;
    numbered_with_object_ids: NUMBERED_OBJECT, 10;
    record_ids: COUNT_IDS, 11;
}

async fn filled() -> (
    bucket_mongo::testing::TestDatabase,
    Buckets<Sample<{ sample::WINDOW }>>,
) {
    let database = database().await;
    let buckets = Sample::buckets(&database);
    buckets.ensure().await.unwrap();
    let samples = Draw::new(20).samples(0, 60);
    buckets.load(samples).await;
    (database, buckets)
}

#[tokio::test]
async fn the_server_sends_only_these_fields_and_the_time() {
    let (database, buckets) = filled().await;
    let read = async |fields: &[FieldPath]| {
        let fields = fields.to_vec();
        let read = async { buckets.range("1", ..).select::<Document>(fields).await };
        let spec = Sample::<{ sample::WINDOW }>::SPEC;
        let (items, profile) = profiled(&database, spec.collection(), read).await;
        let sent: i64 = profile
            .iter()
            .map(|each| i64::from(each.get_i32("responseLength").unwrap()))
            .sum();
        (items.unwrap(), sent)
    };
    let (items, sent_of_one) = read(&[LEVEL]).await;
    for item in &items {
        let others = item
            .keys()
            .find(|name| !["level", "at"].contains(&name.as_str()));
        assert_eq!(others, None, "{item}");
    }
    let names = ["at", "unique", "value", "level", "code"];
    let all = names.map(|name| FieldPath::new(String::leak(format!("items.{name}"))));
    let (_, sent_of_all) = read(&all).await;
    assert!(
        sent_of_one < sent_of_all,
        "{sent_of_one} of {sent_of_all} bytes"
    );
}

#[tokio::test]
async fn nested_paths_and_paths_outside_of_items_and_key_are_ignored() {
    let (_database, buckets) = filled().await;
    let fields = [
        "items.level",
        "items.level.deeper",
        "items.at.day",
        "device",
        "stats",
    ];
    let select = buckets
        .range("1", ..)
        .select::<Document>(fields.map(FieldPath::new));
    let items = select.await.unwrap();
    assert!(!items.is_empty());
    for item in items {
        assert!(item.keys().eq(["device", "at", "level"]), "{item}");
    }
}

#[tokio::test]
async fn a_field_of_another_type_is_an_error_that_names_bucket_and_item() {
    #[derive(Debug, Deserialize)]
    struct Wrong {
        #[expect(dead_code, reason = "never read")]
        code: i64,
    }
    let (_database, buckets) = filled().await;
    let error = buckets
        .range("1", ..)
        .select::<Wrong>([CODE])
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("item 0"), "{text}");

    // An item without a time has no position.
    let collection = buckets.collection::<Document>();
    let unset = doc! { "$unset": { "items.0.at": 1 } };
    collection.update_many(doc! {}, unset).await.unwrap();
    let level = buckets
        .range_many(["0", "1"], ..)
        .select::<Document>([LEVEL]);
    let error = level.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error:?}");
}
