//! Records with attributes: in the items of every form of bucket, and held once by the bucket for
//! all its items.

use std::collections::{BTreeMap, BTreeSet};

use bucket_mongo::{
    Bucketed, Buckets, Interval,
    bson::{Bson, DateTime, Document, doc},
    mongodb::Collection,
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

/// A record with both kinds of arrays.
trait Part: Bucketed + Clone + PartialEq + std::fmt::Debug {
    fn of(machine: &str, at: i64, number: i64) -> Self;
    fn press() -> Self::Key;
    fn number(&self) -> i64;
    fn sum(stats: &Self::Stats) -> Option<i64>;
    fn grams(&self) -> Option<i32>;
    fn site(&self) -> &str;
    /// A condition on the least weight, and one on the site.
    fn heavy(grams: i32) -> Document;
    fn at_site(site: &str) -> Document;
}

#[derive(Debug, Deserialize, PartialEq)]
struct Point {
    number: i64,
    grams: Option<i32>,
    site: String,
}

macro_rules! models {
    ($($test:ident $name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "parts", items = "items", $($attributes)*)]
        #[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
        struct $name {
            #[bucket(key)]
            machine: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            number: i64,
            #[bucket(sum, max, attribute(array = "specs", k = "weight", u = "g", factor = 1))]
            grams: Option<i32>,
            #[bucket(attribute(array = "specs", k = "weight", u = "oz", factor = 28.35))]
            ounces: Option<i32>,
            #[bucket(attribute(array = "specs", k = "length", u = "mm"))]
            length: i64,
            #[bucket(attribute(array = "specs", rest))]
            others: BTreeMap<String, String>,
            #[bucket(attribute(array = "origin", k = "site"))]
            site: String,
            #[bucket(attribute(array = "origin", k = "line"))]
            line: Option<i32>,
            note: String,
        }

        impl Part for $name {
            fn of(machine: &str, at: i64, number: i64) -> Self {
                let others = (number % 3 == 0).then(|| ("$colour.of".to_owned(), "a_^".to_owned()));
                Self {
                    machine: machine.to_owned(),
                    at: DateTime::from_millis(at),
                    number,
                    grams: (number % 4 != 0).then_some(i32::try_from(number).unwrap() * 10),
                    ounces: (number % 5 == 0).then_some(i32::try_from(number).unwrap()),
                    length: -number,
                    others: others.into_iter().collect(),
                    // Sometimes different from that of the records before.
                    site: if number % 13 == 3 { "$site".to_owned() } else { "Ulm".to_owned() },
                    line: (number % 11 != 5).then_some(1),
                    note: format!("no. {number}"),
                }
            }

            fn press() -> Self::Key {
                "press".to_owned().into()
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn grams(&self) -> Option<i32> {
                self.grams
            }

            fn site(&self) -> &str {
                &self.site
            }

            fn sum(stats: &Self::Stats) -> Option<i64> {
                stats.sum()
            }

            fn heavy(grams: i32) -> Document {
                $name::specs().weight().g().gte(grams).into()
            }

            fn at_site(site: &str) -> Document {
                $name::origin().site().eq(site).into()
            }
        }

        mod $test {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn every_read_returns_what_was_stored() {
                super::every_read_returns_what_was_stored::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_of_other_attributes_share_buckets_and_confuse_nothing() {
                super::writers_of_other_attributes_share_buckets_and_confuse_nothing::<$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn a_redelivered_record_is_a_duplicate_wherever_its_attributes_are() {
                super::a_redelivered_record_is_a_duplicate_wherever_its_attributes_are::<$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted: [capacity = 4];
    counted_bytes CountedBytes: [capacity = 100, max_bytes = "1KB"];
    windowed Windowed: [window = "10m", capacity = 4];
    windowed_objects WindowedObjects: [window = "10m", object_ids];
    hybrid Hybrid: [capacity = 4, max_duration = "10m"];
    numbered Numbered: [capacity = 4, numbered];
    numbered_objects NumberedObjects: [capacity = 4, numbered, object_ids];
}

/// 2023-11-14 22:10.
const START: i64 = 1_699_999_800_000;
const MINUTE: i64 = 60_000;

fn records<T: Part>(machine: &str, numbers: std::ops::Range<i64>) -> Vec<T> {
    numbers
        .map(|number| T::of(machine, START + number * MINUTE, number))
        .collect()
}

async fn parts<T: Part>() -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let parts = T::buckets(&database);
    parts.ensure().await.unwrap();
    (database, parts)
}

fn sorted<T: Part>(mut records: Vec<T>) -> Vec<T> {
    records.sort_by_key(T::number);
    records
}

async fn every_read_returns_what_was_stored<T: Part>() {
    let (_database, parts) = parts::<T>().await;
    let all: Vec<T> = records("press", 0..40);
    for record in &all[..10] {
        parts.insert(record).await.unwrap();
    }
    parts.load(&all[10..]).await;
    let key = T::press;

    let read: Vec<T> = parts.range(key(), ..).await.unwrap();
    assert_eq!(sorted(read), all);
    let some =
        DateTime::from_millis(START + 5 * MINUTE)..DateTime::from_millis(START + 13 * MINUTE);
    let read: Vec<T> = parts.range(key(), some.clone()).await.unwrap();
    assert_eq!(sorted(read), all[5..13]);
    let latest = parts.latest(key()).await.unwrap();
    assert_eq!(latest.as_ref(), all.last());
    let latest = parts.latest_per_key().stream();
    let latest: Vec<T> = latest.try_collect().await.unwrap();
    assert_eq!(latest, all[39..]);
    let streamed: Vec<T> = parts.records(key()).stream().try_collect().await.unwrap();
    assert_eq!(sorted(streamed), all);

    // Fields of each record are read by name, whichever array they are in.
    let fields = ["items.number", "items.specs", "origin"].map(bucket_mongo::FieldPath::new);
    let points: Vec<Point> = parts.range(key(), ..).select(fields).await.unwrap();
    for (point, record) in points
        .iter()
        .zip(&sorted(parts.range(key(), ..).await.unwrap()))
    {
        let whole = bucket_mongo::bson::serialize_to_document(record).unwrap();
        assert_eq!(point.number, whole.get_i64("number").unwrap());
        assert_eq!(point.grams, whole.get_i32("grams").ok());
        assert_eq!(point.site, whole.get_str("site").unwrap());
    }

    let stats = parts.stats(key(), ..).await.unwrap().unwrap();
    let sum = |records: std::ops::Range<i64>| -> i64 {
        records
            .filter(|number| number % 4 != 0)
            .map(|number| number * 10)
            .sum()
    };
    assert_eq!(
        (stats.count(), T::sum(stats.stats())),
        (40, Some(sum(0..40)))
    );
    let stats = parts.stats(key(), some.clone()).await.unwrap().unwrap();
    assert_eq!(
        (stats.count(), T::sum(stats.stats())),
        (8, Some(sum(5..13)))
    );
    let pipeline = parts.stats(key(), some.clone()).pipeline().unwrap();
    let found = parts
        .collection::<Document>()
        .aggregate(pipeline)
        .await
        .unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let of_server = found[0].get_document("stats").unwrap();
    assert_eq!(whole(of_server.get("sum").unwrap()), sum(5..13));

    let steps = DateTime::from_millis(START)..DateTime::from_millis(START + 40 * MINUTE);
    let rollup = parts
        .rollup(key(), steps, Interval::minutes(5))
        .await
        .unwrap();
    for (at, row) in (0_i64..).zip(rollup.rows()) {
        assert_eq!(row.stats().and_then(T::sum), Some(sum(at * 5..at * 5 + 5)));
    }
    what_the_filters_find(&parts, &all).await;
}

/// Filters select buckets; after the stages of a range they select records.
async fn what_the_filters_find<T: Part>(parts: &Buckets<T>, all: &[T]) {
    let buckets = parts.collection::<Document>();
    for (filter, index, expected) in [
        (
            T::heavy(300),
            "attributes_specs",
            numbers(all, |it| it.grams() >= Some(300)),
        ),
        (
            T::at_site("$site"),
            "attributes_origin",
            numbers(all, |it| it.site() == "$site"),
        ),
    ] {
        let explain = doc! {
            "explain": { "find": "parts", "filter": filter.clone() }, "verbosity": "executionStats",
        };
        let plan = parts.database().run_command(explain).await.unwrap();
        let plan = plan.get_document("queryPlanner").unwrap().to_string();
        assert!(plan.contains(index) && !plan.contains("COLLSCAN"), "{plan}");
        let found = found(&buckets, filter.clone()).await;
        assert!(expected.is_subset(&found), "{expected:?} of {found:?}");
        assert!(found.len() < all.len());

        let range = parts.range(T::press(), ..);
        let mut stages = range.pipeline().unwrap();
        stages.push(doc! { "$unwind": "$items" });
        stages.push(doc! { "$match": filter });
        let records = buckets.aggregate(stages).await.unwrap();
        let records: Vec<Document> = records.try_collect().await.unwrap();
        let of_each = records.iter().map(|it| it.get_document("items").unwrap());
        let found: BTreeSet<i64> = of_each.map(|it| it.get_i64("number").unwrap()).collect();
        assert_eq!(found, expected);
    }
}

fn numbers<T: Part>(all: &[T], is: impl Fn(&T) -> bool) -> BTreeSet<i64> {
    let records = all.iter().filter(|record| is(record));
    records.map(T::number).collect()
}

/// The records of the buckets that a filter matches.
async fn found(buckets: &Collection<Document>, filter: Document) -> BTreeSet<i64> {
    let found = buckets.find(filter).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    let items = found.iter().flat_map(|it| it.get_array("items").unwrap());
    let numbers = items.map(|item| item.as_document().unwrap().get_i64("number").unwrap());
    numbers.collect()
}

/// Buckets as stored: the values that they hold for their items are not counted here, everything
/// else is.
async fn the_bucket_holds_what_its_items_share(database: &TestDatabase) {
    for bucket in documents(database, "parts").await {
        let held = bucket.get_array("origin").unwrap();
        for item in bucket.get_array("items").unwrap() {
            let item = item.as_document().unwrap();
            assert!(item.get_array("specs").is_ok(), "{item}");
            assert!(
                item.get("site").is_none() && item.get("grams").is_none(),
                "{item}"
            );
            if let Some(own) = item.get("origin") {
                assert_ne!(own.as_array(), Some(held), "{bucket}");
            }
        }
    }
}

async fn writers_of_other_attributes_share_buckets_and_confuse_nothing<T: Part>() {
    let (database, parts) = parts::<T>().await;
    let all: Vec<T> = records("press", 0..120);
    let writers = (0..6).map(|writer| {
        let parts = T::buckets(&database);
        let own: Vec<T> = all.iter().skip(writer).step_by(6).cloned().collect();
        tokio::spawn(async move {
            let (one_by_one, together) = own.split_at(8);
            for record in one_by_one {
                parts.insert(record).await.unwrap();
            }
            let report = parts.insert_many(together).await.unwrap();
            assert_eq!(report.stored(), together.len());
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let read: Vec<T> = parts.range(T::press(), ..).await.unwrap();
    assert_eq!(sorted(read), all);
    the_bucket_holds_what_its_items_share(&database).await;
}

async fn a_redelivered_record_is_a_duplicate_wherever_its_attributes_are<T: Part>() {
    let (database, parts) = parts::<T>().await;
    let all: Vec<T> = records("press", 0..30);
    parts.load(&all).await;
    for handle in [parts.clone(), T::buckets(&database)] {
        let report = handle.insert_many(&all).await.unwrap();
        assert_eq!((report.stored(), report.duplicates().len()), (0, 30));
        assert!(report.failed().is_empty(), "{report:?}");
    }
    // The same id with another origin: no duplicate.
    let other = T::of("press", START + 3 * MINUTE, 4);
    assert!(T::buckets(&database).insert(&other).await.is_err());
}

fn whole(value: &Bson) -> i64 {
    match value {
        Bson::Int32(number) => (*number).into(),
        Bson::Int64(number) => *number,
        other => panic!("{other}"),
    }
}

/// A machine part with both kinds of arrays, in the simplest form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
#[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", factor = 29.5735))]
    volume_ounces: Option<f64>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: String,
}

fn scan(minute: i64, volume_ml: Option<i32>, volume_ounces: Option<f64>, site: &str) -> Scan {
    Scan {
        machine: "press".to_owned(),
        at: DateTime::from_millis(START + minute * MINUTE),
        volume_ml,
        volume_ounces,
        site: site.to_owned(),
    }
}

#[tokio::test]
async fn the_first_record_decides_what_a_bucket_holds_and_others_keep_their_own() {
    let database = database().await;
    let scans = Scan::buckets(&database);
    scans.ensure().await.unwrap();
    let all = [
        scan(0, Some(500), Some(16.9), "Ulm"),
        scan(1, None, None, "Ulm"),
        scan(2, Some(8), None, "Jena"),
    ];
    let report = scans.insert_many(&all).await.unwrap();
    assert_eq!(report.stored(), all.len(), "{:?}", report.failed());
    let at = |minute: i64| DateTime::from_millis(START + minute * MINUTE);
    let stored = documents(&database, "scans").await;
    let both = [
        doc! { "k": "volume", "v": 500, "u": "ml" },
        doc! { "k": "volume", "v": 16.9, "u": "ounces" },
    ];
    let expected = doc! {
        "_id": "press_1699999200",
        "machine": "press",
        "bucket_start": at(-10),
        "bucket_end": at(50),
        "origin": [{ "what": "site", "is": "Ulm" }],
        "bytes": stored[0].get_i64("bytes").unwrap(),
        "count": 3,
        "scans": [
            { "at": at(0), "specs": both },
            { "at": at(1), "specs": [] },
            {
                "at": at(2),
                "specs": [{ "k": "volume", "v": 8, "u": "ml" }],
                "origin": [{ "what": "site", "is": "Jena" }],
            },
        ],
    };
    let named =
        |document: &Document| -> BTreeMap<String, Bson> { document.clone().into_iter().collect() };
    assert_eq!(named(&stored[0]), named(&expected));

    // The typed bucket stores the same.
    let typed = scans.collection::<ScanBucket>();
    let bucket = typed.find_one(doc! {}).await.unwrap().unwrap();
    typed.delete_many(doc! {}).await.unwrap();
    typed.insert_one(&bucket).await.unwrap();
    assert_eq!(
        named(&documents(&database, "scans").await[0]),
        named(&expected)
    );
    assert_eq!(bucket.into_records(), all);
}

#[tokio::test]
async fn the_indexes_of_attributes_are_those_of_the_model() {
    let database = database().await;
    let report = Scan::buckets(&database).ensure().await.unwrap();
    let collection = database.collection::<Document>("scans");
    let indexes: Vec<_> = collection
        .list_indexes()
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    let keys = |name: &str| {
        let found = indexes.iter().find(|index| {
            let options = index.options.as_ref();
            options.and_then(|options| options.name.as_deref()) == Some(name)
        });
        found
            .unwrap_or_else(|| panic!("{name} of {report:?}"))
            .keys
            .clone()
    };
    assert_eq!(
        keys("attributes_specs"),
        doc! { "scans.specs.k": 1, "scans.specs.u": 1, "scans.specs.v": 1 },
    );
    assert_eq!(
        keys("attributes_origin"),
        doc! { "origin.what": 1, "origin.is": 1 }
    );
    assert_eq!(
        keys("own_attributes_origin"),
        doc! { "scans.origin.what": 1, "scans.origin.is": 1 },
    );
    let again = Scan::buckets(&database).ensure().await.unwrap();
    assert!(
        again.drift.is_empty() && again.created_indexes.is_empty(),
        "{again:?}"
    );
}

#[tokio::test]
async fn a_damaged_attribute_is_named_with_its_bucket_and_item() {
    let database = database().await;
    let scans = Scan::buckets(&database);
    scans.ensure().await.unwrap();
    scans
        .insert(&scan(0, Some(500), None, "Ulm"))
        .await
        .unwrap();
    let collection = scans.collection::<Document>();
    for (path, value, expected) in [
        (
            "scans.0.specs",
            Bson::from("none"),
            "its item 0: `specs` is not an array",
        ),
        (
            "scans.0.specs.0.v",
            "500".into(),
            "its item 0: entry 0 of `specs` is not a 32-bit integer",
        ),
        (
            "scans.0.specs.0.k",
            "weight".into(),
            "its item 0: entry 0 of `specs` has no field",
        ),
        ("origin.0.is", 5.into(), "entry 0 of `origin` is not text"),
        ("origin", Bson::Null, "`origin` is not an array"),
    ] {
        let before = collection.find_one(doc! {}).await.unwrap().unwrap();
        let set = doc! { "$set": { path: value } };
        collection.update_one(doc! {}, set).await.unwrap();
        let error = scans
            .range("press".to_owned(), ..)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(expected) && error.contains("press_1699999200"),
            "{error}"
        );
        let error = scans.latest_per_key().await;
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(expected.trim_start_matches("its item 0: ")),
            "{error}"
        );
        collection.replace_one(doc! {}, before).await.unwrap();
    }
    // Another writer's bucket may hold nothing: its items then lack the fields that the model
    // needs.
    collection
        .update_one(doc! {}, doc! { "$unset": { "origin": 1 } })
        .await
        .unwrap();
    let error = scans
        .range("press".to_owned(), ..)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("missing field `site`"), "{error}");
    // New records get their own.
    scans.insert(&scan(1, None, None, "Ulm")).await.unwrap();
    let stored = collection.find_one(doc! {}).await.unwrap().unwrap();
    let own = stored.get_array("scans").unwrap()[1].as_document().unwrap();
    assert_eq!(own.get_array("origin").unwrap().len(), 1);
}

#[test]
fn a_value_is_read_in_each_unit_that_has_a_factor() {
    let both = scan(0, Some(500), Some(10.0), "Ulm");
    assert_eq!(
        (both.volume_in_ml(), both.volume_in_ounces()),
        (Some(500.0), Some(10.0))
    );
    let ounces = scan(0, None, Some(10.0), "Ulm");
    assert_eq!(ounces.volume_in_ml(), Some(295.735));
    let none = scan(0, None, None, "Ulm");
    assert_eq!((none.volume_in_ml(), none.volume_in_ounces()), (None, None));
}

#[tokio::test]
async fn records_are_sorted_by_an_attribute_wherever_it_is_stored() {
    let database = database().await;
    let scans = Scan::buckets(&database);
    scans.ensure().await.unwrap();
    let all = [
        scan(0, Some(500), None, "Ulm"),
        scan(1, None, None, "Jena"),
        scan(2, Some(1_000), None, "Ulm"),
        scan(3, Some(8), None, "Aalen"),
    ];
    let report = scans.insert_many(&all).await.unwrap();
    assert_eq!(report.stored(), all.len(), "{:?}", report.failed());
    let volume = Scan::specs().volume().ml().sort_stages("by", true);
    let site = Scan::origin().site().sort_stages("by", false);
    for (sort, expected) in [(volume, [2, 0, 3, 1]), (site, [3, 1, 0, 2])] {
        let mut stages = scans.range("press".to_owned(), ..).pipeline().unwrap();
        stages.push(doc! { "$unwind": "$scans" });
        // The server's sort is not stable: equal values come in time order.
        let by_time = sort.into_iter().map(|mut stage| {
            if let Ok(order) = stage.get_document_mut("$sort") {
                order.insert("scans.at", 1);
            }
            stage
        });
        stages.extend(by_time);
        let found = scans
            .collection::<Document>()
            .aggregate(stages)
            .await
            .unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let times = found.iter().map(|it| {
            let item = it.get_document("scans").unwrap();
            *item.get_datetime("at").unwrap()
        });
        let expected = expected.map(|minute| scan(minute, None, None, "").at);
        assert_eq!(times.collect::<Vec<_>>(), expected);
    }
}
