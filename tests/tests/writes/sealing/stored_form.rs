//! What is stored, and what a damaged bucket or another model does.

use bucket_tests::Load;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_bucket_stays_and_is_reported() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1m",
        seal_after = "1s"
    )]
    struct Event {
        #[bucket(key)]
        device: i32,
        #[bucket(time)]
        at: DateTime,
    }
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| Event {
        device: 1,
        at: date(number),
    });
    events.load(records).await;
    let collection = database.collection::<bucket_mongo::bson::Document>("events");
    let wrong = doc! { "$set": { "count": 99 } };
    collection
        .update_one(doc! { "bucket_start": date(0) }, wrong)
        .await
        .unwrap();
    let report = events.seal().await.unwrap();
    assert_eq!((report.buckets, report.damaged), (8, 1), "{report}");
    assert_eq!(report.damages.len(), 1);
    // Packed items whose bytes are others are damage too, and say so everywhere.
    let sealed = collection
        .find_one(doc! { "bucket_start": date(12) })
        .await
        .unwrap()
        .unwrap();
    let Some(Bson::Binary(packed)) = sealed.get("items") else {
        panic!("{sealed}")
    };
    let mut other = packed.clone();
    let middle = other.bytes.len() / 2;
    other.bytes[middle] ^= 1;
    let wrong = doc! { "$set": { "items": other } };
    collection
        .update_one(doc! { "bucket_start": date(12) }, wrong)
        .await
        .unwrap();
    let error = events.range(1, date(12)..date(13)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Damaged(_)), "{error}");
    assert_eq!(events.verify().await.unwrap().harmful(), 2);
    assert_eq!(events.unseal().await.unwrap().damaged, 1);
}

#[tokio::test]
async fn a_model_of_another_form_sees_whose_the_sealed_buckets_are() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "events", items = "items", capacity = 5)]
    struct Counted {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
    }
    let database = database().await;
    let events = windows::Record::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| windows::Record::of("a", number));
    events.load(records).await;
    assert!(seal(&events).await.buckets > 0);
    let collection = database.collection::<bucket_mongo::bson::Document>("events");
    collection
        .delete_many(doc! { "items": { "$type": "array" } })
        .await
        .unwrap();
    collection.drop_indexes().await.unwrap();
    let report = Counted::buckets(&database).ensure().await.unwrap();
    let shows = |drift: &Drift| matches!(drift, Drift::OtherModel { form: "window", .. });
    assert!(report.drift.iter().any(shows), "{report}");
    assert_eq!(collection.list_index_names().await.unwrap(), ["_id_"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stored_form_of_a_sealed_bucket_never_changes() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1m",
        seal_after = "1s"
    )]
    struct Event {
        #[bucket(key)]
        device: i32,
        #[bucket(time)]
        at: DateTime,
        #[bucket(sum)]
        number: i64,
    }
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().validator().await.unwrap();
    let records = (0..12).map(|number| Event {
        device: 1,
        at: date(number),
        number: 7,
    });
    events.load(records).await;
    let stored = async || documents(&database, "events").await.remove(0);
    let rows = stored().await;
    events.seal().await.unwrap();
    let mut sealed = stored().await;
    let Some(Bson::Binary(packed)) = sealed.remove("items") else {
        panic!("{sealed}")
    };
    assert_eq!(packed.subtype, BinarySubtype::UserDefined(128));
    let mut expected = rows.clone();
    expected.remove("items");
    expected.insert("_sealed", doc! { "first": date(0), "last": date(11) });
    assert_eq!(sealed, expected);

    let found = events.range(1, ..).with_refs().await.unwrap();
    events.delete(1, &found[0].reference).await.unwrap();
    let mut edited = stored().await;
    assert!(matches!(edited.remove("items"), Some(Bson::Binary(_))));
    expected.insert("stats", doc! { "sum": 77_i64 });
    expected.insert("_edits", doc! { "number": 1_i64, "removed": 1_i64 });
    let edit = doc! { "number": 1, "places": [0] };
    expected.insert(
        "_sealed",
        doc! { "first": date(1), "last": date(11), "edit": edit },
    );
    assert_eq!(edited, expected);

    events.unseal().await.unwrap();
    let mut unsealed = stored().await;
    let items = unsealed.remove("items").unwrap();
    let items = items.as_array().unwrap();
    assert_eq!(
        items[0],
        Bson::from(doc! { "at": date(0), "_removed": true })
    );
    assert_eq!(items[1..], rows.get_array("items").unwrap()[1..]);
    expected.insert("_sealed", doc! {});
    assert_eq!(unsealed, expected);

    // Where no record is left, the marks are rows.
    events.seal().await.unwrap();
    events.delete_range(1, ..).await.unwrap();
    let mut empty = stored().await;
    let items = empty.remove("items").unwrap();
    assert_eq!(items.as_array().map(Vec::len), Some(12));
    assert!(events.verify().await.unwrap().is_clean());
}

macro_rules! retention {
    ($($test:ident [$($attributes:tt)*];)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(
                collection = "events", items = "items", expire_after = "1h", seal_after = "1s", $($attributes)*
            )]
            struct Event {
                #[bucket(key)]
                device: i32,
                #[bucket(time)]
                at: DateTime,
                #[bucket(sum)]
                number: i64,
            }
            let database = database().await;
            let events = Event::buckets(&database);
            events.ensure().await.unwrap();
            // No record is within a minute of the limit.
            let now = DateTime::now().timestamp_millis() + 60_000;
            let records = (5..40).map(|number| {
                let at = DateTime::from_millis(now - 2 * number * 60_000);
                Event { device: 1, at, number }
            });
            let mut records: Vec<Event> = records.collect();
            records.reverse();
            // Older ones are refused: what is past the limit was stored before.
            for chunk in records.chunks(8) {
                let report = events.insert_many(chunk).await;
                drop(report);
            }
            let all = async || {
                let mut shown = vec![format!("{:?}", events.count(1).await.unwrap())];
                shown.push(format!("{:?}", events.keys().summaries().await.unwrap()));
                shown.push(format!("{:?}", events.records(1).await.unwrap().records()));
                shown.push(format!("{:?}", events.stats(1, ..).await.unwrap().unwrap().count()));
                shown
            };
            // The bucket with the first shown record gets three that are past the limit, as time would do.
            let collection = database.collection::<bucket_mongo::bson::Document>("events");
            let first = collection.find_one(doc! {}).sort(doc! { "_id": 1, "bucket_start": 1 });
            let first = first.await.unwrap().unwrap();
            let past = DateTime::from_millis(now - 61 * 60_000);
            let mut set = doc! {};
            for at in 0..2 {
                set.insert(format!("items.{at}.at"), past);
            }
            if first.contains_key("bucket_start") {
                set.insert("bucket_start", DateTime::from_millis(now - 70 * 60_000));
            }
            let id = first.get("_id").unwrap();
            let updated = collection.update_one(doc! { "_id": id }, doc! { "$set": set }).await;
            assert_eq!(updated.unwrap().modified_count, 1);
            let before = all().await;
            let report = events.seal().await.unwrap();
            assert!(report.buckets > 1, "{report}");
            assert_eq!(all().await, before);
        }
    )*};
}

retention! {
    what_is_past_the_limit_is_hidden_in_numbered_buckets [capacity = 6, numbered];
    what_is_past_the_limit_is_hidden_in_count_buckets [capacity = 6];
    what_is_past_the_limit_is_hidden_in_hybrid_buckets [capacity = 6, max_duration = "30m"];
}
