//! `explain` of the writes of every form, for a key with 2,000 full buckets.

use bucket_core::{
    read::FindPlan,
    write::{Batch, Need},
};
use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, RawDocumentBuf, doc},
    testing::TestDatabase,
};
use bucket_tests::database;

use crate::common::{
    explained::{explain, find},
    sample::{self, Sample},
};

const FULL_BUCKETS: i64 = 2_000;

fn record<const F: usize>(device: &str, millis: i64) -> Sample<F> {
    Sample {
        device: device.to_owned(),
        at: DateTime::from_millis(millis),
        unique: millis,
        value: millis,
        level: Some(1.0),
        code: "200".to_owned(),
    }
}

/// A key with a long history, all of whose buckets are full.
async fn long_history<const F: usize>() -> TestDatabase {
    let database = database().await;
    let buckets = Sample::<F>::buckets(&database);
    buckets.ensure().await.unwrap();
    let capacity = i64::from(sample::CAPACITY);
    let mut records: Vec<Sample<F>> = (0..FULL_BUCKETS * capacity)
        .map(|n| record("1", n * 1_000 / capacity))
        .collect();
    records.extend((2..200).map(|n| record(&n.to_string(), 0)));
    let report = buckets.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    database
}

fn document(round: &bucket_core::write::Round) -> Document {
    Document::try_from(round.command().body().to_owned()).unwrap()
}

async fn first(database: &TestDatabase, plan: &FindPlan) -> Option<RawDocumentBuf> {
    let collection = database.collection::<RawDocumentBuf>("samples");
    let found = collection.find_one(Document::try_from(plan.filter.clone()).unwrap());
    found.sort(plan.sort.clone()).await.unwrap()
}

/// The reads and statements of a writer that remembers nothing, for one record.
async fn commands<const F: usize>(database: &TestDatabase, record: &Sample<F>) -> Vec<Document> {
    let mut batch = Batch::of::<Sample<F>>();
    batch.push(0, record).unwrap();
    let mut commands = Vec::new();
    if batch.chains()[0].need() == Need::Statements {
        // Without a lookup first.
        commands.extend(batch.rounds(None).iter().map(document));
        batch.look_first();
    }
    let open = batch.chains()[0].open_bucket();
    let newest = batch.chains()[0].newest_bucket();
    commands.extend([
        find("samples", open.clone()),
        find("samples", newest.clone()),
    ]);
    let chain = &mut batch.chains_mut()[0];
    match (first(database, &open).await, first(database, &newest).await) {
        (Some(found), _) => chain.saw(&found).unwrap(),
        (None, Some(found)) => chain.saw_newest(&found).unwrap(),
        (None, None) => chain.saw_none_open(),
    }
    assert_eq!(batch.sort_out_late().moved, 0);
    commands.extend(batch.rounds(None).iter().map(document));
    commands
}

async fn check(database: &TestDatabase, command: Document) {
    let statements = match command.get_array("updates") {
        Ok(updates) => updates.clone(),
        Err(_) => vec![],
    };
    let mut single = vec![command.clone()];
    if statements.len() > 1 {
        // Only single statements can be explained.
        single = statements
            .into_iter()
            .map(|statement| doc! { "update": "samples", "updates": [statement] })
            .collect();
    }
    for command in single {
        let explained = explain(database, command.clone()).await;
        let plan = &explained.plan;
        assert!(
            plan.contains("IXSCAN") || plan.contains("IDHACK"),
            "{command}: {plan}"
        );
        assert!(!plan.contains("COLLSCAN"), "{command}: {plan}");
        assert!(
            explained.keys <= 2,
            "{command} examines {} keys",
            explained.keys
        );
        assert!(
            explained.documents <= 1,
            "{command} examines {} documents",
            explained.documents
        );
    }
}

async fn each_write_is_o1<const F: usize>() {
    let database = long_history::<F>().await;
    let buckets = Sample::<F>::buckets(&database);
    let newest = FULL_BUCKETS * 1_000;
    // The next bucket is opened, then appended to, then appended to by a writer that remembers it.
    for command in commands(&database, &record::<F>("1", newest)).await {
        check(&database, command).await;
    }
    buckets.insert(&record("1", newest)).await.unwrap();
    for command in commands(&database, &record::<F>("1", newest + 1)).await {
        check(&database, command).await;
    }
    let collection = database.collection::<Document>("samples");
    let last = collection.find_one(doc! { "device": "1" });
    let last = last.sort(doc! { "_id": -1 }).await.unwrap().unwrap();
    let mut batch = Batch::of::<Sample<F>>();
    batch.push(0, &record::<F>("1", newest + 1)).unwrap();
    batch.guess(|_| last.get_str("_id").ok().map(ToOwned::to_owned));
    for round in batch.rounds(None) {
        check(&database, document(&round)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_write_to_a_window_examines_at_most_2_keys_and_1_document() {
    each_write_is_o1::<{ sample::WINDOW_CAPACITY }>().await;
    each_write_is_o1::<{ sample::WINDOW_OBJECT }>().await;
    each_write_is_o1::<{ sample::PARTS_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_write_to_a_numbered_bucket_examines_at_most_2_keys_and_1_document() {
    each_write_is_o1::<{ sample::NUMBERED }>().await;
    each_write_is_o1::<{ sample::NUMBERED_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_write_to_a_hybrid_bucket_examines_at_most_2_keys_and_1_document() {
    each_write_is_o1::<{ sample::HYBRID_MERGE }>().await;
}

/// Late records have their own lookups.
#[tokio::test(flavor = "multi_thread")]
async fn each_late_write_examines_at_most_2_keys_and_1_document() {
    let database = long_history::<{ sample::HYBRID_MERGE }>().await;
    let late = record::<{ sample::HYBRID_MERGE }>("1", 500_250);
    let mut batch = Batch::of::<Sample<{ sample::HYBRID_MERGE }>>();
    batch.push(0, &late).unwrap();
    let newest = batch.chains()[0].newest_bucket();
    let found = first(&database, &newest).await.unwrap();
    batch.chains_mut()[0].saw_newest(&found).unwrap();
    assert_eq!(batch.sort_out_late().moved, 1);
    let chain = &mut batch.chains_mut()[1];
    let (open, newest) = (chain.open_bucket(), chain.newest_bucket());
    let found = first(&database, &newest).await;
    assert!(first(&database, &open).await.is_none(), "all are full");
    let found = found.unwrap();
    chain.saw_newest(&found).unwrap();
    check(&database, find("samples", open.clone())).await;
    check(&database, find("samples", newest.clone())).await;
    for round in batch.rounds(None) {
        check(&database, document(&round)).await;
    }
}
