//! Every form inside transactions: all of a call or nothing.

use bucket_core::bucket;
use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, RawDocumentBuf, doc},
};
use bucket_tests::database;
use futures_util::TryStreamExt;

use crate::common::{
    naive,
    sample::{self, Sample},
};

fn record<const F: usize>(unique: i64) -> Sample<F> {
    Sample {
        device: (unique % 2).to_string(),
        at: DateTime::from_millis(unique * 130),
        unique,
        value: unique,
        level: None,
        code: "a".to_owned(),
    }
}

async fn stored<const F: usize>(buckets: &Buckets<Sample<F>>) -> Vec<i64> {
    let collection = buckets.collection::<RawDocumentBuf>();
    let cursor = collection.find(doc! {}).await.unwrap();
    let found: Vec<RawDocumentBuf> = cursor.try_collect().await.unwrap();
    let mut unique = Vec::new();
    for document in &found {
        let bucket = bucket::decode::<Sample<F>>(document).unwrap();
        naive::check(&bucket);
        unique.extend(bucket.items.iter().map(|item| item.unique));
    }
    unique.sort_unstable();
    unique
}

async fn all_or_nothing<const F: usize>() {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    buckets.insert(&record(0)).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        for unique in 1..4 {
            let record = record(unique);
            buckets.insert(&record).session(&mut session).await.unwrap();
        }
        let batch: Vec<Sample<F>> = (4..40).map(record).collect();
        let report = buckets.insert_many(&batch).session(&mut session).await;
        report.unwrap().into_result().unwrap();
        if commit {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            assert_eq!(stored(&buckets).await, [0]);
        }
    }
    assert_eq!(stored(&buckets).await, (0..40).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_stores_all_or_nothing_in_every_form() {
    all_or_nothing::<{ sample::COUNT }>().await;
    all_or_nothing::<{ sample::COUNT_AVG }>().await;
    all_or_nothing::<{ sample::WINDOW }>().await;
    all_or_nothing::<{ sample::WINDOW_CAPACITY }>().await;
    all_or_nothing::<{ sample::WINDOW_OBJECT }>().await;
    all_or_nothing::<{ sample::PARTS }>().await;
    all_or_nothing::<{ sample::PARTS_OBJECT }>().await;
    all_or_nothing::<{ sample::HYBRID_MERGE }>().await;
    all_or_nothing::<{ sample::HYBRID_BYTES }>().await;
    all_or_nothing::<{ sample::NUMBERED }>().await;
    all_or_nothing::<{ sample::NUMBERED_OBJECT }>().await;
}
