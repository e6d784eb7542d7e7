//! Faults, and calls that come in between: no copy goes that a bucket may need, and every bucket can move.

use std::time::Duration;

use bucket_mongo::{
    Problem, ProblemKind,
    bson::{Binary, spec::BinarySubtype},
    mongodb::{
        Client, Database,
        options::{ClientOptions, WriteConcern},
    },
    testing::DevServer,
};
use bucket_tests::Load;

use super::{
    places::{After, archived_without_a_limit},
    windows::Record,
    *,
};

/// With a weaker write concern a failover can take back what the primary has.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_stays_until_a_majority_has_what_was_restored() {
    let cold = database().await;
    let set = DevServer::builder().own().members(3).await.unwrap();
    let database = set.database("hot").await.unwrap();
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..100).await;
    seal(&events).await;
    let moved = events.archive_to(archive(&cold)).await.unwrap();
    let primary = set.primary().await.unwrap().address();
    for other in set.members() {
        if other.address() != primary {
            other.pause().await.unwrap();
        }
    }
    let weak = WriteConcern::builder().w(Some(1.into())).build();
    let back = events.restore_from(archive(&cold)).write_concern(weak);
    let ended = back.deadline(Duration::from_secs(3)).await;
    let left = documents(&cold, "archive").await.len();
    assert_eq!(u64::try_from(left), Ok(moved.buckets), "{ended:?}");
    for other in set.members() {
        other.resume().await.unwrap();
    }
    let both = events.clone().with_archive(archive(&cold));
    assert_eq!(stored(&both, "a").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_stays_until_a_majority_has_the_removal_of_its_key() {
    let cold = database().await;
    let set = DevServer::builder().own().members(3).await.unwrap();
    let database = set.database("hot").await.unwrap();
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..100).await;
    seal(&events).await;
    let moved = events.archive_to(archive(&cold)).await.unwrap();
    let primary = set.primary().await.unwrap().address();
    for other in set.members() {
        if other.address() != primary {
            other.pause().await.unwrap();
        }
    }
    let weak = WriteConcern::builder().w(Some(1.into())).build();
    let both = events.clone().with_archive(archive(&cold));
    let erasure = both.delete_key(Record::key_of("a")).write_concern(weak);
    let ended = erasure.deadline(Duration::from_secs(3)).await;
    let left = documents(&cold, "archive").await.len();
    assert_eq!(u64::try_from(left), Ok(moved.buckets), "{ended:?}");
    for other in set.members() {
        other.resume().await.unwrap();
    }
}

