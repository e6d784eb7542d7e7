//! Edits of what other writers have changed meanwhile, of large records, and of records with more than the model knows.

use bucket_mongo::{
    Bucketed, ErrorKind, Which,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "files", items = "files", capacity = 1)]
struct File {
    #[bucket(key)]
    folder: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 2_000,
    attributes(array = "attrs", store = "bucket")
)]
struct Visit {
    #[bucket(key)]
    page: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "attrs", k = "country"))]
    country: String,
    seconds: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "orders", capacity = 10)]
struct Order {
    #[bucket(key)]
    shop: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[serde(alias = "colour", default, skip_serializing_if = "String::is_empty")]
    color: String,
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    sku: String,
    pieces: i64,
}

fn visit(second: i64) -> Visit {
    Visit {
        page: 1,
        at: DateTime::from_millis(second * 1_000),
        country: "de".to_owned(),
        seconds: second,
    }
}

/// Changes the one document of a collection as another tool does.
async fn change(database: &TestDatabase, collection: &str, set: Document) {
    let collection = database.collection::<Document>(collection);
    let changed = collection.update_one(doc! {}, doc! { "$set": set }).await;
    assert_eq!(changed.unwrap().modified_count, 1);
}

#[tokio::test]
async fn a_record_of_ten_megabytes_is_updated_and_removed() {
    let database = database().await;
    let files = File::buckets(&database);
    files.ensure().await.unwrap();
    let mut file = File {
        folder: 1,
        at: DateTime::from_millis(0),
        id: 7,
        text: "a".repeat(10_000_000),
    };
    files.insert(&file).await.unwrap();
    let which = Which::id(&7_i64);
    file.text = "b".repeat(10_000_001);
    let update = files.update(1, &which, |stored| stored.text.clone_from(&file.text));
    assert_eq!(update.await.unwrap().as_ref(), Some(&file));
    let found: Vec<File> = files.records(1).collect().await.unwrap();
    assert!(found == [file.clone()]);
    let gone = files.delete(1, &which).await.unwrap();
    assert!(gone == Some(file));
    assert!(files.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn many_records_of_a_bucket_go_at_once_and_others_stay() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let stored = visits.insert_many((0..1_500).map(visit)).await.unwrap();
    stored.into_result().unwrap();
    let range = ..DateTime::from_millis(1_400_000);
    assert_eq!(visits.delete_range(1, range).await.unwrap().records, 1_400);
    let left: Vec<Visit> = visits.records(1).collect().await.unwrap();
    assert_eq!(left, (1_400..1_500).map(visit).collect::<Vec<Visit>>());
    assert!(visits.verify().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_record_whose_bucket_holds_other_attributes_now_is_another_one() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let stored = visits.insert_many((0..3).map(visit)).await.unwrap();
    stored.into_result().unwrap();
    let read = visits.records(1).with_refs().collect().await.unwrap();
    let newest = visits.latest(1).with_refs().await.unwrap().unwrap();
    assert_eq!(newest.reference, read[2].reference);
    let page = visits.page(1, 1).with_refs().await.unwrap();
    assert_eq!(page[2].reference, newest.reference);
    let longer = |visit: &mut Visit| visit.seconds += 10;
    let updated = visits.update(1, &read[0].reference, longer).await.unwrap();
    assert_eq!(updated.unwrap().seconds, 10);
    let other = vec![doc! { "k": "country", "v": "fr" }];
    change(&database, "visits", doc! { "attrs": other }).await;
    for read in &read[1..] {
        let error = visits.update(1, &read.reference, longer).await.unwrap_err();
        assert!(error.is_changed(), "{error:?}");
        let error = visits.delete(1, &read.reference).await.unwrap_err();
        assert!(error.is_changed(), "{error:?}");
    }
}

#[tokio::test]
async fn what_the_model_does_not_know_stays_where_it_is_and_is_never_lost_silently() {
    let database = database().await;
    let orders = Order::buckets(&database);
    orders.ensure().await.unwrap();
    let line = |sku: &str| Line {
        sku: sku.to_owned(),
        pieces: 1,
    };
    let order = Order {
        shop: 1,
        at: DateTime::from_millis(0),
        id: 7,
        color: String::new(),
        lines: vec![line("a"), line("b")],
    };
    orders.insert(&order).await.unwrap();
    let more = doc! {
        "orders.0.colour": "", "orders.0.note": 1, "orders.0.lines.0.note": 2,
        "orders.0.lines.1.inner": { "deep": [1] },
    };
    change(&database, "orders", more).await;
    let which = Which::id(&7_i64);
    let update = orders.update(1, &which, |order| {
        order.color = "blue".to_owned();
        order.lines[1].pieces = 5;
    });
    update.await.unwrap();
    let stored = documents(&database, "orders").await.remove(0);
    let stored = stored.get_array("orders").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(stored.get_str("color").unwrap(), "blue");
    assert!(stored.get("colour").is_none());
    assert_eq!(stored.get_i32("note").unwrap(), 1);
    let lines = vec![
        doc! { "sku": "a", "pieces": 1_i64, "note": 2 }.into(),
        doc! { "sku": "b", "pieces": 5_i64, "inner": { "deep": [1] } }.into(),
    ];
    assert_eq!(stored.get_array("lines").unwrap(), &lines);
    // It is not clear which one was removed.
    let update = orders.update(1, &which, |order| {
        order.lines.truncate(1);
        order.lines[0].pieces = 9;
    });
    let error = update.await.unwrap_err();
    assert!(error.is_invalid_input(), "{error:?}");
    let ErrorKind::UnknownField { path, .. } = error.kind() else {
        panic!("{error:?}");
    };
    assert_eq!(path, "lines.0.note");
    // A move would lose it.
    let update = orders.update(1, &which, |order| order.shop = 2);
    let error = update.await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Moves { .. }), "{error:?}");
    let report = orders.verify().await.unwrap();
    assert!(report.is_clean(), "{report} {:?}", report.findings);
}
