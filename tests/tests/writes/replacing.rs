//! Inserts that replace what is stored under a record id: the newest version wins, once.

use std::{collections::BTreeMap, fmt::Debug};

use bucket_core::EncodeError;
use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, InsertReport, RecordOutcome, Which,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

/// A record of any of the models.
trait Price: Bucketed<Key: for<'a> From<&'a str>> + Clone + Debug + PartialEq {
    fn of(id: i64, version: i64, second: i64) -> Self;
    fn id(&self) -> i64;
    fn version(&self) -> i64;
}

macro_rules! models {
    ($($test:ident $name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "prices", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            product: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum, max, avg = "avg")]
            version: i64,
        }

        impl Price for $name {
            fn of(id: i64, version: i64, second: i64) -> Self {
                let at = DateTime::from_millis(1_698_335_220_000 + second * 1_000);
                Self { product: "a".to_owned(), at, id, version }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn version(&self) -> i64 {
                self.version
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            the_newest_version_wins::<$name>().await;
        }
    )*};
}

models! {
    versions_in_counted_buckets Counted [capacity = 3];
    versions_in_windows Windowed [window = "1m", capacity = 3];
    versions_in_hybrid_buckets Hybrid [capacity = 3, max_duration = "1m", late = "side"];
    versions_in_numbered_buckets Numbered [capacity = 3, numbered];
}

async fn stored<T: Price>(prices: &Buckets<T>) -> BTreeMap<i64, T> {
    let found: Vec<T> = prices.records("a").collect().await.unwrap();
    let number = found.len();
    let found: BTreeMap<i64, T> = found.into_iter().map(|one| (one.id(), one)).collect();
    assert_eq!(found.len(), number);
    let report = prices.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");
    found
}

