//! Collections migrated from many fields to attributes and back: everything, once, and nothing
//! else.

use std::collections::BTreeMap;

use bucket_mongo::{
    Attributed, Documents, ErrorKind,
    attribute::DocumentFault,
    bson::{
        Binary, Bson, DateTime, Decimal128, Document, Timestamp, doc, oid::ObjectId,
        spec::BinarySubtype,
    },
    documents::MigrationReport,
    testing::TestDatabase,
};
use bucket_tests::{database, date, documents};
use serde::{Deserialize, Serialize};

/// A bottle of the manual, whose values are stored as text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct ManualBottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", text))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", text))]
    volume_ounces: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: Bson,
    title: Option<String>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "height", u = "inches"))]
    height_inches: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(
    collection = "movies",
    attributes(array = "releases", k = "location", v = "date")
)]
struct Movie {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(rename = "release.US")]
    #[bucket(attribute(array = "releases", k = "USA"))]
    usa: Option<DateTime>,
    #[serde(rename = "$France")]
    #[bucket(attribute(array = "releases", k = "France"))]
    france: Option<DateTime>,
    #[serde(rename = "elsewhere.too")]
    #[bucket(attribute(array = "releases", rest))]
    elsewhere: BTreeMap<String, DateTime>,
}

async fn stored<T: Attributed>(all: Vec<Document>) -> (TestDatabase, Documents<T>) {
    let database = database().await;
    let handle: Documents<T> = Attributed::documents(&database);
    handle.ensure().await.unwrap();
    if !all.is_empty() {
        handle.collection().insert_many(all).await.unwrap();
    }
    (database, handle)
}

fn counts(report: &MigrationReport) -> [u64; 5] {
    let parts = report.changed + report.already + report.refused + report.unsettled + report.gone;
    assert_eq!(parts, report.looked_at, "{report}");
    [
        report.looked_at,
        report.changed,
        report.already,
        report.refused,
        report.left,
    ]
}

/// Bottles of many fields with these ids.
fn bottles(ids: impl IntoIterator<Item = impl Into<Bson>>) -> Vec<Document> {
    let bottle = |(number, id): (i32, Bson)| {
        doc! { "_id": id, "title": format!("bottle {number}"), "volume_ml": number }
    };
    (0..)
        .zip(ids.into_iter().map(Into::into))
        .map(bottle)
        .collect()
}

fn moved(bottle: &Document) -> Document {
    let mut moved = bottle.clone();
    let volume = moved.remove("volume_ml");
    moved.insert(
        "specs",
        vec![doc! { "k": "volume", "v": volume, "u": "ml" }],
    );
    moved
}

/// Exactly: the order of fields counts.
fn same_bytes(a: &[Document], b: &[Document]) -> bool {
    let bytes = |all: &[Document]| -> Vec<Vec<u8>> {
        all.iter().map(|one| one.to_vec().unwrap()).collect()
    };
    bytes(a) == bytes(b)
}

#[tokio::test]
async fn bottles_of_the_manual_are_migrated_exactly_and_back() {
    let many = vec![
        doc! { "_id": 1, "volume_ml": 500, "volume_ounces": 12 },
        doc! { "_id": 2, "volume_ounces": 8 },
        doc! { "_id": 3 },
    ];
    let (database, bottles) = stored::<ManualBottle>(many.clone()).await;
    let before = bottles.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    let report = bottles.migrate_to_attributes().await.unwrap();
    assert_eq!(counts(&report), [3, 2, 1, 0, 0]);
    assert_eq!(
        report.to_string(),
        "3 documents: 2 changed, 1 in the form already, 0 refused; 0 left; 2 compared, 0 differ"
    );
    let specs = [
        doc! { "k": "volume", "v": "500", "u": "ml" },
        doc! { "k": "volume", "v": "12", "u": "ounces" },
    ];
    let expected = [
        doc! { "_id": 1, "specs": specs },
        doc! { "_id": 2, "specs": [{ "k": "volume", "v": "8", "u": "ounces" }] },
        doc! { "_id": 3 },
    ];
    let there = documents(&database, "bottles").await;
    assert!(same_bytes(&there, &expected), "{there:?}");
    let after = bottles.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    assert_eq!(after, before);

    let report = bottles.migrate_to_fields().await.unwrap();
    assert_eq!(counts(&report), [3, 2, 1, 0, 0]);
    let back = documents(&database, "bottles").await;
    assert!(same_bytes(&back, &many), "{back:?}");
}