/// Each of two archivers looks which of its copies the buckets refer to, because the other one came first.
#[tokio::test(flavor = "multi_thread")]
async fn archivers_of_a_weak_write_concern_remove_no_copy_that_a_bucket_refers_to() {
    let database = database().await;
    let weak = WriteConcern::builder().w(Some(1.into())).build();
    let events = Record::buckets(&database).with_write_concern(weak);
    events.ensure().await.unwrap();
    let both = events.clone().with_archive(archive(&database));
    for round in 0..6 {
        let first = round * 400;
        insert(&events, "a", first..first + 400).await;
        seal(&events).await;
        let calls = (0..3).map(|_| events.archive_to(archive(&database)).into_future());
        for call in futures_util::future::join_all(calls).await {
            call.unwrap();
        }
        let all = usize::try_from(first + 400).unwrap();
        assert_eq!(stored(&both, "a").await.len(), all);
        assert_eq!(referred(&database).await, copies(&database).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_follows_buckets_that_come_back_and_move_again() {
    let database = database().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    events.archive_to(archive(&database)).await.unwrap();
    let both = events.clone().with_archive(archive(&database));
    let key = || Record::key_of("a");
    let mut session = database
        .client()
        .start_session()
        .snapshot(true)
        .await
        .unwrap();
    // Its later reads see the references of this moment.
    both.count(key()).session(&mut session).await.unwrap();
    events.restore_from(archive(&database)).await.unwrap();
    events.archive_to(archive(&database)).await.unwrap();
    let seen = both.range(key(), ..).session(&mut session).await.unwrap();
    assert_eq!(seen.len(), 200);
    // Rows have the same items as when they were sealed.
    events.restore_from(archive(&database)).await.unwrap();
    events.unseal().await.unwrap();
    let seen = both.range(key(), ..).session(&mut session).await.unwrap();
    assert_eq!(seen.len(), 200);
}

fn is_overtaken<R: Debug>(read: Result<R, Error>) {
    let error = read.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Overtaken { .. }),
        "{error}"
    );
    assert!(error.is_retryable() && !error.is_damaged(), "{error}");
}

/// The snapshot still has the buckets, and nobody has their items.
#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_never_leaves_out_what_was_removed_since() {
    let database = database().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    events.archive_to(archive(&database)).await.unwrap();
    let both = events.clone().with_archive(archive(&database));
    let key = || Record::key_of("a");
    let client = database.client();
    let mut snapshot = client.start_session().snapshot(true).await.unwrap();
    let mut transaction = client.start_session().await.unwrap();
    let snapshots = bucket_mongo::mongodb::options::ReadConcern::snapshot();
    let begins = transaction.start_transaction();
    begins.read_concern(snapshots).await.unwrap();
    for session in [&mut snapshot, &mut transaction] {
        assert_eq!(both.count(key()).session(session).await.unwrap(), 200);
    }
    both.delete_key(key()).await.unwrap();
    for session in [&mut snapshot, &mut transaction] {
        assert_eq!(both.count(key()).session(&mut *session).await.unwrap(), 200);
        is_overtaken(both.range(key(), ..).session(&mut *session).await);
        is_overtaken(both.latest(key()).session(&mut *session).await);
        let cut = both.stats(key(), date(3)..date(195));
        is_overtaken(cut.session(session).await);
    }
    // A read of now finds nothing.
    assert_eq!(both.range(key(), ..).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_was_restored_and_changed_under_a_read_is_not_damaged() {
    let database = database().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    events.archive_to(archive(&database)).await.unwrap();
    let both = events.clone().with_archive(archive(&database));
    let key = || Record::key_of("a");
    let mut session = database
        .client()
        .start_session()
        .snapshot(true)
        .await
        .unwrap();
    both.count(key()).session(&mut session).await.unwrap();
    events.restore_from(archive(&database)).await.unwrap();
    let all = events.delete_range(key(), date(0)..date(50));
    assert_eq!(all.await.unwrap().records, 50);
    is_overtaken(both.range(key(), ..).session(&mut session).await);
    assert_eq!(both.range(key(), ..).await.unwrap().len(), 150);
}

/// Their packed items together are larger than a command.
#[tokio::test(flavor = "multi_thread")]
async fn buckets_of_any_size_move_there_and_back() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        capacity = 7,
        seal_after = "1s"
    )]
    struct Large {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
        number: i64,
        noise: Binary,
    }
    let database = database().await;
    let events = Large::buckets(&database);
    events.ensure().await.unwrap();
    let mut state = 1_u64;
    let mut noise = move || {
        let words = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        let bytes = words.take(900 * 1_024 / 8).flatten().collect();
        let subtype = BinarySubtype::Generic;
        Binary { subtype, bytes }
    };
    // Three buckets of 6.3 MB.
    let records: Vec<Large> = (0..21)
        .map(|number| Large {
            device: "a".to_owned(),
            at: DateTime::from_millis(START + number / 7 * 60_000 + number),
            number,
            noise: noise(),
        })
        .collect();
    events.load(records.clone()).await;
    assert_eq!(events.seal().await.unwrap().buckets, 3);
    assert_eq!(
        events.archive_to(archive(&database)).await.unwrap().buckets,
        3
    );
    assert_eq!(
        events
            .restore_from(archive(&database))
            .await
            .unwrap()
            .buckets,
        3
    );
    let key = || "a".to_owned();
    assert_eq!(events.range(key(), ..).await.unwrap(), records);
}

