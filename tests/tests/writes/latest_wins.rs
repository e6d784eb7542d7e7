//! Models whose records replace each other: the latest version of each id wins, once, however it arrives.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, RecordOutcome, Which,
    bson::{DateTime, doc},
};
use bucket_tests::{Load, database};
use futures_util::future::join_all;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

const KEYS: [&str; 2] = ["a", "b"];
const START: i64 = 1_698_335_220_000;

/// A record of any of the models.
trait Price:
    Bucketed<Key: for<'a> From<&'a str> + Debug> + Clone + Debug + PartialEq + Send + Sync
{
    fn of(product: &str, id: i64, version: i64) -> Self;
    fn id(&self) -> i64;
    fn version(&self) -> i64;
}

macro_rules! models {
    ($($test:ident $name:ident $start:expr, [$($attributes:tt)*] [$($attribute:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "prices", items = "items", stats = "stats", $($attributes)*)]
        #[bucket(on_conflict = "replace")]
        struct $name {
            #[bucket(key)]
            product: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(version, sum, max, avg = "avg")]
            version: i64,
            $($attribute)*
            market: Option<i32>,
        }

        impl Price for $name {
            fn of(product: &str, id: i64, version: i64) -> Self {
                // Some versions belong to another window.
                let at = $start + (id + (version % 2) * 90) * 1_000;
                Self {
                    product: product.to_owned(),
                    at: DateTime::from_millis(at),
                    id,
                    version,
                    market: (version % 3 > 0).then_some(7),
                }
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
            the_greatest_version_wins::<$name>().await;
        }
    )*};
}

/// An hour ago, the same for all records.
static RECENT: LazyLock<i64> = LazyLock::new(|| DateTime::now().timestamp_millis() - 3_600_000);

