//! The stored size of buckets that are closed by bytes, after edits.

use bucket_mongo::{Bucketed, Which, bson::DateTime, testing::TestDatabase};
use bucket_tests::{Load, database, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 100,
    max_bytes = "64KiB",
    stats = "stats",
    attributes(array = "attrs", store = "bucket")
)]
struct Visit {
    #[bucket(key)]
    page: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(tally = "browsers")]
    browser: String,
    #[bucket(attribute(array = "attrs", k = "country"))]
    country: String,
}

fn visit(id: i64, browser: &str, country: &str) -> Visit {
    Visit {
        page: "/".to_owned(),
        at: DateTime::from_millis(id),
        id,
        browser: browser.to_owned(),
        country: country.to_owned(),
    }
}

async fn size(database: &TestDatabase) -> i64 {
    let documents = documents(database, "visits").await;
    let sizes = documents.iter().map(|bucket| bucket.get("bytes").unwrap());
    let number =
        |size: &bucket_mongo::bson::Bson| size.as_i64().or(size.as_i32().map(i64::from)).unwrap();
    sizes.map(number).sum()
}

#[tokio::test]
async fn tallied_values_and_shared_attributes_count_as_in_an_insert() {
    let database = database().await;
    let visits = Visit::buckets(&database);
    visits.ensure().await.unwrap();
    let (short, long) = ("a".repeat(3), "b".repeat(70));
    let new = [
        visit(1, &short, "x"),
        visit(2, &short, "x"),
        visit(3, &short, "x"),
    ];
    visits.load(&new).await;

    for (id, browser, country) in [
        (1, &long, "x"),
        (2, &short, "another one"),
        (3, &long, &long),
    ] {
        let update = visits.update("/", Which::id(&id), |visit| {
            visit.browser.clone_from(browser);
            country.clone_into(&mut visit.country);
        });
        assert!(update.await.unwrap().is_some());
        let report = visits.verify().await.unwrap();
        assert!(report.findings.is_empty(), "{id}: {report}");
    }

    let edited = size(&database).await;
    visits.delete_key("/").await.unwrap();
    let again = [
        visit(1, &long, "x"),
        visit(2, &short, "another one"),
        visit(3, &long, &long),
    ];
    visits.load(&again).await;
    assert_eq!(edited, size(&database).await);
    visits.insert(&visit(4, &short, "x")).await.unwrap();
    let before = size(&database).await;
    let update = visits.update("/", Which::id(&1_i64), |visit| {
        visit.browser.clone_from(&short);
    });
    update.await.unwrap();
    assert_eq!(
        size(&database).await,
        before,
        "an edit makes no bucket smaller"
    );
    assert!(visits.verify().await.unwrap().findings.is_empty());
}