#[tokio::test]
async fn a_second_run_changes_nothing_and_neither_does_a_dry_one() {
    let many = bottles(1..=50);
    let (database, handle) = stored::<Bottle>(many.clone()).await;
    let dry = handle.migrate_to_attributes().dry_run().await.unwrap();
    assert_eq!(counts(&dry), [50, 50, 0, 0, 50]);
    assert!(dry.to_string().contains("50 would be changed"), "{dry}");
    assert_eq!(documents(&database, "bottles").await, many);
    let first = handle.migrate_to_attributes().batch_size(7).await.unwrap();
    assert_eq!(counts(&first), [50, 50, 0, 0, 0]);
    let there = documents(&database, "bottles").await;
    let second = handle.migrate_to_attributes().await.unwrap();
    assert_eq!(counts(&second), [50, 0, 50, 0, 0]);
    let again = documents(&database, "bottles").await;
    assert!(same_bytes(&again, &there));
}

#[tokio::test]
async fn batches_end_anywhere_and_progress_reports_each_end() {
    let (database, handle) = stored::<Bottle>(Vec::new()).await;
    for (size, number) in [
        (1, 3),
        (4, 3),
        (4, 4),
        (4, 5),
        (4, 8),
        (1_000, 1_000),
        (3_000, 2_001),
        (u32::MAX, 9),
    ] {
        let collection = handle.collection::<Document>();
        collection.delete_many(doc! {}).await.unwrap();
        let many = bottles(1..=number);
        collection.insert_many(&many).await.unwrap();
        let mut seen = Vec::new();
        let run = handle.migrate_to_attributes().batch_size(size);
        let run = run.on_progress(|done| seen.push(done.clone()));
        let report = run.await.unwrap();
        let number_of = u64::try_from(number).unwrap();
        assert_eq!(counts(&report), [number_of, number_of, 0, 0, 0], "{size}");
        assert!((1..=200).contains(&report.compared) && report.differing.is_empty());
        let there = documents(&database, "bottles").await;
        assert_eq!(there, many.iter().map(moved).collect::<Vec<_>>());
        let last = seen.last().unwrap();
        assert_eq!(last.last_id, Bson::Int32(number));
        assert_eq!(
            (last.expected, last.looked_at, last.changed),
            (number_of, number_of, number_of)
        );
        assert_eq!(
            seen.len(),
            usize::try_from(number_of.div_ceil(size.into())).unwrap()
        );
    }
    let refused = handle
        .migrate_to_attributes()
        .batch_size(0)
        .await
        .unwrap_err();
    assert!(
        matches!(refused.kind(), ErrorKind::InvalidArgument { .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_empty_and_a_missing_collection_are_done_at_once() {
    let database = database().await;
    let handle = Bottle::documents(&database);
    for _ in 0..2 {
        let report = handle.migrate_to_attributes().await.unwrap();
        assert_eq!(counts(&report), [0; 5]);
        let report = handle.migrate_to_fields().await.unwrap();
        assert_eq!(counts(&report), [0; 5]);
        assert_eq!(
            report.to_string(),
            "0 documents: 0 changed, 0 in the form already, 0 refused; 0 left"
        );
        if database.list_collection_names().await.unwrap().is_empty() {
            database.create_collection("bottles").await.unwrap();
        }
    }
}

/// Ids of every possible type, in no order.
fn ids() -> Vec<Bson> {
    let binary = |bytes: &[u8]| Binary {
        subtype: BinarySubtype::Generic,
        bytes: bytes.to_vec(),
    };
    let mut ids = vec![
        Bson::Null,
        Bson::MinKey,
        Bson::MaxKey,
        Bson::Boolean(false),
        Bson::Boolean(true),
        Bson::Double(f64::NAN),
        Bson::Double(f64::NEG_INFINITY),
        Bson::Double(0.5),
        Bson::Int64(i64::MAX),
        Bson::Decimal128("0.1".parse::<Decimal128>().unwrap()),
        Bson::DateTime(DateTime::MIN),
        Bson::DateTime(DateTime::from_millis(0)),
        Bson::Timestamp(Timestamp {
            time: 1,
            increment: 1,
        }),
        Bson::ObjectId(ObjectId::from_bytes([7; 12])),
        Bson::Binary(binary(b"")),
        Bson::Binary(binary(b"ab")),
        doc! {}.into(),
        doc! { "a": 1, "b": [1, { "c": null }] }.into(),
        doc! { "b": 1, "a": 1 }.into(),
        Bson::JavaScriptCode("f()".to_owned()),
        Bson::Symbol("symbol".to_owned()),
    ];
    ids.extend((0..5).map(Bson::Int32));
    ids.extend(["", "$where", "a.b", "b", "\u{1f980}"].map(Bson::from));
    ids
}

#[tokio::test]
async fn ids_of_all_types_are_each_visited_once_and_each_is_a_place_to_continue_from() {
    let many = bottles(ids());
    let (database, handle) = stored::<Bottle>(many.clone()).await;
    let number = u64::try_from(many.len()).unwrap();
    let mut order = Vec::new();
    let run = handle.migrate_to_attributes().batch_size(1);
    let run = run.on_progress(|done| order.push(done.last_id.clone()));
    assert_eq!(counts(&run.await.unwrap()), [number, number, 0, 0, 0]);
    let there = documents(&database, "bottles").await;
    let sorted: Vec<String> = there.iter().map(|one| one["_id"].to_string()).collect();
    let visited: Vec<String> = order.iter().map(Bson::to_string).collect();
    assert_eq!(visited, sorted);
    for (behind, id) in (1..).zip(order) {
        let text = id.to_string();
        let rest = handle.migrate_to_attributes().after(id).await.unwrap();
        assert_eq!(
            counts(&rest),
            [number - behind, 0, number - behind, 0, 0],
            "{text}"
        );
    }
    let back = handle.migrate_to_fields().batch_size(5).await.unwrap();
    assert_eq!(counts(&back), [number, number, 0, 0, 0]);
    let there = documents(&database, "bottles").await;
    assert!(there.iter().all(|one| one.contains_key("volume_ml")));
}

#[tokio::test]
async fn a_page_after_an_id_is_read_from_the_index_and_nothing_before_it() {
    let (database, handle) = stored::<Bottle>(bottles(1..=500)).await;
    for after in [Bson::Int32(450), Bson::from("none")] {
        let run = handle
            .migrate_to_attributes()
            .after(after.clone())
            .samples(0)
            .dry_run();
        let (report, profile) =
            bucket_tests::profiled(&database, "bottles", run.into_future()).await;
        let report = report.unwrap();
        let finds = profile
            .iter()
            .filter(|entry| entry["op"].as_str() == Some("query"));
        let examined: i32 = finds
            .map(|entry| entry.get_i32("keysExamined").unwrap())
            .sum();
        let examined = u64::try_from(examined).unwrap();
        let expected = report.looked_at..=report.looked_at + 4;
        assert!(expected.contains(&examined), "{examined} for {report}");
    }
}

#[tokio::test]
async fn names_with_dots_and_dollars_are_migrated_unchanged() {
    let day = date("1977-05-20T00:00:00Z");
    let many = vec![
        doc! { "_id": 1, "release.US": day, "release": { "US": 1, "$France": 2 }, "elsewhere.too": {} },
        doc! { "_id": 2, "$France": day, "elsewhere.too": { "a.b": day, "$c": day } },
        doc! { "_id": 3, "release.US": null, "elsewhere": { "too": { "Peru": 1 } } },
    ];
    let (database, movies) = stored::<Movie>(many.clone()).await;
    let before = movies.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
    let dry = movies.migrate_to_attributes().dry_run().await.unwrap();
    assert_eq!(counts(&dry), [3, 3, 0, 0, 3]);
    let report = movies.migrate_to_attributes().await.unwrap();
    assert_eq!(counts(&report), [3, 3, 0, 0, 0]);
    assert_eq!((report.compared, report.differing.len()), (3, 0));
    let entry = |location: &str| doc! { "location": location, "date": day };
    let expected = [
        doc! { "_id": 1, "release": { "US": 1, "$France": 2 }, "releases": [entry("USA")] },
        doc! { "_id": 2, "releases": [entry("France"), entry("a.b"), entry("$c")] },
        doc! { "_id": 3, "elsewhere": { "too": { "Peru": 1 } }, "releases": [] },
    ];
    let there = documents(&database, "movies").await;
    assert!(same_bytes(&there, &expected), "{there:?}");
    assert_eq!(
        movies.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap(),
        before
    );

    let report = movies.migrate_to_fields().await.unwrap();
    assert_eq!(counts(&report), [3, 3, 0, 0, 0]);
    let back = documents(&database, "movies").await;
    let mut expected = many;
    expected[2].remove("release.US");
    expected[2].insert("elsewhere.too", doc! {});
    assert_eq!(back, expected);
}

#[tokio::test]
async fn documents_that_cannot_be_migrated_stay_and_are_named() {
    let entry = |k: &str, v: Bson| doc! { "k": k, "v": v, "u": "ml" };
    let volume = |v: i32| entry("volume", v.into());
    let height = doc! { "k": "height", "v": 8.5, "u": "inches" };
    let all = vec![
        doc! { "_id": 1, "volume_ml": 500 },
        doc! { "_id": 2, "volume_ml": "500" },
        doc! { "_id": 3, "volume_ml": 500, "specs": [volume(500)] },
        doc! { "_id": 4, "volume_ml": 500, "specs": [height.clone()] },
        doc! { "_id": 5, "volume_ml": [500] },
        doc! { "_id": 6, "volume_ml": 500, "specs": { "k": 1 } },
    ];
    let (database, handle) = stored::<Bottle>(all.clone()).await;
    let report = handle.migrate_to_attributes().await.unwrap();
    assert_eq!(counts(&report), [6, 2, 0, 4, 4]);
    let named: Vec<String> = report
        .refusals
        .iter()
        .map(|one| one.error.to_string())
        .collect();
    assert_eq!(
        named,
        [
            "document 2: entry `volume_ml` of `specs` is not a 32-bit integer",
            "document 3: entry 0 of `specs` appears twice",
            "document 5: entry `volume_ml` of `specs` is not a 32-bit integer",
            "document 6: `specs` is not an array",
        ]
    );
    assert_eq!(report.refusals[1].id, Bson::Int32(3));
    let mut expected = all;
    expected[0] = doc! { "_id": 1, "specs": [volume(500)] };
    expected[3] = doc! { "_id": 4, "specs": [volume(500), height] };
    let there = documents(&database, "bottles").await;
    assert!(same_bytes(&there, &expected), "{there:?}");

    // Backwards, an entry without a field in the struct would be lost.
    let collection = handle.collection::<Document>();
    collection
        .delete_many(doc! { "_id": { "$in": [2, 3, 5, 6] } })
        .await
        .unwrap();
    let unknown = doc! { "_id": 7, "specs": [volume(1), entry("weight", 2.into())] };
    collection.insert_one(&unknown).await.unwrap();
    let report = handle.migrate_to_fields().await.unwrap();
    assert_eq!(counts(&report), [3, 2, 0, 1, 1]);
    let text = report.refusals[0].error.to_string();
    assert_eq!(
        text,
        "document 7: entry 1 of `specs` has no field in the model, which does not keep other entries"
    );
    let there = collection.find_one(doc! { "_id": 7 }).await.unwrap();
    assert_eq!(there, Some(unknown));
}

#[tokio::test]
async fn a_document_that_the_server_refuses_is_named_and_the_others_are_migrated() {
    let (database, handle) = stored::<Bottle>(bottles(1..=5)).await;
    let rule = doc! { "$or": [{ "volume_ml": { "$exists": true } }, { "_id": { "$ne": 3 } }] };
    let command = doc! { "collMod": "bottles", "validator": rule };
    database.run_command(command).await.unwrap();
    let report = handle.migrate_to_attributes().await.unwrap();
    assert_eq!(counts(&report), [5, 4, 0, 1, 1]);
    assert_eq!(report.refusals[0].id, Bson::Int32(3));
    let fault = report.refusals[0].error.fault();
    assert!(
        matches!(fault, DocumentFault::Refused { code: 121, .. }),
        "{fault:?}"
    );
}

#[tokio::test]
async fn documents_of_megabytes_are_migrated_in_pages_that_fit() {
    let fill = "a".repeat(5 * 1024 * 1024);
    let many: Vec<Document> = (1..=9)
        .map(|id| doc! { "_id": id, "title": &fill, "volume_ml": id })
        .collect();
    let (_database, handle) = stored::<Bottle>(Vec::new()).await;
    for one in &many {
        handle
            .collection::<Document>()
            .insert_one(one)
            .await
            .unwrap();
    }
    let mut pages = Vec::new();
    let run = handle.migrate_to_attributes();
    let report = run
        .on_progress(|done| pages.push(done.looked_at))
        .await
        .unwrap();
    assert_eq!(counts(&report), [9, 9, 0, 0, 0]);
    assert_eq!(pages, [4, 8, 9]);
}

#[tokio::test]
async fn texts_as_ids_are_visited_in_the_order_of_the_collation() {
    let (database, handle) = stored::<Bottle>(Vec::new()).await;
    let _ = handle.collection::<Document>().drop().await;
    let create = doc! { "create": "bottles", "collation": { "locale": "en", "strength": 2 } };
    database.run_command(create).await.unwrap();
    let many = bottles(["B", "a", "C", "d"]);
    handle
        .collection::<Document>()
        .insert_many(&many)
        .await
        .unwrap();
    let mut order = Vec::new();
    let run = handle.migrate_to_attributes().batch_size(1);
    let run = run.on_progress(|done| order.push(done.last_id.clone()));
    assert_eq!(counts(&run.await.unwrap()), [4, 4, 0, 0, 0]);
    assert_eq!(order, ["a", "B", "C", "d"].map(Bson::from));
}
