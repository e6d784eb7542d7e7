//! What is refused, what is missing, and what goes with time.

use bucket_mongo::testing::DevServer;
use bucket_tests::profiled;

use super::{windows::Record, *};

async fn archived(database: &TestDatabase) -> Buckets<Record> {
    let events = Record::buckets(database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    assert!(seal(&events).await > 5);
    let moved = events.archive_to(archive(database));
    assert!(moved.between(..date(100)).await.unwrap().buckets > 3);
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_is_not_its_own_archive() {
    let database = database().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    let before = documents(&database, "events").await;
    let error = events.archive_to(&*database).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error}"
    );
    assert_eq!(documents(&database, "events").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_or_another_copy_is_damage_and_never_fewer_records() {
    let database = database().await;
    let events = archived(&database).await;
    let both = events.clone().with_archive(archive(&database));
    let copies = documents(&database, "archive").await;
    let id = |copy: &Document| doc! { "_id": copy.get_object_id("_id").unwrap() };
    archive(&database).delete_one(id(&copies[0])).await.unwrap();
    let other = copies[2].get("items").unwrap().clone();
    let set = doc! { "$set": { "items": other } };
    archive(&database)
        .update_one(id(&copies[1]), set)
        .await
        .unwrap();
    let report = both.verify().await.unwrap();
    assert_eq!(report.harmful(), 2, "{report}");
    let error = try_stored(&both, "a").await.unwrap_err();
    assert!(error.is_damaged() && !error.is_archived(), "{error}");
    let shown = error.to_string();
    assert!(
        shown.contains("the archive has no copy") || shown.contains("has others"),
        "{shown}"
    );
    let back = both.restore_from(archive(&database)).await.unwrap();
    assert_eq!(back.damaged, 2, "{back}");
    assert_eq!(back.buckets, u64::try_from(copies.len()).unwrap() - 2);
    // The copy that nobody can use is still there.
    assert_eq!(documents(&database, "archive").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_what_is_not_archived_sends_nothing_to_the_archive() {
    let database = database().await;
    let both = archived(&database).await.with_archive(archive(&database));
    let key = || Record::key_of("a");
    let (found, sent) = profiled(&database, "archive", async {
        both.stats(key(), ..).await.unwrap();
        both.count(key()).await.unwrap();
        both.latest(key()).await.unwrap();
        both.range(key(), date(120)..).await.unwrap().len()
    })
    .await;
    assert_eq!((found, sent), (80, Vec::new()));
    let (found, sent) = profiled(&database, "archive", async {
        both.range(key(), ..).await.unwrap().len()
    })
    .await;
    assert_eq!((found, sent.len()), (200, 1), "{sent:?}");
    let plan = sent[0].get_str("planSummary").unwrap();
    assert!(plan.contains("_id"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_may_be_in_another_cluster() {
    let database = database().await;
    let other = DevServer::start().await.unwrap();
    let elsewhere = other.database("cold").await.unwrap();
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    let moved = events.archive_to(&*elsewhere).await.unwrap();
    assert!(moved.buckets > 5, "{moved}");
    assert_eq!(
        u64::try_from(documents(&elsewhere, "events").await.len()).unwrap(),
        moved.buckets
    );
    let both = events.clone().with_archive(&*elsewhere);
    assert_eq!(stored(&both, "a").await.len(), 200);
    is_sound(&both).await;
    let back = events
        .restore_from(&*elsewhere)
        .key(Record::key_of("a"))
        .await;
    assert_eq!(back.unwrap().buckets, moved.buckets);
    assert_eq!(stored(&events, "a").await.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_does_not_erase_what_the_archive_has() {
    let database = database().await;
    let both = archived(&database).await.with_archive(archive(&database));
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let erased = both.delete_key(Record::key_of("a")).session(&mut session);
    let error = erased.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
        "{error}"
    );
    session.abort_transaction().await.unwrap();
    assert_eq!(stored(&both, "a").await.len(), 200);
    // Its reads go to the archive, too.
    session.start_transaction().await.unwrap();
    let range = both
        .range(Record::key_of("a"), ..)
        .session(&mut session)
        .await;
    assert_eq!(range.unwrap().len(), 200);
}