/// Four tasks deliver versions of the same records, each several times and in an order of its own.
async fn the_newest_version_wins<T: Price>() {
    const IDS: i64 = 12;
    const VERSIONS: i64 = 5;
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let all = (0..IDS).flat_map(|id| (1..=VERSIONS).map(move |version| (id, version)));
    let all: Vec<(i64, i64)> = all.collect();
    let tasks = (0..4_u8).map(|task| {
        let (database, all) = (database.clone(), all.clone());
        tokio::spawn(async move {
            let prices = T::buckets(&database);
            let mut draw = Draw::new(task);
            let order = draw.draw(Just(all).prop_shuffle());
            for (id, version) in order {
                // Some versions belong to another window.
                let price = T::of(id, version, id + (version % 2) * 90);
                let insert = prices.insert(&price);
                let insert = insert.replace_if(|stored, new| new.version() > stored.version());
                let outcome = insert.await.unwrap().outcome;
                assert_ne!(outcome, RecordOutcome::Conflict);
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.unwrap();
    }
    let prices = T::buckets(&database);
    let newest = (0..IDS).map(|id| (id, T::of(id, VERSIONS, id + 90)));
    assert_eq!(stored(&prices).await, newest.collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_outcome_says_what_is_stored_now() {
    let database = database().await;
    let prices = Windowed::buckets(&database);
    prices.ensure().await.unwrap();
    let newer = |stored: &Windowed, new: &Windowed| new.version > stored.version;
    for (version, expected, now) in [
        (2, RecordOutcome::Stored, 2),
        (2, RecordOutcome::Duplicate, 2),
        (1, RecordOutcome::Superseded, 2),
        (3, RecordOutcome::Replaced, 3),
        (2, RecordOutcome::Superseded, 3),
    ] {
        let price = Windowed::of(1, version, 0);
        let inserted = prices.insert(&price).replace_if(newer).await.unwrap();
        assert_eq!(inserted.outcome, expected);
        assert_eq!(stored(&prices).await[&1].version, now);
    }
    let old = Windowed::of(1, 1, 500);
    assert!(prices.insert(&old).await.unwrap_err().is_conflict());
    let replaced = prices.insert(&old).replace().await.unwrap();
    assert_eq!(replaced.outcome, RecordOutcome::Replaced);
    assert_eq!(stored(&prices).await[&1], old);
    // A removed record stays removed.
    prices
        .delete("a", Which::id(&1_i64))
        .await
        .unwrap()
        .unwrap();
    let removed = prices.insert(&Windowed::of(1, 9, 500)).replace().await;
    assert_eq!(removed.unwrap().outcome, RecordOutcome::Duplicate);
    assert!(stored(&prices).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_in_a_transaction_is_undone_with_it() {
    let database = database().await;
    let prices = Windowed::buckets(&database);
    prices.ensure().await.unwrap();
    let (old, new, other) = (
        Windowed::of(1, 1, 0),
        Windowed::of(1, 2, 300),
        Windowed::of(2, 1, 0),
    );
    prices.insert(&old).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    for commits in [false, true] {
        session.start_transaction().await.unwrap();
        let replaced = prices.insert(&new).replace().session(&mut session).await;
        assert_eq!(replaced.unwrap().outcome, RecordOutcome::Replaced);
        let added = prices.insert(&other).replace().session(&mut session).await;
        assert_eq!(added.unwrap().outcome, RecordOutcome::Stored);
        if commits {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(stored(&prices).await, [(1, old.clone())].into());
        }
    }
    assert_eq!(stored(&prices).await, [(1, new), (2, other)].into());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "prices", items = "items", capacity = 3)]
struct WithoutIds {
    #[bucket(key)]
    product: String,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test(flavor = "multi_thread")]
async fn without_record_ids_there_is_nothing_to_replace() {
    let database = database().await;
    let prices = WithoutIds::buckets(&database);
    prices.ensure().await.unwrap();
    let price = WithoutIds {
        product: "a".to_owned(),
        at: DateTime::now(),
    };
    let error = prices.insert(&price).replace().await.unwrap_err();
    assert!(error.is_invalid_input(), "{error}");
    let collection = database.collection::<WithoutIds>("prices");
    assert_eq!(collection.count_documents(doc! {}).await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_sessions_replace_one_record_without_conflicts() {
    let database = database().await;
    Windowed::buckets(&database).ensure().await.unwrap();
    let tasks = (0..4_i64).map(|task| {
        let database = database.clone();
        tokio::spawn(async move {
            let prices = Windowed::buckets(&database);
            let mut session = database.client().start_session().await.unwrap();
            for version in 0..20 {
                let price = Windowed::of(version % 3, task * 100 + version, 0);
                let insert = prices.insert(&price).replace().session(&mut session);
                insert.await.unwrap();
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(stored(&Windowed::buckets(&database)).await.len(), 3);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "prices",
    items = "items",
    capacity = 10,
    max_duration = "1m",
    late = "reject",
    on_conflict = "replace"
)]
struct InTime {
    #[bucket(key)]
    product: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(version)]
    version: i64,
    text: String,
}

/// Of this second.
fn in_time(product: &str, id: i64, second: i64, version: i64) -> InTime {
    InTime {
        product: product.to_owned(),
        at: DateTime::from_millis(1_700_000_000_000 + second * 1_000),
        id,
        version,
        text: String::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_version_is_not_late_and_a_new_record_is() {
    let database = database().await;
    let prices = InTime::buckets(&database);
    prices.ensure().await.unwrap();
    let of = |id, second, version| in_time("a", id, second, version);
    let is_late =
        |error: &Error| matches!(error.kind(), ErrorKind::Encode(EncodeError::Late { .. }));
    prices.load([of(1, 0, 1), of(2, 100, 1)]).await;
    let outcome = async |record: InTime| prices.insert(&record).await.map(|it| it.outcome);
    assert_eq!(outcome(of(1, 0, 2)).await.unwrap(), RecordOutcome::Replaced);
    assert_eq!(
        outcome(of(1, 0, 2)).await.unwrap(),
        RecordOutcome::Duplicate
    );
    assert_eq!(
        outcome(of(1, 0, 1)).await.unwrap(),
        RecordOutcome::Superseded
    );
    assert!(is_late(&outcome(of(3, 0, 1)).await.unwrap_err()));
    let batch = [of(1, 0, 4), of(4, 0, 1), of(5, 110, 1), of(1, 0, 3)];
    let report = prices.insert_many(batch).await.unwrap();
    assert_eq!(
        (report.stored(), report.replaced()),
        (1, &[0][..]),
        "{report:?}"
    );
    assert_eq!(report.superseded(), [3]);
    let [failed] = report.failed() else {
        panic!("{report:?}")
    };
    assert!(failed.index == 1 && is_late(&failed.error), "{failed:?}");
    let stored = prices.records("a").collect().await.unwrap();
    assert_eq!(stored, [of(1, 0, 4), of(2, 100, 1), of(5, 110, 1)]);
    assert!(prices.verify().await.unwrap().is_clean());
}

/// The others have other keys.
#[tokio::test(flavor = "multi_thread")]
async fn each_record_of_a_transaction_gets_its_own_outcome() {
    let database = database().await;
    let prices = InTime::buckets(&database);
    prices.ensure().await.unwrap();
    let of = |product, second, version| in_time(product, 1, second, version);
    let first = ["a", "b", "c"].map(|product| of(product, 1_000, 1));
    prices.load(first).await;
    let client = prices.database().client().clone();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // It would move, and the model takes no late ones: half of it is done by then, so the transaction ends.
    let batch = [of("a", 0, 2), of("b", 1_000, 2), of("c", 1_000, 2)];
    let report = prices.insert_many(batch).session(&mut session);
    let report = report.await.unwrap();
    assert_eq!(report.replaced(), [], "{report:?}");
    let refused: Vec<bool> = report
        .failed()
        .iter()
        .map(|of| of.error.is_invalid_input())
        .collect();
    assert_eq!(refused, [true, false, false], "{report:?}");
    each_has_its_key(&report);
    for product in ["a", "b", "c"] {
        let stored = prices.records(product).collect().await.unwrap();
        assert_eq!(stored, [of(product, 1_000, 1)]);
    }

    // These are refused before anything is done.
    let stored = prices.collection::<Document>();
    let damages = [
        doc! { "$set": { "items.0.unknown": 1 } },
        doc! { "$set": { "items.0.text": 1 }, "$unset": { "items.0.unknown": 1 } },
    ];
    let change = async |by| {
        let of_a = doc! { "product": "a" };
        stored.update_one(of_a, by).await.unwrap();
    };
    for (version, damage) in (2..).zip(damages) {
        change(damage).await;
        session.start_transaction().await.unwrap();
        let batch = [
            of("a", 0, version),
            of("b", 1_000, version),
            of("c", 1_000, version),
        ];
        let report = prices.insert_many(batch).session(&mut session);
        let report = report.await.unwrap();
        assert_eq!(report.replaced(), [1, 2], "{report:?}");
        let [failed] = report.failed() else {
            panic!("{report:?}")
        };
        assert_eq!(failed.index, 0);
        session.commit_transaction().await.unwrap();
        for product in ["b", "c"] {
            let stored = prices.records(product).collect().await.unwrap();
            assert_eq!(stored, [of(product, 1_000, version)]);
        }
    }

    change(doc! { "$set": { "items.0.text": "" } }).await;

    // What ends it names each record with its own key.
    session.start_transaction().await.unwrap();
    let batch = [of("a", 1_000, 4), of("b", 1_000, 4), of("c", 1_000, 4)];
    let other = of("a", 1_000, 9);
    prices
        .insert(&of("z", 0, 1))
        .session(&mut session)
        .await
        .unwrap();
    prices.insert(&other).await.unwrap();
    let report = prices.insert_many(batch).session(&mut session);
    let report = report.await.unwrap();
    each_has_its_key(&report);
}

/// The records after the first 32 MB of a call go into commands of their own.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_stored_after_a_refusal_has_ended_the_transaction() {
    let database = database().await;
    let prices = InTime::buckets(&database);
    prices.ensure().await.unwrap();
    let of = |product, second, id, length| InTime {
        text: "x".repeat(length),
        ..in_time(product, id, second, second)
    };
    prices.load([of("a", -1_000, 1, 1), of("a", 0, 2, 1)]).await;
    let client = prices.database().client().clone();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    // It would move into a bucket that takes no late records.
    let moves = of("a", -500, 1, 1);
    let large = (0..40).map(|id| of("b", id, id, 1 << 20));
    let last = (0..20).map(|id| of("c", id, id, 1));
    let batch: Vec<InTime> = [moves].into_iter().chain(large).chain(last).collect();
    let report = prices.insert_many(&batch).session(&mut session);
    let report = report.await.unwrap();
    assert!(report.failed()[0].error.is_invalid_input(), "{report:?}");
    assert!(report.stopped_by().is_some());
    assert!(session.commit_transaction().await.is_err());
    for (product, records) in [("a", 2), ("b", 0), ("c", 0)] {
        let stored = prices.records(product).collect().await.unwrap();
        assert_eq!(stored.len(), records, "{product}");
    }
}

/// All three of them failed.
fn each_has_its_key(report: &InsertReport) {
    let keys: Vec<Option<&str>> = report.failed().iter().map(|of| of.error.key()).collect();
    assert_eq!(keys.len(), 3, "{report:?}");
    for (key, expected) in keys.iter().zip(["\"a\"", "\"b\"", "\"c\""]) {
        assert!(key.unwrap().contains(expected), "{report:?}");
    }
    let mut failed = report.failed().iter();
    assert!(
        failed.all(|of| of.error.operation() == "insert_many"),
        "{report:?}"
    );
}