models! {
    versions_in_counted_buckets Counted START, [capacity = 3] [];
    versions_in_windows Windowed START, [window = "1m", capacity = 3] [];
    versions_in_hybrid_buckets Hybrid START, [capacity = 3, max_duration = "1m"] [];
    versions_in_hybrid_buckets_with_late_ones_at_the_side Side START,
        [capacity = 3, max_duration = "1m", late = "side"] [];
    versions_in_numbered_buckets Numbered START, [capacity = 3, numbered] [];
    versions_in_buckets_closed_by_bytes ByBytes START, [capacity = 30, max_bytes = "1KiB"] [];
    versions_in_buckets_that_expire Expiring *RECENT,
        [capacity = 3, expire_after = "30d"] [];
    versions_with_attributes Attributes START,
        [capacity = 3, attributes(array = "attrs")] [#[bucket(attribute(array = "attrs", k = "market"))]];
    versions_with_attributes_of_the_bucket Shared START,
        [window = "1m", attributes(array = "attrs", store = "bucket")] [#[bucket(attribute(array = "attrs", k = "market"))]];
}

async fn stored<T: Price>(prices: &Buckets<T>, key: &str) -> BTreeMap<i64, T> {
    let found: Vec<T> = prices.records(key).collect().await.unwrap();
    let number = found.len();
    let found: BTreeMap<i64, T> = found.into_iter().map(|one| (one.id(), one)).collect();
    assert_eq!(found.len(), number, "an id is stored twice");
    found
}

async fn is_sound<T: Price>(prices: &Buckets<T>) {
    let report = prices.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}

/// Eight writers deliver all versions of the same records, each in an order of its own: in batches, through an
/// ingestor, and one by one.
async fn the_greatest_version_wins<T: Price>() {
    const IDS: i64 = 6;
    const VERSIONS: i64 = 5;
    let database = database().await;
    let shared = T::buckets(&database);
    shared.ensure().await.unwrap();
    // The naive ledger: the greatest version of each id that anybody sent.
    let all: Vec<(&str, i64, i64)> = KEYS
        .into_iter()
        .flat_map(|key| (0..IDS).map(move |id| (key, id)))
        .flat_map(|(key, id)| (1..=VERSIONS).map(move |version| (key, id, version)))
        .collect();
    let new = Arc::new(AtomicUsize::new(0));
    let tasks = (0..8_u8).map(|task| {
        let (database, all, new) = (database.clone(), all.clone(), Arc::clone(&new));
        let prices = if task % 2 == 0 {
            shared.clone()
        } else {
            T::buckets(&database)
        };
        tokio::spawn(async move {
            let order = Draw::new(task).draw(Just(all).prop_shuffle());
            let records = order.into_iter();
            let records: Vec<T> = records
                .map(|(key, id, version)| T::of(key, id, version))
                .collect();
            let outcomes = match task % 4 {
                0 | 1 => in_batches(&prices, &records).await,
                2 => by_an_ingestor(&prices, &records).await,
                _ => one_by_one(&prices, &records).await,
            };
            let stored = outcomes
                .into_iter()
                .map(|outcome| outcome.unwrap_or_else(|error| panic!("{error}")))
                .filter(|outcome| *outcome == RecordOutcome::Stored);
            new.fetch_add(stored.count(), SeqCst);
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
    let prices = T::buckets(&database);
    for key in KEYS {
        let ledger = (0..IDS).map(|id| (id, T::of(key, id, VERSIONS)));
        assert_eq!(stored(&prices, key).await, ledger.collect());
    }
    assert_eq!(new.load(SeqCst), KEYS.len() * usize::try_from(IDS).unwrap());
    is_sound(&prices).await;
}

type Outcomes = Vec<Result<RecordOutcome, Error>>;

async fn in_batches<T: Price>(prices: &Buckets<T>, records: &[T]) -> Outcomes {
    let mut outcomes = Vec::new();
    for batch in records.chunks(17) {
        let report = prices.insert_many(batch).await.unwrap();
        assert_eq!(report.tried(), batch.len());
        outcomes.extend((0..batch.len()).map(|index| match report.error(index) {
            Some(error) => Err(error.clone()),
            None => Ok(report.outcome(index)),
        }));
    }
    outcomes
}

async fn by_an_ingestor<T: Price>(prices: &Buckets<T>, records: &[T]) -> Outcomes {
    let ingestor = prices.ingestor().max_batch_records(11).start().unwrap();
    let mut receipts = Vec::new();
    for record in records {
        receipts.push(ingestor.push(record).await.unwrap());
    }
    let outcomes = join_all(receipts).await;
    let report = ingestor.shutdown().await;
    assert!(report.is_complete() && report.pending() == 0);
    let number = |of| {
        let same = outcomes
            .iter()
            .filter(|outcome| matches!(outcome, Ok(it) if *it == of));
        u64::try_from(same.count()).unwrap()
    };
    assert_eq!(report.replaced(), number(RecordOutcome::Replaced));
    assert_eq!(report.superseded(), number(RecordOutcome::Superseded));
    assert_eq!(report.duplicates(), number(RecordOutcome::Duplicate));
    outcomes
}

async fn one_by_one<T: Price>(prices: &Buckets<T>, records: &[T]) -> Outcomes {
    let mut outcomes = Vec::new();
    for record in records {
        let inserted = prices.insert(record).await;
        outcomes.push(inserted.map(|inserted| inserted.outcome));
    }
    outcomes
}

/// A model that only reports conflicts, unless the call says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "prices", items = "items", capacity = 3)]
struct Plain {
    #[bucket(key)]
    product: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(sum)]
    version: i64,
}

impl Price for Plain {
    fn of(product: &str, id: i64, version: i64) -> Self {
        Self {
            product: product.to_owned(),
            at: DateTime::from_millis(START + id * 1_000),
            id,
            version,
        }
    }

    fn id(&self) -> i64 {
        self.id
    }

    fn version(&self) -> i64 {
        self.version
    }
}

async fn plain() -> Buckets<Plain> {
    let database = database().await;
    let prices = Plain::buckets(&database);
    prices.ensure().await.unwrap();
    prices
}

fn of_a(ids_and_versions: &[(i64, i64)]) -> Vec<Plain> {
    let each = ids_and_versions.iter();
    each.map(|(id, version)| Plain::of("a", *id, *version))
        .collect()
}

async fn versions<T: Price>(prices: &Buckets<T>, key: &str) -> Vec<(i64, i64)> {
    let stored = stored(prices, key).await.into_iter();
    stored.map(|(id, price)| (id, price.version())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_records_with_one_id_in_a_batch_the_last_wins() {
    use RecordOutcome::{Duplicate, Replaced, Stored};
    let prices = plain().await;
    let batch = of_a(&[(1, 1), (1, 2), (2, 1), (1, 1), (2, 1)]);
    let report = prices.insert_many(&batch).replace().await.unwrap();
    let outcomes = (0..5).map(|index| report.outcome(index));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [Stored, Replaced, Stored, Replaced, Duplicate]
    );
    assert_eq!((report.stored(), report.replaced()), (2, &[1, 3][..]));
    assert_eq!(versions(&prices, "a").await, [(1, 1), (2, 1)]);
    // What is stored comes after other data of its id.
    let batch = of_a(&[(1, 5), (1, 1), (3, 1)]);
    let report = prices.insert_many(&batch).replace().await.unwrap();
    assert_eq!((report.stored(), report.replaced()), (1, &[0, 1][..]));
    assert_eq!(versions(&prices, "a").await, [(1, 1), (2, 1), (3, 1)]);
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_records_of_one_version_the_first_stays() {
    let database = database().await;
    let prices = Counted::buckets(&database);
    prices.ensure().await.unwrap();
    let first = Counted::of("a", 1, 1);
    let second = Counted {
        market: None,
        ..first.clone()
    };
    for (price, expected) in [
        (&first, RecordOutcome::Stored),
        (&second, RecordOutcome::Superseded),
    ] {
        assert_eq!(prices.insert(price).await.unwrap().outcome, expected);
        assert_eq!(stored(&prices, "a").await[&1], first);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_records_with_one_id_in_a_batch_the_greatest_version_wins() {
    use RecordOutcome::{Conflict, Duplicate, Replaced, Stored, Superseded};
    let prices = plain().await;
    let newer = |stored: &Plain, new: &Plain| new.version > stored.version;
    let batch = of_a(&[(1, 2), (1, 1), (1, 4), (1, 3)]);
    let report = prices.insert_many(&batch).replace_if(newer).await.unwrap();
    let outcomes = (0..4).map(|index| report.outcome(index));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [Stored, Superseded, Replaced, Superseded]
    );
    assert_eq!(report.superseded(), [1, 3]);
    assert_eq!(versions(&prices, "a").await, [(1, 4)]);
    assert!(report.into_result().is_ok());
    // Without it, the same is a conflict.
    let report = prices.insert_many(&batch).await.unwrap();
    let outcomes = (0..4).map(|index| report.outcome(index));
    assert_eq!(
        outcomes.collect::<Vec<_>>(),
        [Conflict, Conflict, Duplicate, Conflict]
    );
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_in_a_transaction_replaces_with_it_or_not_at_all() {
    let prices = plain().await;
    prices.load(of_a(&[(1, 1), (2, 1)])).await;
    let client = prices.database().client().clone();
    let mut session = client.start_session().await.unwrap();
    for commits in [false, true] {
        session.start_transaction().await.unwrap();
        let batch = of_a(&[(3, 1), (1, 2), (3, 2), (2, 1)]);
        let insert = prices.insert_many(&batch).replace().session(&mut session);
        let report = insert.await.unwrap();
        assert_eq!((report.stored(), report.replaced()), (1, &[1, 2][..]));
        assert_eq!(report.duplicates(), [3]);
        if commits {
            session.commit_transaction().await.unwrap();
            assert_eq!(versions(&prices, "a").await, [(1, 2), (2, 1), (3, 2)]);
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(versions(&prices, "a").await, [(1, 1), (2, 1)]);
        }
    }
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_record_stays_removed() {
    let prices = plain().await;
    prices.load(of_a(&[(1, 1), (2, 1)])).await;
    prices
        .delete("a", Which::id(&1_i64))
        .await
        .unwrap()
        .unwrap();
    let batch = of_a(&[(1, 2), (1, 3), (2, 2)]);
    let report = prices.insert_many(&batch).replace().await.unwrap();
    assert_eq!(
        (report.duplicates(), report.replaced()),
        (&[0, 1][..], &[2][..])
    );
    assert_eq!(versions(&prices, "a").await, [(2, 2)]);
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_share_their_statements_replace_only_for_those_that_ask() {
    let prices = plain().await;
    let of_all = |version: i64| {
        let keys = (0..40).map(move |key| Plain::of(&format!("k{key}"), 1, version));
        keys.collect::<Vec<_>>()
    };
    prices.load(of_all(1)).await;
    let newer = |stored: &Plain, new: &Plain| new.version > stored.version;
    let calls = (2..12).map(|version| {
        let (prices, batch) = (prices.clone(), of_all(version));
        tokio::spawn(async move {
            let insert = prices.insert_many(&batch);
            if version % 2 == 0 {
                let report = insert.replace_if(newer).await.unwrap();
                assert!(report.failed().is_empty(), "{:?}", report.failed());
                assert_eq!(report.replaced().len() + report.superseded().len(), 40);
            } else {
                let report = insert.await.unwrap();
                assert_eq!(report.failed().len(), 40);
                assert!(
                    report
                        .failed()
                        .iter()
                        .all(|failed| failed.error.is_conflict())
                );
            }
        })
    });
    for call in join_all(calls).await {
        call.unwrap();
    }
    for key in 0..40 {
        assert_eq!(versions(&prices, &format!("k{key}")).await, [(1, 10)]);
    }
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_moves_to_another_key_replaces_nothing_there() {
    let database = database().await;
    let prices = Counted::buckets(&database);
    prices.ensure().await.unwrap();
    let there = Counted::of("b", 1, 1);
    for price in [&Counted::of("a", 1, 9), &there] {
        prices.insert(price).await.unwrap();
    }
    let moved = prices.update("a", Which::id(&1_i64), |price| {
        "b".clone_into(&mut price.product);
    });
    let error = moved.await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    assert_eq!(stored(&prices, "b").await, [(1, there)].into());
    assert_eq!(versions(&prices, "a").await, [(1, 9)]);
    is_sound(&prices).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_past_the_limit_is_replaced_although_reads_hide_it() {
    let database = database().await;
    let prices = Expiring::buckets(&database);
    prices.ensure().await.unwrap();
    let now = DateTime::now().timestamp_millis();
    let month = 30 * 86_400_000;
    let at = |millis, version| {
        let price = Expiring::of("a", 1, version);
        let at = DateTime::from_millis(millis);
        Expiring { at, ..price }
    };
    prices.insert(&at(now - month + 1_500, 1)).await.unwrap();
    while !stored(&prices, "a").await.is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let new = at(now, 2);
    let report = prices.insert_many([&new]).await.unwrap();
    assert!(report.failed().is_empty(), "{:?}", report.failed());
    assert_eq!(stored(&prices, "a").await, [(1, new)].into());
    is_sound(&prices).await;
}

/// A model whose last record wins, whatever it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "prices",
    items = "items",
    window = "1h",
    on_conflict = "replace"
)]
struct ByArrival {
    #[bucket(key)]
    product: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    version: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_version_the_record_that_comes_last_wins() {
    let database = database().await;
    let prices = ByArrival::buckets(&database);
    prices.ensure().await.unwrap();
    let of = |version| ByArrival {
        product: "a".to_owned(),
        at: DateTime::from_millis(START),
        id: 1,
        version,
    };
    let now = async || prices.records("a").collect().await.unwrap();
    prices.insert(&of(5)).await.unwrap();
    assert_eq!(
        prices.insert(&of(3)).await.unwrap().outcome,
        RecordOutcome::Replaced
    );
    assert_eq!(now().await, [of(3)]);
    let report = prices.insert_many([of(4), of(2)]).await.unwrap();
    assert_eq!(report.replaced(), [0, 1]);
    assert_eq!(now().await, [of(2)]);
    let ingestor = prices.ingestor().start().unwrap();
    let (first, last) = (ingestor.push(&of(7)).await, ingestor.push(&of(6)).await);
    for receipt in [first, last] {
        assert_eq!(receipt.unwrap().await.unwrap(), RecordOutcome::Replaced);
    }
    assert_eq!(now().await, [of(6)]);
    // A call may decide otherwise than the model.
    let keeps = prices.insert(&of(8)).replace_if(|_, _| false).await;
    assert_eq!(keeps.unwrap().outcome, RecordOutcome::Superseded);
    assert_eq!(now().await, [of(6)]);
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
async fn what_cannot_replace_is_refused_before_anything_is_sent() {
    let database = database().await;
    let without = WithoutIds::buckets(&database);
    let is_invalid = |error: Error| matches!(error.kind(), ErrorKind::InvalidArgument { .. });
    let none: [WithoutIds; 0] = [];
    assert!(is_invalid(
        without.insert_many(none).replace().await.unwrap_err()
    ));
    assert!(is_invalid(
        without.ingestor().replace().start().unwrap_err()
    ));
    // The position of a source would pass records that are not settled.
    let prices = Counted::buckets(&database);
    prices.ensure().await.unwrap();
    let insert = prices
        .insert_many([Counted::of("a", 1, 1)])
        .from_source("queue", 7);
    assert!(is_invalid(insert.await.unwrap_err()));
    let collection = prices.collection::<bucket_mongo::bson::Document>();
    assert_eq!(collection.count_documents(doc! {}).await.unwrap(), 0);
}
