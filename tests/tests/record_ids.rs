//! Records with an id (`#[bucket(unique)]`): whatever comes again is a reported duplicate, other data
//! under the same id a reported conflict, and the buckets are as if it had come once.

#[path = "common/explained.rs"]
mod explained;

use std::collections::BTreeSet;

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordOutcome,
    bson::{DateTime, Document, doc},
    core::{index::Drift, read::FindPlan, write::Batch},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

use self::explained::explain;

/// A record that its id tells everything of, but for the amount.
trait Order: Bucketed + Clone {
    fn of(id: i64, amount: i64) -> Self;
}

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            #[serde(rename = "orderId")]
            id: i64,
            #[bucket(sum = "total", $($aggregates)*)]
            amount: i64,
        }

        impl Order for $name {
            fn of(id: i64, amount: i64) -> Self {
                Self {
                    customer: id.rem_euclid(3),
                    at: DateTime::from_millis(1_700_000_000_000 + id * 400),
                    id,
                    amount,
                }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 10] [min, max]
    Windowed: [window = "20s", capacity = 10] [min, max]
    Sized: [window = "20s", max_bytes = "1KB"] [min, max]
    Timed: [max_duration = "20s", capacity = 10] [min, max]
    Numbered: [capacity = 10, numbered] [min, max]
    // Written by a pipeline.
    Averaged: [capacity = 10] [avg = "mean"]
}

/// The ids that are stored, each of them once, and their amounts; counts and sums are those of the items.
async fn stored(database: &bucket_mongo::testing::TestDatabase) -> Vec<(i64, i64)> {
    let mut stored = Vec::new();
    for document in documents(database, "orders").await {
        let items = document.get_array("items").unwrap();
        let items = items.iter().map(|item| item.as_document().unwrap());
        let own = items.map(|item| {
            (
                item.get_i64("orderId").unwrap(),
                item.get_i64("amount").unwrap(),
            )
        });
        let own: Vec<(i64, i64)> = own.collect();
        assert_eq!(
            usize::try_from(document.get_i32("count").unwrap()),
            Ok(own.len())
        );
        let total: i64 = own.iter().map(|(_, amount)| amount).sum();
        let stats = document.get_document("stats").unwrap();
        assert_eq!(stats.get_i64("total").unwrap(), total);
        stored.extend(own);
    }
    stored.sort_unstable();
    let ids: BTreeSet<i64> = stored.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids.len(), stored.len(), "an id is stored twice");
    stored
}

/// Delivers records in this order; gives how many were stored and how many were duplicates.
async fn deliver<T: Order>(buckets: &Buckets<T>, ids: impl Iterator<Item = i64>) -> (usize, usize) {
    let records: Vec<T> = ids.map(|id| T::of(id, id)).collect();
    let report = buckets.insert_many(&records).await.unwrap();
    assert!(report.failed().is_empty(), "{:?}", report.failed());
    assert_eq!(report.stored() + report.duplicates().len(), records.len());
    (report.stored(), report.duplicates().len())
}

