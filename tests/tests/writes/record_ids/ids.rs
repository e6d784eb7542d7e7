//! Which ids are equal, and which are invalid.

use bucket_mongo::{Bucketed, ErrorKind, RecordOutcome, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

use super::models::{Counted, Order};

#[tokio::test]
async fn an_id_belongs_only_to_its_key() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let others = [1, 2].map(|customer| Counted {
        customer,
        ..Counted::of(3, customer)
    });
    let report = buckets.insert_many(&others).await.unwrap();
    assert_eq!((report.stored(), report.duplicates().len()), (2, 0));
    assert_eq!(
        buckets.insert(&others[0]).await.unwrap().outcome,
        RecordOutcome::Duplicate
    );
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "letters", items = "letters", capacity = 3)]
struct Letter {
    #[bucket(key)]
    recipient: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: String,
}

#[tokio::test]
async fn ids_are_compared_exactly_whatever_they_look_like() {
    let database = database().await;
    let buckets = Letter::buckets(&database);
    buckets.ensure().await.unwrap();
    let ids = [
        "",
        "$id",
        "$$this.id",
        "a.b",
        "a",
        "A",
        "letters.id",
        "{}",
        "\u{1F600}",
        "1",
        "01",
    ];
    let letters = ids.map(|id| Letter {
        recipient: "$a.b".to_owned(),
        at: DateTime::from_millis(1_700_000_000_000),
        id: id.to_owned(),
    });
    let report = buckets.insert_many(&letters).await.unwrap();
    assert_eq!(report.stored(), ids.len());
    for letter in &letters {
        let inserted = buckets.insert(letter).await.unwrap();
        assert_eq!(inserted.outcome, RecordOutcome::Duplicate, "{}", letter.id);
    }
    let report = buckets.insert_many(&letters).await.unwrap();
    assert_eq!(report.duplicates().len(), ids.len());
}

#[tokio::test]
async fn an_id_that_is_too_long_for_an_index_is_refused_before_anything_is_sent() {
    let database = database().await;
    let buckets = Letter::buckets(&database);
    buckets.ensure().await.unwrap();
    let letter = Letter {
        recipient: "a".to_owned(),
        at: DateTime::from_millis(0),
        id: "x".repeat(2_000),
    };
    let error = buckets.insert(&letter).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Encode(_)), "{error:?}");
    assert!(error.to_string().contains("record id `id`"), "{error}");
}