/// Only at its own places has the library references.
#[tokio::test(flavor = "multi_thread")]
async fn binary_data_of_a_user_that_looks_like_a_reference_stays_as_it_is() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "items",
        window = "1m",
        seal_after = "1s"
    )]
    struct Blob {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
        packed: Binary,
        nested: BTreeMap<String, Binary>,
        cut: Vec<Binary>,
    }
    let database = database().await;
    let events = Blob::buckets(&database);
    events.ensure().await.unwrap();
    let mut bytes = vec![0xA1];
    bytes.resize(64, 7);
    let subtype = BinarySubtype::UserDefined(128);
    let blob = Binary { subtype, bytes };
    let records: Vec<Blob> = (0..100)
        .map(|number| Blob {
            device: "a".to_owned(),
            at: date(number),
            packed: blob.clone(),
            nested: BTreeMap::from([("items".to_owned(), blob.clone())]),
            cut: vec![blob.clone()],
        })
        .collect();
    events.load(records.clone()).await;
    for _ in 0..3 {
        let both = events.clone().with_archive(archive(&database));
        let newest: Vec<_> = both.latest_per_key().stream().try_collect().await.unwrap();
        assert_eq!(newest.len(), 1);
        assert_eq!(newest[0], *records.last().unwrap());
        assert_eq!(both.range("a".to_owned(), ..).await.unwrap(), records);
        let latest = both.latest_n("a".to_owned(), 5).await.unwrap();
        assert_eq!(latest.len(), 5);
        assert!(latest.iter().all(|it| it.packed == blob));
        // As rows, sealed and archived.
        events.seal().await.unwrap();
        if let Ok(moved) = events.archive_to(archive(&database)).await {
            assert_eq!(moved.damaged, 0, "{moved}");
        }
    }
}

/// A server, and a database as an archiver sees it.
pub(super) async fn archiver() -> (DevServer, Database) {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let mut options = ClientOptions::parse(server.uri()).await.unwrap();
    options.app_name = Some("archiver".to_owned());
    options.retry_writes = Some(false);
    let client = Client::with_options(options).unwrap();
    (server, client.database("events"))
}

/// Of the archiver's commands.
pub(super) async fn fail(
    database: &Database,
    mode: impl Into<Bson>,
    command: &str,
    fault: Document,
) {
    let mut data = doc! { "failCommands": [command], "appName": "archiver" };
    data.extend(fault);
    let point = doc! { "configureFailPoint": "failCommand", "mode": mode.into(), "data": data };
    let admin = database.client().database("admin");
    admin.run_command(point).await.unwrap();
}

async fn copies_of(database: &Database) -> u64 {
    let copies = database.collection::<Document>("archive");
    copies.count_documents(doc! {}).await.unwrap()
}