/// Batches that overlap, come in another order and in other shapes, from handles that remember and
/// handles that do not, and single records.
async fn check_redelivery<T: Order>() {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    assert_eq!(deliver(&buckets, 0..60).await, (60, 0));
    assert_eq!(deliver(&buckets, 0..60).await, (0, 60));
    assert_eq!(deliver(&T::buckets(&database), 30..90).await, (30, 30));
    assert_eq!(deliver(&buckets, (0..100).rev()).await, (10, 90));
    assert_eq!(deliver(&buckets, (85..130).step_by(3)).await, (10, 5));
    assert_eq!(
        deliver(&buckets, (0..20).flat_map(|id| [id + 120, id + 120]))
            .await
            .0,
        17
    );
    for id in [5, 140, 141, 140, 99] {
        let inserted = buckets.insert(&T::of(id, id)).await.unwrap();
        let expected = match id {
            141 => RecordOutcome::Stored,
            _ if inserted.outcome == RecordOutcome::Stored => RecordOutcome::Stored,
            _ => RecordOutcome::Duplicate,
        };
        assert_eq!(inserted.outcome, expected);
        let again = buckets.insert(&T::of(id, id)).await.unwrap();
        assert_eq!(
            (again.outcome, again.opened_bucket),
            (RecordOutcome::Duplicate, false)
        );
    }
    deliver(&buckets, 0..2_000).await;
    assert_eq!(deliver(&T::buckets(&database), 0..2_000).await, (0, 2_000));
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..2_000).map(|id| (id, id))));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_take_what_is_redelivered_once() {
    check_redelivery::<Counted>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_take_what_is_redelivered_once() {
    check_redelivery::<Windowed>().await;
    check_redelivery::<Sized>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_take_what_is_redelivered_once() {
    check_redelivery::<Timed>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_take_what_is_redelivered_once() {
    check_redelivery::<Numbered>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn buckets_with_a_stored_average_take_what_is_redelivered_once() {
    check_redelivery::<Averaged>().await;
}

/// Consumers of the same records that know nothing of each other: each record is stored by one.
async fn check_consumers<T: Order>() {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let consumers: Vec<_> = (0..4_i64)
        .map(|number| {
            let buckets = T::buckets(&database);
            tokio::spawn(async move {
                let (mut from, mut new) = (0, 0);
                while from < 600 {
                    let to = (from + 3 + 17 * number).min(600);
                    new += deliver(&buckets, from..to).await.0;
                    from = to;
                }
                new
            })
        })
        .collect();
    let mut new = 0;
    for consumer in consumers {
        new += consumer.await.unwrap();
    }
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..600).map(|id| (id, id))));
    assert_eq!(new, 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn consumers_of_the_same_records_at_the_same_time_store_each_once() {
    check_consumers::<Counted>().await;
    check_consumers::<Windowed>().await;
    check_consumers::<Timed>().await;
    check_consumers::<Numbered>().await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10, numbered)]
struct Spread {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    #[serde(rename = "orderId")]
    id: i64,
    #[bucket(sum = "total")]
    amount: i64,
}

/// So many keys that calls of one handle share their statements.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_share_statements_store_each_record_once_and_are_told_of_their_own() {
    let database = database().await;
    let buckets = Spread::buckets(&database);
    buckets.ensure().await.unwrap();
    let calls: Vec<_> = (0..6_i64)
        .map(|task| {
            let buckets = buckets.clone();
            tokio::spawn(async move {
                let mut new = 0;
                for from in (0..1_600).step_by(160) {
                    // All tasks have most of a batch in common, and the last record comes twice.
                    let mut ids: Vec<i64> = (from + task..from + 200 + task).collect();
                    ids.push(from + 199 + task);
                    let of = |id: &i64| Spread {
                        customer: id % 80,
                        at: DateTime::from_millis(1_700_000_000_000 + id),
                        id: *id,
                        amount: *id,
                    };
                    let mut records: Vec<Spread> = ids.iter().map(of).collect();
                    records.push(Spread {
                        amount: -1,
                        ..records[0].clone()
                    });
                    let report = buckets.insert_many(&records).await.unwrap();
                    let told = |outcome| {
                        let outcomes = (0..records.len()).map(|index| report.outcome(index));
                        outcomes.filter(|other| *other == outcome).count()
                    };
                    assert_eq!(report.stored(), told(RecordOutcome::Stored));
                    assert_eq!(told(RecordOutcome::Conflict), 1, "{:?}", report.failed());
                    assert_eq!(report.outcome(201), RecordOutcome::Conflict);
                    assert_eq!(report.outcome(200), RecordOutcome::Duplicate);
                    assert_eq!(report.stored() + report.duplicates().len(), 201);
                    new += report.stored();
                }
                new
            })
        })
        .collect();
    let mut new = 0;
    for call in calls {
        new += call.await.unwrap();
    }
    assert_eq!(new, 1_645);
    let stored = stored(&database).await;
    assert!(stored.into_iter().eq((0..1_645).map(|id| (id, id))));
}

#[tokio::test]
async fn other_data_under_a_stored_id_is_a_conflict_and_changes_nothing() {
    let database = database().await;
    let buckets = Numbered::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..30).await;
    let before = documents(&database, "orders").await;
    let error = buckets.insert(&Numbered::of(7, 8)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Conflict { id } if id == "7"),
        "{error:?}"
    );
    assert!(error.is_conflict() && !error.is_retryable() && !error.is_outcome_unknown());
    let records = [
        Numbered::of(7, 7),
        Numbered::of(7, 8),
        Numbered::of(8, 8),
        Numbered::of(9, 0),
    ];
    let report = buckets.insert_many(&records).await.unwrap();
    let outcomes: Vec<_> = (0..5).map(|index| report.outcome(index)).collect();
    let (duplicate, conflict) = (RecordOutcome::Duplicate, RecordOutcome::Conflict);
    assert_eq!(
        outcomes,
        [
            duplicate,
            conflict,
            duplicate,
            conflict,
            RecordOutcome::NotTried
        ]
    );
    assert!(report.is_stored(0) && !report.is_stored(1));
    assert!(report.into_result().unwrap_err().is_conflict());
    assert_eq!(documents(&database, "orders").await, before);
}

