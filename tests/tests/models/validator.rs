//! The validator of `ensure().validator()`: it refuses what would damage a bucket, and nothing that the library
//! writes.

use std::collections::BTreeMap;

use bucket_core::{Drift, schema::validation};
use bucket_mongo::{
    Bucketed, Buckets, ProblemKind,
    action::Validated,
    bson::{Bson, DateTime, Document, doc, oid::ObjectId},
    mongodb::{self, Collection},
};
use bucket_tests::{Load, database};
use serde::{Deserialize, Serialize};

/// What fails a validator.
const REFUSED: i32 = 121;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Quality {
    Good,
}

/// A record of any of the models.
trait Event: Bucketed + Clone + std::fmt::Debug + PartialEq {
    fn of(device: &str, id: i64) -> Self;
    fn set_value(&mut self, value: f64);
    fn set_at(&mut self, at: DateTime);
    fn set_device(&mut self, device: &str);
}

fn at(id: i64) -> DateTime {
    DateTime::from_millis(1_790_000_000_000 + id * 1_000)
}

macro_rules! models {
    ($($module:ident $name:ident [$($unique:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        #[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            #[serde(rename = "ts")]
            at: DateTime,
            $($unique)*
            id: i64,
            #[bucket(sum, min, max, avg = "avg", std_dev, first, last, percentiles(error = 0.01))]
            #[bucket(count_if("positive", |value| *value > 0.0))]
            #[serde(rename = "v")]
            value: f64,
            #[bucket(min = "least_level", sum = "level_sum", avg = "level")]
            #[serde(skip_serializing_if = "Option::is_none")]
            level: Option<i32>,
            #[bucket(tally = "kinds")]
            kind: String,
            quality: Option<Quality>,
            owner: ObjectId,
            seen: Option<DateTime>,
            tags: Vec<String>,
            others: BTreeMap<String, i64>,
            #[serde(default)]
            note: String,
            #[serde(skip_serializing_if = "String::is_empty", default)]
            text: String,
            #[serde(with = "as_text")]
            number: i64,
            #[bucket(attribute(array = "specs", k = "length", u = "mm"))]
            length: i64,
            #[bucket(attribute(array = "origin", k = "site"))]
            site: String,
        }

        impl Event for $name {
            fn of(device: &str, id: i64) -> Self {
                let small = i32::try_from(id % 1_000).unwrap();
                Self {
                    device: device.to_owned(),
                    at: at(id),
                    id,
                    value: f64::from(small) - 3.5,
                    level: (id % 3 == 0).then_some(small),
                    kind: ["$a.b", "", "c"][usize::try_from(id % 3).unwrap()].to_owned(),
                    quality: (id % 2 == 0).then_some(Quality::Good),
                    owner: ObjectId::from_bytes([7; 12]),
                    seen: (id % 5 == 0).then(|| at(id)),
                    tags: vec!["x".to_owned(); usize::try_from(id % 2).unwrap()],
                    others: (0..id % 2).map(|other| (format!("_{other}"), other)).collect(),
                    note: String::new(),
                    text: if id % 4 == 0 { "text".to_owned() } else { String::new() },
                    number: id,
                    length: id,
                    site: if id % 7 == 0 { "Bonn".to_owned() } else { "Ulm".to_owned() },
                }
            }

            fn set_value(&mut self, value: f64) {
                self.value = value;
            }

            fn set_at(&mut self, at: DateTime) {
                self.at = at;
            }

            fn set_device(&mut self, device: &str) {
                device.clone_into(&mut self.device);
            }
        }

        mod $module {
            #[tokio::test(flavor = "multi_thread")]
            async fn nothing_that_the_library_writes_is_refused() {
                super::nothing_is_refused::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn what_would_damage_a_bucket_is_refused() {
                super::damage_is_refused::<super::$name>().await;
            }
        }
    )*};
}

models! {
    counted Counted [] [capacity = 5, created_at];
    counted_with_ids CountedIds [#[bucket(unique)]] [capacity = 5, max_bytes = "2KB", expire_after = "20000d"];
    windows Windowed [#[bucket(unique)]] [window = "1m", capacity = 5, created_at];
    windows_with_object_ids WindowedObjects [] [window = "1m", capacity = 5, object_ids, expire_after = "20000d"];
    windows_of_bytes WindowedBytes [] [window = "1m", max_bytes = "2KB"];
    hybrid Hybrid [#[bucket(unique)]] [capacity = 5, max_duration = "1m", expire_after = "20000d"];
    hybrid_with_late_ones_aside HybridSide [] [capacity = 5, max_duration = "1m", late = "side", created_at];
    numbered Numbered [#[bucket(unique)]] [capacity = 5, numbered, expire_after = "20000d"];
    numbered_with_object_ids NumberedObjects [] [capacity = 5, numbered, object_ids, max_bytes = "2KB"];
}

/// A form that the type does not show.
mod as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(number: &i64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// No aggregates but those that operators maintain, and no attributes: whole buckets are placed in bulk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "plain", items = "items", capacity = 5, stats = "stats")]
struct Plain {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    value: i64,
}

async fn set_up<T: Event>(database: &mongodb::Database) -> Buckets<T> {
    let buckets = T::buckets(database);
    let report = buckets.ensure().validator().await.unwrap();
    assert_eq!(report.validator, Validated::Installed);
    assert_eq!(report.drift, []);
    let report = buckets.ensure().validator().await.unwrap();
    assert_eq!(report.validator, Validated::Found);
    assert_eq!(report.drift, []);
    buckets
}

/// The stored documents that the validator would refuse.
async fn failing<T: Event>(buckets: &Buckets<T>) -> Option<Document> {
    let validation = validation(T::SPEC);
    let rules = validation.get_document("validator").unwrap().clone();
    let stored = buckets.collection::<Document>();
    stored.find_one(doc! { "$nor": [rules] }).await.unwrap()
}

async fn nothing_is_refused<T: Event>()
where
    for<'a> T::Key: From<&'a str>,
{
    let database = database().await;
    let buckets = set_up::<T>(&database).await;
    let is_hybrid =
        T::SPEC.form() == Hybrid::SPEC.form() || T::SPEC.form() == HybridSide::SPEC.form();
    let writers = (0..4).map(|writer: i64| {
        let buckets = buckets.clone();
        tokio::spawn(async move {
            for round in 0..6 {
                let first = writer * 1_000 + round * 40;
                let records: Vec<T> = (first..first + 23).map(|id| T::of("a", id)).collect();
                let report = buckets.insert_many(&records).await.unwrap();
                assert_eq!(report.stored(), 23, "{:?}", report.failed());
                buckets.insert(&T::of("a", first + 30)).await.unwrap();
                // Late ones.
                buckets.insert(&T::of("b", 9_000 - first)).await.unwrap();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    if !is_hybrid {
        for first in [0, 0, 8] {
            let records: Vec<T> = (20_000 + first..20_016 + first)
                .map(|id| T::of("c", id))
                .collect();
            let insert = buckets.insert_many(&records);
            let insert = insert.from_source("orders.$3", first.unsigned_abs());
            insert.await.unwrap().into_result().unwrap();
        }
    }
    edit_all(&buckets).await;
    assert_eq!(failing(&buckets).await, None);
    repair_all(&buckets).await;
    assert_eq!(failing(&buckets).await, None);
    let found = buckets.verify().await.unwrap();
    // A bucket that moved into the quarantine leaves a gap.
    let mut left = found
        .findings
        .iter()
        .filter(|it| it.problem.kind() != ProblemKind::Gap);
    assert!(!left.any(bucket_mongo::Finding::is_harmful), "{found}");
}

/// Corrects, moves and removes records.
async fn edit_all<T: Event>(buckets: &Buckets<T>)
where
    for<'a> T::Key: From<&'a str>,
{
    let refs = || async {
        let page = buckets.records("a").limit(60).with_refs().await.unwrap();
        page.into_records()
    };
    for (index, read) in refs().await.into_iter().enumerate() {
        match index % 10 {
            0..3 => drop(
                buckets
                    .update("a", &read.reference, |it| it.set_value(-1.0))
                    .await
                    .unwrap(),
            ),
            3 => drop(buckets.delete("a", &read.reference).await.unwrap()),
            4 => drop(
                buckets
                    .update("a", &read.reference, |it| it.set_at(at(100_000)))
                    .await
                    .unwrap(),
            ),
            5 => drop(
                buckets
                    .update("a", &read.reference, |it| it.set_device("d"))
                    .await
                    .unwrap(),
            ),
            _ => {}
        }
    }
    if T::SPEC.unique().is_some() {
        for id in [2_000, 2_030, 3_000] {
            // It may have been edited or removed.
            let inserted = buckets.insert(&T::of("a", id)).await;
            assert_ne!(inserted.err().and_then(|error| error.code()), Some(REFUSED));
            let replaced = buckets.insert(&T::of("a", id)).replace().await;
            assert_ne!(replaced.err().and_then(|error| error.code()), Some(REFUSED));
        }
    }
    let removed = buckets
        .delete_range("a", at(1_000)..at(1_050))
        .await
        .unwrap();
    assert!(removed.records > 10, "{removed:?}");
    // All of a bucket, and then more records.
    let all = buckets.delete_key("b").await.unwrap();
    assert!(all.records > 10, "{all:?}");
    buckets.insert(&T::of("b", 9_001)).await.unwrap();
}

/// Damages buckets without the validator, goes on writing to them, and repairs them.
async fn repair_all<T: Event>(buckets: &Buckets<T>)
where
    for<'a> T::Key: From<&'a str>,
{
    let collection = buckets.collection::<Document>();
    let damages = [
        doc! { "$set": { "count": 99 } },
        doc! { "$unset": { "stats": "" } },
        doc! { "$set": { "items.0.v": "text" } },
        doc! { "$set": { "stats.sum": "text" } },
        doc! { "$unset": { "_edits": "" } },
    ];
    for (index, mut damage) in damages.into_iter().enumerate() {
        // The place of a removed record may hold anything. The last one is for a bucket with such places.
        let is_edited = index == 4;
        let keys = doc! {
            "device": "a", "damaged": { "$exists": false }, "_edits": { "$exists": is_edited },
        };
        damage
            .entry("$set".to_owned())
            .or_insert_with(|| doc! {}.into())
            .as_document_mut()
            .unwrap()
            .insert("damaged", i32::try_from(index).unwrap());
        let sent = collection
            .update_one(keys, damage)
            .bypass_document_validation(true);
        assert_eq!(sent.await.unwrap().modified_count, 1);
    }
    let found = buckets.verify().await.unwrap();
    assert!(
        found.findings.iter().any(bucket_mongo::Finding::is_harmful),
        "{found}"
    );
    let report = buckets.repair(&found).await.unwrap();
    assert!(
        report.buckets.iter().all(|bucket| bucket.refused.is_none()),
        "{report}"
    );
}

fn is_refused<R>(result: mongodb::error::Result<R>) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    match result.map_err(|error| *error.kind) {
        Err(ErrorKind::Write(WriteFailure::WriteError(error))) => error.code == REFUSED,
        _ => false,
    }
}

/// What a plain driver stores by mistake: each is refused, in a bucket and in a copy of it.
async fn damage_is_refused<T: Event>() {
    let database = database().await;
    let buckets = set_up::<T>(&database).await;
    let records: Vec<T> = (0..3).map(|id| T::of("a", id)).collect();
    buckets.load(&records).await;
    let collection = buckets.collection::<Document>();
    let names = T::SPEC.names();
    let text = || Bson::from("text");
    let mut damages = vec![
        doc! { "$set": { "count": "3" } },
        doc! { "$set": { "count": 2 } },
        doc! { "$inc": { "count": 1 } },
        doc! { "$set": { "count": -3 } },
        doc! { "$set": { "count": 3.5 } },
        doc! { "$unset": { "count": "" } },
        doc! { "$set": { "items": text() } },
        doc! { "$set": { "items": {} } },
        doc! { "$set": { "items": [] } },
        doc! { "$unset": { "items": "" } },
        doc! { "$push": { "items": { "ts": at(9), "v": 1.0 } } },
        doc! { "$push": { "items": 1 }, "$inc": { "count": 1 } },
        doc! { "$push": { "items": { "v": 1.0 } }, "$inc": { "count": 1 } },
        doc! { "$push": { "items": { "ts": at(9) } }, "$inc": { "count": 1 } },
        doc! { "$pop": { "items": 1 } },
        doc! { "$unset": { "items.0": "" } },
        doc! { "$unset": { "items.0.ts": "" } },
        doc! { "$set": { "items.1.ts": at(9).timestamp_millis() } },
        doc! { "$set": { "items.1.v": text() } },
        doc! { "$unset": { "items.1.v": "" } },
        doc! { "$set": { "items.1.id": 1.5 } },
        doc! { "$set": { "items.1.tags": text() } },
        doc! { "$set": { "items.1.others": [] } },
        doc! { "$set": { "items.1.owner": 1 } },
        doc! { "$set": { "items.1.seen": 1_i64 } },
        doc! { "$set": { "items.1.level": text() } },
        doc! { "$set": { "items.1.specs": {} } },
        doc! { "$set": { "origin": {} } },
        doc! { "$set": { "device": 7 } },
        doc! { "$unset": { "device": "" } },
        doc! { "$set": { "stats": 1 } },
        doc! { "$set": { "stats.sum": text() } },
        doc! { "$set": { "stats.kinds": { "c": text() } } },
        doc! { "$set": { "_edits": { "number": 1 } } },
    ];
    for own in [
        names.start,
        names.end,
        names.closed,
        names.number,
        names.size,
        names.full,
    ] {
        let stored = collection.find_one(doc! {}).await.unwrap().unwrap();
        if stored.contains_key(own) {
            damages.push(doc! { "$set": { own: text() } });
            damages.push(doc! { "$unset": { own: "" } });
        }
    }
    for damage in damages {
        let before = collection.find_one(doc! {}).await.unwrap();
        let changed = collection.update_one(doc! {}, damage.clone()).await;
        assert!(is_refused(changed), "{damage}");
        assert_eq!(collection.find_one(doc! {}).await.unwrap(), before);
    }
    foreign_documents_are_refused(&collection).await;
    // Fields of others do no harm.
    let update = doc! { "$set": { "mine": { "anything": 1 }, "items.0.also": true } };
    collection.update_one(doc! {}, update).await.unwrap();
    let report = buckets
        .insert_many((3..30).map(|id| T::of("a", id)))
        .await
        .unwrap();
    assert_eq!(report.stored(), 27, "{:?}", report.failed());
}

async fn foreign_documents_are_refused(collection: &Collection<Document>) {
    for other in [
        doc! {},
        doc! { "_id": 1 },
        doc! { "device": "a", "count": 0, "items": [] },
    ] {
        assert!(is_refused(collection.insert_one(&other).await), "{other}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_load_that_reserves_buckets_is_not_refused() {
    let database = database().await;
    let buckets = Plain::buckets(&database);
    buckets.ensure().validator().await.unwrap();
    let record = |device, id| Plain {
        device,
        at: at(id),
        value: id,
    };
    let loads = (0..4).map(|load: i64| {
        let buckets = buckets.clone();
        tokio::spawn(async move {
            let records = (0..120).map(|id| record(id % 2, load * 1_000 + id));
            let report = buckets.insert_many(records).await.unwrap();
            assert_eq!(report.stored(), 120, "{:?}", report.failed());
        })
    });
    for load in loads.collect::<Vec<_>>() {
        load.await.unwrap();
    }
    // What a load leaves that ended in its middle.
    let reserved = doc! {
        "_id": "9_1790000900", "device": 9_i64, "count": 0_i64, "items": [],
    };
    let collection = buckets.collection::<Document>();
    collection.insert_one(reserved).await.unwrap();
    buckets.insert(&record(9, 1)).await.unwrap();
    assert_eq!(buckets.count(9).await.unwrap(), 1);
}

/// The validation options of the collection.
async fn options(database: &mongodb::Database) -> Document {
    let command = doc! { "listCollections": 1, "filter": { "name": "plain" } };
    let listed = database.run_command(command).await.unwrap();
    let listed = listed
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let listed = listed[0].as_document().unwrap();
    listed.get_document("options").unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_collection_gets_the_validator_and_one_of_others_is_kept_until_it_is_replaced()
{
    let database = database().await;
    let buckets = Plain::buckets(&database);
    buckets.ensure().await.unwrap();
    assert_eq!(options(&database).await, doc! {});
    let report = buckets.ensure().validator().await.unwrap();
    assert_eq!(
        (report.validator, &*report.drift),
        (Validated::Installed, &[][..])
    );
    assert!(
        report.to_string().contains("validator installed"),
        "{report}"
    );
    assert_eq!(options(&database).await, validation(&Plain::SPEC));
    // Without being asked for, it is neither found nor changed.
    let report = buckets.ensure().await.unwrap();
    assert_eq!(
        (report.validator, &*report.drift),
        (Validated::NotAsked, &[][..])
    );

    for (validator, level, is_own) in [
        (doc! { "value": { "$ne": "alice" } }, "strict", false),
        (
            doc! { "$jsonSchema": { "title": "bucket-mongo 0" } },
            "strict",
            true,
        ),
        // Somebody made it a mere warning.
        (
            validation(&Plain::SPEC)
                .get_document("validator")
                .unwrap()
                .clone(),
            "off",
            true,
        ),
    ] {
        let change = doc! { "collMod": "plain", "validator": validator, "validationLevel": level };
        database.run_command(change).await.unwrap();
        let before = options(&database).await;
        let report = buckets.ensure().await.unwrap();
        assert_eq!(report.drift.len(), usize::from(is_own), "{report}");
        let report = buckets.ensure().validator().await.unwrap();
        assert_eq!(options(&database).await, before);
        let [drift @ Drift::Validator { is_own: own, .. }] = &report.drift[..] else {
            panic!("{report}")
        };
        assert_eq!(*own, is_own);
        assert!(drift.to_string().contains("replace_validator"), "{drift}");
        assert!(!format!("{:?}", drift.redacted()).contains("alice"));
        let report = buckets.ensure().replace_validator().await.unwrap();
        assert_eq!(
            (report.validator, &*report.drift),
            (Validated::Replaced, &[][..])
        );
        assert_eq!(options(&database).await, validation(&Plain::SPEC));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_fails_the_validator_already_takes_records_and_can_be_repaired() {
    let database = database().await;
    let buckets = Plain::buckets(&database);
    buckets.ensure().await.unwrap();
    let record = |id| Plain {
        device: 1,
        at: at(id),
        value: id,
    };
    buckets.load([record(0), record(1)]).await;
    let collection = buckets.collection::<Document>();
    let damage = doc! { "$set": { "stats.sum": "text", "count": 3 } };
    collection.update_one(doc! {}, damage).await.unwrap();
    buckets.ensure().validator().await.unwrap();
    buckets.insert(&record(2)).await.ok();
    let found = buckets.verify().await.unwrap();
    assert!(!found.findings.is_empty());
    buckets.repair(&found).await.unwrap();
    assert!(buckets.verify().await.unwrap().findings.is_empty());
    let damage = doc! { "$set": { "count": 9 } };
    assert!(is_refused(collection.update_one(doc! {}, damage).await));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "large",
    items = "items",
    capacity = 5_000,
    stats = "stats"
)]
struct Large {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum, min, max)]
    value: f64,
    quality: i32,
    text: String,
}

/// Prints figures: `cargo test -p bucket-tests --test models validator::the_cost -- --ignored --nocapture`.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints how long appends take with a validator and without one"]
#[allow(clippy::print_stdout, reason = "figures")]
async fn the_cost_of_an_append_under_the_validator() {
    const APPENDS: i32 = 400;
    let database = database().await;
    let whole = validation(&Large::SPEC);
    let whole = whole.get_document("validator").unwrap();
    let mut schema = whole.clone();
    schema.remove("$expr");
    println!("microseconds for an append by the number of items of the bucket");
    println!("items   no validator   $jsonSchema   with $expr");
    for items in [10, 100, 1_000] {
        let mut times = Vec::new();
        for round in 0..9 {
            let buckets = Large::buckets(&database);
            let collection = buckets.collection::<Document>();
            collection.drop().await.unwrap();
            buckets.ensure().await.unwrap();
            let records = (0..items).map(|id| Large {
                device: 1,
                at: at(id),
                value: 0.5,
                quality: 1,
                text: "text".to_owned(),
            });
            buckets.load(records).await;
            let validator = [doc! {}, schema.clone(), whole.clone()][round % 3].clone();
            let change = doc! { "collMod": "large", "validator": validator };
            database.run_command(change).await.unwrap();
            let item = doc! { "at": at(0), "value": 0.5, "quality": 1, "text": "text" };
            let append = doc! {
                "$push": { "items": item }, "$inc": { "count": 1, "stats.sum": 0.5 },
                "$min": { "stats.min": 0.5 }, "$max": { "stats.max": 0.5 },
            };
            let concern = mongodb::options::WriteConcern::nodes(1);
            let began = std::time::Instant::now();
            for _ in 0..APPENDS {
                let update = collection.update_one(doc! {}, append.clone());
                update.write_concern(concern.clone()).await.unwrap();
            }
            times.push(began.elapsed().as_micros() / u128::from(APPENDS.unsigned_abs()));
        }
        let best = |of: usize| times.iter().skip(of).step_by(3).min().unwrap();
        println!("{items:5} {:14} {:13} {:12}", best(0), best(1), best(2));
    }
}