/// The server refuses the removal of copies once.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_could_not_remove_at_first_it_removes_before_it_ends() {
    let (_server, database) = archiver().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    let cold = || database.collection::<Document>("archive");
    let moved = events.archive_to(cold()).await.unwrap();
    assert_eq!(copies_of(&database).await, moved.buckets);
    let not_primary = doc! { "errorCode": 11_600 };
    fail(&database, doc! { "times": 1 }, "delete", not_primary).await;
    let back = events.restore_from(cold()).await.unwrap();
    assert_eq!((back.buckets, back.records), (moved.buckets, 200));
    assert_eq!(copies_of(&database).await, 0);
    assert_eq!(stored(&events, "a").await.len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_does_not_acknowledge_its_copies_is_named_with_the_servers_reason() {
    let (_server, database) = archiver().await;
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    seal(&events).await;
    let cold = || database.collection::<Document>("archive");
    let refuses = |code: i32| {
        doc! { "writeConcernError": { "code": code, "errmsg": "not enough data-bearing nodes" } }
    };
    fail(&database, "alwaysOn", "insert", refuses(100)).await;
    let error = events.archive_to(cold()).await.unwrap_err();
    let shown = error.to_string();
    assert_eq!(error.code(), Some(100), "{shown}");
    assert!(
        shown.contains("(code 100): not enough data-bearing nodes"),
        "{shown}"
    );
    // Nobody refers to what is there.
    assert_eq!(copies_of(&database).await, 0);
    // One that passes is waited for.
    fail(&database, doc! { "times": 1 }, "insert", refuses(91)).await;
    let moved = events.archive_to(cold()).await.unwrap();
    assert!(moved.buckets > 5, "{moved}");
    assert_eq!(copies_of(&database).await, moved.buckets);
    assert_eq!(stored(&events.with_archive(cold()), "a").await.len(), 200);
}

/// A call that ends between the copies and the buckets leaves a limit that is still asked for.
#[tokio::test(flavor = "multi_thread")]
async fn no_copy_is_left_without_a_date_by_a_call_that_ends() {
    let (_server, database) = archiver().await;
    archived_without_a_limit(&database).await;
    let archive = database.collection::<Document>("archive");
    let events = After::buckets(&database).with_archive(archive.clone());
    for mode in [doc! { "skip": 0 }, doc! { "skip": 1 }] {
        fail(&database, mode, "update", doc! { "errorCode": 13 }).await;
        let error = events.ensure().change_expiry().await.unwrap_err();
        assert!(error.is_unauthorized(), "{error}");
        fail(&database, "off", "update", doc! { "errorCode": 13 }).await;
        let report = events.ensure().await.unwrap();
        assert!(report.to_string().contains("change_expiry()"), "{report}");
    }
    events.ensure().change_expiry().await.unwrap();
    let undated = doc! { "expire_from": { "$exists": false } };
    assert_eq!(archive.count_documents(undated).await.unwrap(), 0);
}

/// The records of the key `a`, all of them archived.
async fn all_archived(database: &TestDatabase) -> (Buckets<Record>, BTreeMap<i64, Record>) {
    let events = Record::buckets(database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..40).await;
    seal(&events).await;
    let expected = stored(&events, "a").await;
    events.archive_to(archive(database)).await.unwrap();
    (events, expected)
}

/// A reference to the archive that has lost its end.
fn cut_reference() -> Bson {
    let subtype = BinarySubtype::UserDefined(0x80);
    let bytes = vec![0xa1, 1, 2];
    Bson::Binary(Binary { subtype, bytes })
}

/// Whoever looks for archived buckets looks for that.
#[tokio::test(flavor = "multi_thread")]
async fn an_archived_bucket_that_does_not_say_so_says_it_again() {
    let damages = [
        doc! { "$unset": { "_sealed.archived": 1 } },
        doc! { "$set": { "_sealed.archived": "long ago" } },
    ];
    for damage in damages {
        let database = database().await;
        let (events, expected) = all_archived(&database).await;
        let buckets = database.collection::<Document>("events");
        let all = buckets.update_many(doc! {}, damage.clone()).await.unwrap();
        let found = events.verify().await.unwrap();
        let harmful = found.findings.iter().filter(|it| it.is_harmful());
        let paths = harmful.map(|it| match &it.problem {
            Problem::Field { path, .. } => path.clone(),
            other => panic!("{other}"),
        });
        let paths: Vec<String> = paths.collect();
        let number = usize::try_from(all.modified_count).unwrap();
        assert!(number > 1);
        assert_eq!(paths, vec!["_sealed.archived"; number], "{damage}: {found}");
        // Before and after it is mended.
        let refused = async || {
            let error = events.delete_key(Record::key_of("a")).await.unwrap_err();
            assert!(error.is_archived(), "{damage}: {error}");
        };
        refused().await;
        let restored = events.restore_from(archive(&database)).dry_run();
        assert_eq!(restored.await.unwrap().buckets, all.modified_count);
        let report = events.repair(&found).await.unwrap();
        assert_eq!(report.mended, all.modified_count, "{damage}: {report}");
        refused().await;
        let restored = events.restore_from(archive(&database)).await.unwrap();
        assert_eq!(restored.buckets, all.modified_count, "{damage}: {restored}");
        assert_eq!(stored(&events, "a").await, expected);
        assert!(events.verify().await.unwrap().is_clean());
    }
}

/// A tool that knows no archive has written over the reference. The aggregates are still those of the records, which the
/// archive has.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_lost_its_reference_moves_as_it_is() {
    let damages = [
        doc! { "$set": { "items": [] } },
        doc! { "$set": { "items": [{ "device": "a", "at": DateTime::now() }] } },
        doc! { "$set": { "items": 5 } },
        doc! { "$unset": { "items": 1 } },
        doc! { "$set": { "items": cut_reference() } },
    ];
    for damage in damages {
        let database = database().await;
        let (events, expected) = all_archived(&database).await;
        let before = copies(&database).await;
        let buckets = database.collection::<Document>("events");
        let second = doc! { "_id": { "$gt": "a_1698335220" } };
        buckets
            .update_one(second.clone(), damage.clone())
            .await
            .unwrap();
        let bucket = buckets.find_one(second).await.unwrap().unwrap();
        for events in [
            events.clone(),
            events.clone().with_archive(archive(&database)),
        ] {
            let found = events.verify().await.unwrap();
            let kinds = found.findings.iter().filter(|it| it.is_harmful());
            let kinds = kinds.map(|it| it.problem.kind()).collect::<Vec<_>>();
            assert_eq!(kinds, [ProblemKind::Packed], "{damage}: {found}");
        }
        let restored = events.restore_from(archive(&database)).dry_run();
        let restored = restored.await.unwrap();
        assert_eq!(restored.damaged, 1, "{damage}: {restored}");
        let events = events.with_archive(archive(&database));
        let found = events.verify().await.unwrap();
        let report = events.repair(&found).await.unwrap();
        assert_eq!(
            (report.mended, report.quarantined, report.left),
            (0, 1, 0),
            "{damage}: {report}"
        );
        assert!(events.verify().await.unwrap().is_clean());
        let moved = database.collection::<Document>("events_quarantine");
        let moved = moved.find_one(doc! {}).await.unwrap().unwrap();
        assert_eq!(moved.get_document("document").unwrap(), &bucket);
        assert_eq!(copies(&database).await, before, "{damage}");
        // What moved is all that knows of its copy.
        let without = Record::buckets(&database);
        let others = doc! { "_sealed.archived": { "$exists": true } };
        let others = buckets.find(others).await.unwrap();
        let others: Vec<Document> = others.try_collect().await.unwrap();
        for other in &others {
            buckets
                .delete_one(doc! { "_id": other.get("_id").unwrap() })
                .await
                .unwrap();
        }
        for is_dry in [true, false] {
            let erased = without.delete_key(Record::key_of("a"));
            let erased = if is_dry { erased.dry_run() } else { erased };
            let error = erased.await.unwrap_err();
            assert!(error.is_archived(), "{damage}: {error}");
        }
        // So it is for an archive that does not have it.
        let elsewhere = database.collection::<Document>("elsewhere");
        let wrong = Record::buckets(&database).with_archive(elsewhere);
        let error = wrong.delete_key(Record::key_of("a")).await.unwrap_err();
        assert!(error.to_string().contains("does not have all"), "{error}");
        let moved = database.collection::<Document>("events_quarantine");
        assert_eq!(moved.count_documents(doc! {}).await.unwrap(), 1, "{damage}");
        assert_eq!(copies(&database).await, before, "{damage}");
        buckets.insert_many(&others).await.unwrap();

        // The way back, as the book says it.
        let of_bucket = doc! { "_bucket.id": bucket.get("_id").unwrap() };
        let copy = archive(&database)
            .find_one(of_bucket)
            .await
            .unwrap()
            .unwrap();
        let mut back = bucket;
        back.insert("items", copy.get("items").unwrap());
        back.get_document_mut("_sealed").unwrap().remove("archived");
        buckets.insert_one(&back).await.unwrap();
        assert!(events.verify().await.unwrap().is_clean());
        assert_eq!(stored(&events, "a").await, expected, "{damage}");
        let erased = events.delete_key(Record::key_of("a")).await;
        let erased = erased.unwrap();
        let archived = u64::try_from(before.len()).unwrap();
        assert_eq!((erased.quarantined, erased.archived), (1, archived));
        assert!(copies(&database).await.is_empty());
    }
}

