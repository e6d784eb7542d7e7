//! What happens to late records in hybrid buckets, for each policy.

use bucket_core::EncodeError;
use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordOutcome,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

macro_rules! reading {
    ($name:ident, $late:literal) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "hybrid_buckets", items = "readings", capacity = 200)]
        #[bucket(max_duration = "1h", late = $late)]
        struct $name {
            #[bucket(key)]
            device_id: String,
            #[bucket(time)]
            timestamp: DateTime,
            #[bucket(min, max)]
            value: i32,
        }

        impl $name {
            fn at(second: i64) -> Self {
                Self {
                    device_id: "device_001".to_owned(),
                    timestamp: DateTime::from_millis(1_769_767_200_000 + second * 1_000),
                    value: i32::try_from(second).unwrap(),
                }
            }
        }
    };
}

reading!(Merge, "merge");
reading!(Side, "side");

async fn set_up<T: Bucketed>() -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    (database, buckets)
}

fn counts(found: &[Document]) -> Vec<(i32, bool)> {
    let late = |bucket: &Document| bucket.get_bool("is_late").unwrap_or(false);
    let one = |bucket: &Document| (bucket.get_i32("count").unwrap(), late(bucket));
    found.iter().map(one).collect()
}

/// Every reading is in the span of its bucket, and the aggregates are those of the readings.
fn check(found: &[Document]) {
    for bucket in found {
        let date = |name| bucket.get_datetime(name).unwrap();
        let readings = bucket.get_array("readings").unwrap();
        let readings = readings
            .iter()
            .map(|reading| reading.as_document().unwrap());
        let times: Vec<DateTime> = readings
            .clone()
            .map(|reading| *reading.get_datetime("timestamp").unwrap())
            .collect();
        assert!(date("bucket_start") <= times.iter().min().unwrap());
        assert_eq!(date("bucket_end"), times.iter().max().unwrap());
        let span = date("bucket_end").timestamp_millis() - date("bucket_start").timestamp_millis();
        assert!(span < 3_600_000, "{span}");
        let values: Vec<i32> = readings
            .map(|reading| reading.get_i32("value").unwrap())
            .collect();
        let stats = bucket.get_document("stats").unwrap();
        assert_eq!(
            stats.get_i64("min").unwrap(),
            i64::from(*values.iter().min().unwrap())
        );
        assert_eq!(
            stats.get_i64("max").unwrap(),
            i64::from(*values.iter().max().unwrap())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_record_is_stored_in_the_bucket_that_covers_it() {
    let (database, buckets) = set_up::<Merge>().await;
    for second in [0, 60, 4_000, 30, 3_599, 3_700] {
        buckets.insert(&Merge::at(second)).await.unwrap();
    }
    let found = documents(&database, "hybrid_buckets").await;
    check(&found);
    // No bucket covers 3,700: the first one ends at 3,600.
    assert_eq!(counts(&found), [(4, false), (1, true), (1, false)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_record_is_stored_in_a_side_bucket() {
    let (database, buckets) = set_up::<Side>().await;
    for second in [0, 60, 4_000, 30, 3_599, 3_700] {
        buckets.insert(&Side::at(second)).await.unwrap();
    }
    let found = documents(&database, "hybrid_buckets").await;
    check(&found);
    let mut counts = counts(&found);
    counts.sort_unstable();
    assert_eq!(counts, [(1, false), (1, true), (2, false), (2, true)]);
}

/// The tutorial's own code creates 800 buckets for these records.
#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_of_800_old_records_makes_a_handful_of_buckets() {
    for batched in [false, true] {
        let (database, buckets) = set_up::<Side>().await;
        buckets.insert(&Side::at(18_000)).await.unwrap();
        let writers = (0..8).map(|writer| {
            let buckets = buckets.clone();
            tokio::spawn(async move {
                let records: Vec<Side> = (0..100).map(|n| Side::at(writer + 8 * n)).collect();
                if batched {
                    let report = buckets.insert_many(&records).await.unwrap();
                    report.into_result().unwrap();
                    return;
                }
                for record in &records {
                    buckets.insert(record).await.unwrap();
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let found = documents(&database, "hybrid_buckets").await;
        check(&found);
        assert_eq!(buckets.count("device_001".to_owned()).await.unwrap(), 801);
        assert_eq!(
            found.len(),
            5,
            "4 full ones of 200 and the live one: {:?}",
            counts(&found)
        );
    }
}

/// A side bucket may have the id of the next bucket in order, once the newest of those was removed.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_takes_records_where_side_buckets_have_the_next_ids() {
    for side_buckets in [1, 3] {
        for batched in [false, true] {
            let (database, buckets) = set_up::<Side>().await;
            buckets.insert(&Side::at(7_200)).await.unwrap();
            let late: Vec<Side> = (0..200 * side_buckets - 100)
                .map(|n| Side::at(1 + n))
                .collect();
            let report = buckets.insert_many(&late).await.unwrap();
            report.into_result().unwrap();
            let collection = database.collection::<Document>("hybrid_buckets");
            let newest = doc! { "is_late": { "$exists": false } };
            let removed = collection.delete_many(newest).await.unwrap();
            assert_eq!(removed.deleted_count, 1);
            // A handle that has seen nothing, and the one that remembers the removed bucket.
            for buckets in [Side::buckets(&database), buckets] {
                let before = buckets.count("device_001".to_owned()).await.unwrap();
                if batched {
                    let records = [Side::at(0), Side::at(1), Side::at(2)];
                    let report = buckets.insert_many(records).await.unwrap();
                    report.into_result().unwrap();
                } else {
                    for second in 0..3 {
                        buckets.insert(&Side::at(second)).await.unwrap();
                    }
                }
                let now = buckets.count("device_001".to_owned()).await.unwrap();
                assert_eq!(now, before + 3, "{side_buckets} {batched}");
            }
            let found = documents(&database, "hybrid_buckets").await;
            check(&found);
            let in_order = counts(&found).iter().filter(|(_, late)| !late).count();
            assert_eq!(in_order, 1, "{:?}", counts(&found));
            let report = Side::buckets(&database).verify().await.unwrap();
            assert!(report.is_clean(), "{report}");
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "payments",
    items = "items",
    capacity = 4,
    max_duration = "1m",
    late = "reject"
)]
struct Payment {
    #[bucket(key)]
    account: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    amount: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_comes_again_after_later_ones_is_a_duplicate_and_not_late() {
    let database = database().await;
    let payments = Payment::buckets(&database);
    payments.ensure().await.unwrap();
    let of = |account: &str, id: i64, second: i64| Payment {
        account: account.to_owned(),
        at: DateTime::from_millis(1_700_000_000_000 + second * 1_000),
        id,
        amount: 1,
    };
    let first: Vec<Payment> = (0..30).map(|id| of("a", id, 40 * id)).collect();
    payments
        .insert_many(&first)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    for payments in [payments.clone(), Payment::buckets(&database)] {
        let again = payments.insert(&first[3]).await.unwrap();
        assert_eq!(again.outcome, RecordOutcome::Duplicate);
        // Those that are stored, one with other data, one that is new and late, and one that is new and in time.
        let mut batch = first.clone();
        batch[7].amount = 2;
        batch.insert(5, of("a", 1_000, 90));
        batch.push(of("a", 1_001, 5_000));
        batch.push(of("b", 1_002, 0));
        let report = payments.insert_many(&batch).await.unwrap();
        let others: Vec<usize> = (0..31).filter(|at| ![5, 8].contains(at)).collect();
        let (new, mut duplicates) = (report.stored(), report.duplicates().to_vec());
        duplicates.retain(|at| *at < 31);
        assert_eq!(duplicates, others, "{report:?}");
        assert!([0, 2].contains(&new), "{report:?}");
        let [late, other] = report.failed() else {
            panic!("{report:?}")
        };
        assert_eq!((late.index, other.index), (5, 8));
        let late = late.error.kind();
        assert!(
            matches!(late, ErrorKind::Encode(EncodeError::Late { .. })),
            "{late:?}"
        );
        assert!(
            matches!(other.error.kind(), ErrorKind::Conflict { .. }),
            "{other:?}"
        );
    }
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let report = payments
        .insert_many(&first)
        .session(&mut session)
        .await
        .unwrap();
    assert_eq!(report.duplicates().len(), 30, "{report:?}");
    session.commit_transaction().await.unwrap();
    assert_eq!(payments.records("a").collect().await.unwrap().len(), 31);
    assert!(payments.verify().await.unwrap().is_clean());
}