#[tokio::test]
async fn an_id_that_comes_twice_in_a_batch_is_stored_once() {
    use RecordOutcome::{Conflict, Duplicate, Stored};

    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let of = Counted::of;
    let records = [of(1, 1), of(4, 4), of(1, 1), of(4, 5), of(4, 4), of(7, 7)];
    let report = buckets.insert_many(&records).await.unwrap();
    let outcomes: Vec<_> = (0..6).map(|index| report.outcome(index)).collect();
    assert_eq!(
        outcomes,
        [Stored, Stored, Duplicate, Conflict, Duplicate, Stored]
    );
    assert_eq!(
        (report.stored(), report.duplicates()),
        (3, [2, 4].as_slice())
    );
    assert_eq!(stored(&database).await, [(1, 1), (4, 4), (7, 7)]);
    // What is stored decides, not what comes first.
    let report = buckets
        .insert_many(&[of(1, 2), of(1, 1), of(1, 2)])
        .await
        .unwrap();
    let outcomes: Vec<_> = (0..3).map(|index| report.outcome(index)).collect();
    assert_eq!(outcomes, [Conflict, Duplicate, Conflict]);
    assert_eq!(stored(&database).await, [(1, 1), (4, 4), (7, 7)]);
}

#[tokio::test]
async fn an_id_is_that_of_its_key_alone() {
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
async fn ids_are_compared_as_they_are_whatever_they_look_like() {
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

#[tokio::test(flavor = "multi_thread")]
async fn an_ingestor_tells_of_each_record_whether_it_is_new() {
    let database = database().await;
    let buckets = Windowed::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..100).await;
    let ingestor = buckets.ingestor().start().unwrap();
    let mut receipts = Vec::new();
    for id in 50..150 {
        receipts.push((id, ingestor.push(&Windowed::of(id, id)).await.unwrap()));
    }
    let twice = ingestor.push(&Windowed::of(149, 149)).await.unwrap();
    let conflict = ingestor.push(&Windowed::of(3, 4)).await.unwrap();
    ingestor.flush().await;
    for (id, receipt) in receipts {
        let new = receipt.await.unwrap();
        let expected = if id < 100 {
            RecordOutcome::Duplicate
        } else {
            RecordOutcome::Stored
        };
        assert_eq!(new, expected, "{id}");
    }
    assert_eq!(twice.await.unwrap(), RecordOutcome::Duplicate);
    assert!(conflict.await.unwrap_err().is_conflict());
    let report = ingestor.shutdown().await;
    assert_eq!(
        (report.stored(), report.duplicates(), report.not_stored()),
        (50, 51, 1)
    );
    assert_eq!((report.accepted(), report.pending()), (102, 0));
    assert!(
        stored(&database)
            .await
            .into_iter()
            .eq((0..150).map(|id| (id, id)))
    );
}

#[tokio::test]
async fn inside_of_a_transaction_duplicates_do_not_end_it() {
    let database = database().await;
    let buckets = Timed::buckets(&database);
    buckets.ensure().await.unwrap();
    deliver(&buckets, 0..40).await;
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // Late ones too, which go into other buckets.
    let records: Vec<Timed> = (0..100).rev().map(|id| Timed::of(id, id)).collect();
    let report = buckets
        .insert_many(&records)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(
        (report.stored(), report.duplicates().len()),
        (60, 40),
        "{:?}",
        report.failed()
    );
    let inserted = buckets
        .insert(&records[0])
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(inserted.outcome, RecordOutcome::Duplicate);
    session.commit_transaction().await.unwrap();
    assert!(
        stored(&database)
            .await
            .into_iter()
            .eq((0..100).map(|id| (id, id)))
    );
}

#[tokio::test]
async fn without_the_index_nothing_is_stored() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    let ensured = buckets.ensure().await.unwrap();
    assert_eq!(
        ensured.created_indexes,
        ["bucket_open_10", "bucket_pages", "bucket_unique"]
    );
    let drop = doc! { "dropIndexes": "orders", "index": "bucket_unique" };
    database.run_command(drop).await.unwrap();
    let error = buckets.insert(&Counted::of(1, 1)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::MissingIndex { name } if name == "bucket_unique"),
        "{error:?}"
    );
    assert!(documents(&database, "orders").await.is_empty());
    assert_eq!(
        buckets.ensure().await.unwrap().created_indexes,
        ["bucket_unique"]
    );
    buckets.insert(&Counted::of(1, 1)).await.unwrap();
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "items", capacity = 10)]
struct WithoutIds {
    #[bucket(key)]
    customer: i64,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn an_index_on_record_ids_that_the_model_does_not_have_is_drift() {
    let database = database().await;
    Counted::buckets(&database).ensure().await.unwrap();
    let report = WithoutIds::buckets(&database).ensure().await.unwrap();
    let [Drift::RecordIds { name }] = report.drift.as_slice() else {
        panic!("{:?}", report.drift)
    };
    assert_eq!(name, "bucket_unique");
}

fn find(plan: FindPlan) -> Document {
    doc! {
        "find": "orders",
        "filter": Document::try_from(plan.filter).unwrap(),
        "projection": plan.projection,
        "hint": plan.hint,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_1_000_buckets_behind_it_a_write_examines_two_keys_and_a_look_a_few_for_each_id() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let of = |id| Counted {
        customer: 1,
        ..Counted::of(id, id)
    };
    let records: Vec<Counted> = (0..10_005).map(of).collect();
    buckets
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let newest = documents(&database, "orders").await.pop().unwrap();
    let id = newest.get_str("_id").unwrap().to_owned();

    let mut batch = Batch::<Counted>::default();
    batch.push(0, &of(20_000)).unwrap();
    batch.guess(|_| Some(id.clone()));
    for round in batch.rounds(None) {
        let command = Document::try_from(round.command().body().to_owned()).unwrap();
        let update = command.get_array("updates").unwrap()[0]
            .as_document()
            .unwrap();
        let guard = update
            .get_document("q")
            .unwrap()
            .get_document("items.orderId");
        assert_eq!(guard.unwrap(), &doc! { "$ne": 20_000_i64 });
        let explained = explain(&database, command).await;
        assert!(
            explained.keys <= 2 && explained.documents <= 2,
            "{}",
            explained.plan
        );
    }
    for ids in [1, 10, 20] {
        let mut batch = Batch::<Counted>::default();
        for (index, record) in records.iter().skip(5_000).take(ids).enumerate() {
            batch.push(index, record).unwrap();
        }
        batch.look_first();
        let explained = explain(&database, find(batch.repeats(0).unwrap())).await;
        assert!(
            explained.plan.contains("bucket_unique"),
            "{}",
            explained.plan
        );
        let most = 2 * i64::try_from(ids).unwrap() + 1;
        assert!(
            explained.keys <= most,
            "{} keys for {ids} ids",
            explained.keys
        );
        assert!(
            explained.documents <= most,
            "{} for {ids} ids",
            explained.documents
        );
    }
}