/// What the quarantine has, and what it knows of, stays until the quarantine can be read and cleared.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_a_fault_ends_goes_on_when_it_is_called_again() {
    for command in ["find", "delete"] {
        let (server, database) = archiver().await;
        let client = Client::with_uri_str(server.uri()).await.unwrap();
        let own = client.database("events");
        let events = Record::buckets(&database).with_archive(archived_in(&database));
        events.ensure().await.unwrap();
        insert(&events, "a", 0..40).await;
        insert(&events, "b", 0..40).await;
        seal(&events).await;
        events.archive_to(archived_in(&database)).await.unwrap();
        let buckets = own.collection::<Document>("events");
        let lost = doc! { "$set": { "items": [] } };
        let first = doc! { "device": "a" };
        buckets.update_one(first.clone(), lost).await.unwrap();
        let report = events
            .repair(&events.verify().await.unwrap())
            .await
            .unwrap();
        assert_eq!(report.quarantined, 1, "{report}");
        let copies = archived_in(&own);
        let of_b = copies.count_documents(doc! { "device": "b" }).await;
        let of_b = of_b.unwrap();

        let refused = doc! { "errorCode": 13, "namespace": "events.events_quarantine" };
        fail(&database, "alwaysOn", command, refused).await;
        for _ in 0..2 {
            let error = events.delete_key(Record::key_of("a")).await.unwrap_err();
            assert!(error.is_unauthorized(), "{command}: {error}");
        }
        assert_eq!(buckets.count_documents(first.clone()).await.unwrap(), 0);
        fail(&database, "off", command, doc! {}).await;
        let erased = events.delete_key(Record::key_of("a")).await.unwrap();
        assert_eq!(erased.quarantined, 1, "{command}");
        assert_eq!(copies.count_documents(first).await.unwrap(), 0);
        assert_eq!(copies.count_documents(doc! {}).await.unwrap(), of_b);
        let moved = own.collection::<Document>("events_quarantine");
        assert_eq!(moved.count_documents(doc! {}).await.unwrap(), 0);
    }
}

fn archived_in(database: &Database) -> Collection<Document> {
    database.collection("archive")
}

/// Each removes a copy after the bucket that refers to it.
#[tokio::test(flavor = "multi_thread")]
async fn erasures_at_the_same_time_do_not_refuse_each_other() {
    for _ in 0..10 {
        let database = database().await;
        let (events, _) = all_archived(&database).await;
        let here = events.clone().with_archive(archive(&database));
        let buckets = database.collection::<Document>("events");
        let lost = doc! { "$set": { "items": [] } };
        buckets.update_one(doc! {}, lost).await.unwrap();
        here.repair(&here.verify().await.unwrap()).await.unwrap();
        let erase = || here.delete_key(Record::key_of("a")).into_future();
        let erased = futures_util::future::join_all((0..4).map(|_| erase())).await;
        for erased in erased {
            erased.unwrap();
        }
        assert!(copies(&database).await.is_empty());
        assert!(documents(&database, "events_quarantine").await.is_empty());
    }
}

/// It came back by hand, as the book says it, and was archived once more, elsewhere. What moved is all that knows of its first
/// copy.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_knows_both_copies_of_a_bucket_that_came_back() {
    let database = database().await;
    let (events, _) = all_archived(&database).await;
    let buckets = database.collection::<Document>("events");
    let first = buckets.find_one(doc! {}).await.unwrap().unwrap();
    let id = doc! { "_id": first.get("_id").unwrap() };
    let lost = doc! { "$set": { "items": [] } };
    buckets.update_one(id.clone(), lost).await.unwrap();
    let here = events.clone().with_archive(archive(&database));
    let report = here.repair(&here.verify().await.unwrap()).await.unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
    let of_bucket = doc! { "_bucket.id": first.get("_id").unwrap() };
    let copy = archive(&database).find_one(of_bucket).await.unwrap();
    let mut back = first;
    back.insert("items", copy.unwrap().get("items").unwrap());
    back.get_document_mut("_sealed").unwrap().remove("archived");
    buckets.insert_one(&back).await.unwrap();
    events.restore_from(archive(&database)).await.unwrap();
    assert_eq!(copies(&database).await.len(), 1);
    let second = database.collection::<Document>("second");
    events.archive_to(&second).await.unwrap();
    let wrong = events.clone().with_archive(&second);
    let error = wrong.delete_key(Record::key_of("a")).await.unwrap_err();
    assert!(error.to_string().contains("does not have all"), "{error}");
    assert_eq!(copies(&database).await.len(), 1);
}

/// `repair` cannot mend a bucket whose items are elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn items_come_back_to_a_bucket_whatever_is_wrong_with_it() {
    let damages = [
        doc! { "$set": { "count": "many" } },
        doc! { "$set": { "device": 7 } },
        doc! { "$unset": { "device": 1 } },
        doc! { "$unset": { "_sealed": 1 } },
        doc! { "$set": { "_sealed": 7 } },
    ];
    for damage in damages {
        let database = database().await;
        let events = Record::buckets(&database);
        events.ensure().await.unwrap();
        insert(&events, "a", 0..40).await;
        seal(&events).await;
        let moved = events.archive_to(archive(&database)).await.unwrap();
        let expected = stored(&events.clone().with_archive(archive(&database)), "a").await;
        let buckets = database.collection::<Document>("events");
        let second = doc! { "_id": { "$gt": "a_1698335220" } };
        let of_second = buckets.update_one(second, damage.clone()).await.unwrap();
        assert_eq!(of_second.modified_count, 1, "{damage}");
        let back = events.restore_from(archive(&database)).await.unwrap();
        assert_eq!(
            (back.buckets, back.damaged),
            (moved.buckets, 0),
            "{damage}: {back}"
        );
        assert_eq!(copies(&database).await.len(), 0, "{damage}");
        let found = events.verify().await.unwrap();
        let report = events.repair(&found).await.unwrap();
        assert_eq!(report.left, 0, "{damage}: {report}");
        is_sound(&events).await;
        // A bucket without its key is in the quarantine.
        if report.quarantined == 0 {
            assert_eq!(stored(&events, "a").await, expected, "{damage}");
        }
    }
}
