//! Archives in files of an object store.

use std::{fmt::Write, sync::Arc};

use bucket_core::seal::{self as sealing, Sealing};
use bucket_mongo::{
    Archive,
    bson::RawDocumentBuf,
    mongodb::Client,
    object_store::{
        ObjectStore, ObjectStoreExt, PutPayload, local::LocalFileSystem, memory::InMemory,
        path::Path,
    },
};
use bucket_tests::Load;

use super::*;

/// The files below this path, in the order of their names, with their sizes.
async fn files(store: &dyn ObjectStore, prefix: &str) -> Vec<(String, u64)> {
    let prefix = Path::from(prefix);
    let found: Vec<_> = store.list(Some(&prefix)).try_collect().await.unwrap();
    let mut found: Vec<_> = found
        .into_iter()
        .map(|file| (file.location.to_string(), file.size))
        .collect();
    found.sort();
    found
}

pub(super) async fn every_call_goes_on<T: Event>() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold/events");
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    insert(&events, "b", 0..50).await;
    let ledger = stored(&events, "a").await;
    let places = references(&events, "a").await;
    let sealed = seal(&events).await;

    let would = events.archive_to(archive.clone()).dry_run().await.unwrap();
    assert_eq!(would.buckets, sealed);
    assert!(files(&*store, "").await.is_empty());
    let moved = events.archive_to(archive.clone()).await.unwrap();
    assert_eq!(
        (moved.buckets, moved.changed, moved.damaged),
        (sealed, 0, 0)
    );
    assert_eq!((moved.records, moved.bytes), (would.records, would.bytes));
    // One for each key.
    assert_eq!(files(&*store, "cold/events").await.len(), 2);
    assert_eq!(events.archive_to(archive.clone()).await.unwrap().buckets, 0);

    let error = try_stored(&events, "a").await.unwrap_err();
    assert!(error.is_archived(), "{error}");
    let both = events.clone().with_archive(archive.clone());
    both.ensure().await.unwrap();
    assert_eq!(stored(&both, "a").await, ledger);
    assert_eq!(references(&both, "a").await, places);
    assert_eq!(both.latest_n(T::key_of("a"), 200).await.unwrap().len(), 200);
    is_sound(&both).await;
    insert(&both, "a", 300..320).await;
    assert_eq!(stored(&both, "a").await.len(), 220);

    let back = both.restore_from(archive.clone()).await.unwrap();
    assert_eq!((back.buckets, back.records), (sealed, moved.records));
    assert!(files(&*store, "").await.is_empty());
    assert_eq!(stored(&events, "a").await.len(), 220);
    is_sound(&events).await;

    erasure_reaches_the_files(&events, &store, archive).await;
}

async fn erasure_reaches_the_files<T: Event>(
    events: &Buckets<T>,
    store: &InMemory,
    archive: Archive,
) {
    let moved = events.archive_to(archive.clone()).await.unwrap();
    let all = files(store, "").await;
    assert_eq!(all.len(), 2);
    let error = events.delete_key(T::key_of("a")).await.unwrap_err();
    assert!(error.is_archived(), "{error}");
    let elsewhere = Archive::files(Arc::new(InMemory::new()), "");
    let wrong = events.clone().with_archive(elsewhere);
    let error = wrong.delete_key(T::key_of("a")).await.unwrap_err();
    assert!(error.to_string().contains("does not have all"), "{error}");
    let both = events.clone().with_archive(archive);
    let would = both.delete_key(T::key_of("a")).dry_run().await.unwrap();
    assert_eq!(files(store, "").await, all);
    let removed = both.delete_key(T::key_of("a")).await.unwrap();
    assert_eq!(removed, would);
    assert!(removed.archived > 0 && removed.archived < moved.buckets);
    let left = files(store, "").await;
    assert_eq!(left.len(), 1);
    assert!(stored(&both, "a").await.is_empty());
    assert_eq!(stored(&both, "b").await.len(), 50);
    let other = both.delete_key(T::key_of("b")).await.unwrap();
    assert_eq!(removed.archived + other.archived, moved.buckets);
    assert!(files(store, "").await.is_empty());
}

type Record = windows::Record;

/// A collection with 100 archived records of each of these keys.
async fn archived(database: &TestDatabase, archive: &Archive, keys: &[&str]) -> Buckets<Record> {
    let events = Record::buckets(database);
    events.ensure().await.unwrap();
    for key in keys {
        insert(&events, key, 0..100).await;
    }
    seal(&events).await;
    let moved = events.archive_to(archive.clone()).await.unwrap();
    assert!(moved.buckets > 5, "{moved}");
    events
}

/// Makes files older: when they were written is in their headers.
async fn age(store: &InMemory) {
    for (name, _) in files(store, "").await {
        let path = Path::from(name);
        let bytes = store.get(&path).await.unwrap().bytes().await.unwrap();
        let mut bytes = bytes.to_vec();
        let at = bytes.windows(4).position(|it| it == b"\x09at\0").unwrap() + 4;
        let written = i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let earlier = written - 3 * 60 * 60 * 1_000;
        bytes[at..at + 8].copy_from_slice(&earlier.to_le_bytes());
        store.put(&path, PutPayload::from(bytes)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_old_files_that_no_bucket_refers_to_are_unused() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = archived(&database, &archive, &["a", "b", "c"]).await;
    let others = database
        .client()
        .database(&format!("{}_2", database.name()));
    let others = Record::buckets(&others);
    others.ensure().await.unwrap();
    insert(&others, "a", 0..100).await;
    seal(&others).await;
    others.archive_to(archive.clone()).await.unwrap();
    let all = files(&*store, "").await;
    assert_eq!(all.len(), 4);
    // Of one key nothing is left, of another one a part, and of the third one all.
    let buckets = database.collection::<Document>("events");
    buckets.delete_many(doc! { "device": "a" }).await.unwrap();
    let back = events.restore_from(archive.clone()).key("b".to_owned());
    back.between(..date(30)).await.unwrap();
    // Those that are young stay.
    let unused = events.remove_unused_files(archive.clone()).await.unwrap();
    assert_eq!((unused.files, unused.kept), (0, 3), "{unused}");
    age(&store).await;
    let would = events.remove_unused_files(archive.clone()).dry_run();
    let would = would.await.unwrap();
    assert_eq!(files(&*store, "").await, all);
    let unused = events.remove_unused_files(archive.clone()).await.unwrap();
    assert_eq!(unused, would);
    assert_eq!((unused.files, unused.kept), (1, 2), "{unused}");
    assert_eq!(files(&*store, "").await.len(), 3);
    // Those of others are not counted.
    let both = events.with_archive(archive.clone());
    assert_eq!(stored(&both, "b").await.len(), 100);
    assert_eq!(stored(&both, "c").await.len(), 100);
    let rest = both.restore_from(archive.clone()).await.unwrap();
    assert_eq!(rest.damaged, 0, "{rest}");
    let unused = both.remove_unused_files(archive.clone()).await.unwrap();
    // A part of it had come back before.
    assert_eq!((unused.files, unused.kept), (1, 0), "{unused}");
    let of_others = others.clone().with_archive(archive);
    assert_eq!(stored(&of_others, "a").await.len(), 100);
    database
        .client()
        .database(&format!("{}_2", database.name()))
        .drop()
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_damaged_bucket_may_need_are_not_unused() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "");
    let events = archived(&database, &archive, &["a", "b"]).await;
    let events = events.with_archive(archive.clone());
    age(&store).await;
    let buckets = database.collection::<Document>("events");
    let lost = doc! { "$set": { "items": [] } };
    buckets
        .update_one(doc! { "device": "a" }, lost)
        .await
        .unwrap();
    let only = async |kept: (u64, u64)| {
        buckets
            .delete_many(doc! { "device": "a", "items": { "$type": "binData" } })
            .await
            .unwrap();
        let unused = events.remove_unused_files(archive.clone()).await.unwrap();
        assert_eq!((unused.files, unused.kept), kept, "{unused}");
    };
    only((0, 2)).await;
    let report = events
        .repair(&events.verify().await.unwrap())
        .await
        .unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
    only((0, 2)).await;
    let nowhere = events
        .remove_unused_files(archive.clone())
        .quarantine("nowhere")
        .dry_run();
    assert_eq!(nowhere.await.unwrap().files, 1);
    let erased = events.delete_key(Record::key_of("a")).await.unwrap();
    assert_eq!((erased.quarantined, erased.records), (1, 0));
    assert_eq!(files(&*store, "").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_file_is_said_of_its_buckets() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = archived(&database, &archive, &["a"]).await;
    let events = events.with_archive(archive.clone());
    let (name, size) = files(&*store, "").await.remove(0);
    let path = Path::from(name);
    let whole = store.get(&path).await.unwrap().bytes().await.unwrap();
    let half = usize::try_from(size / 2).unwrap();
    let mut flipped = whole.to_vec();
    for byte in flipped[400..].iter_mut().step_by(61) {
        *byte ^= 0x40;
    }
    let wrong = [
        whole[..half].to_vec(),
        whole[..100].to_vec(),
        Vec::new(),
        flipped,
        vec![0xff; half],
    ];
    for wrong in wrong {
        store.put(&path, PutPayload::from(wrong)).await.unwrap();
        let error = try_stored(&events, "a").await.err();
        assert!(error.is_some_and(|error| error.is_damaged()));
        let report = events
            .restore_from(archive.clone())
            .dry_run()
            .await
            .unwrap();
        assert!(report.damaged > 0, "{report}");
        assert!(!events.verify().await.unwrap().is_clean());
    }
    store.put(&path, whole.into()).await.unwrap();
    is_sound(&events).await;
    assert_eq!(stored(&events, "a").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_larger_than_what_is_read_at_first_comes_back() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let notes = Note::buckets(&database);
    notes.ensure().await.unwrap();
    // Nothing packs them.
    let mut noise = 1_u64;
    let mut text = || {
        let mut text = String::new();
        for _ in 0..300_000 / 8 {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            write!(text, "{:08x}", noise >> 32).unwrap();
        }
        text
    };
    let all: Vec<Note> = (0..60)
        .map(|number| Note {
            device: "a".to_owned(),
            at: date(number),
            text: text(),
        })
        .collect();
    for some in all.chunks(10) {
        notes
            .insert_many(some)
            .await
            .unwrap()
            .into_result()
            .unwrap();
    }
    notes.seal().after(Duration::ZERO).await.unwrap();
    let moved = notes.archive_to(archive.clone()).await.unwrap();
    assert!(moved.buckets >= 20, "{moved}");
    // Of more than 8 MiB.
    assert!(files(&*store, "").await.len() > 1);
    let both = notes.clone().with_archive(archive.clone());
    assert_eq!(both.range("a".to_owned(), ..).await.unwrap(), all);
    assert_eq!(
        both.range("a".to_owned(), date(31)..date(32))
            .await
            .unwrap(),
        all[31..32]
    );
    let back = both.restore_from(archive).await.unwrap();
    assert_eq!((back.buckets, back.damaged), (moved.buckets, 0));
    assert!(files(&*store, "").await.is_empty());
    assert_eq!(notes.range("a".to_owned(), ..).await.unwrap(), all);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "notes", items = "items", capacity = 3, seal_after = "1h")]
struct Note {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_each_record_once_while_buckets_move_to_files_and_back() {
    let database = database().await;
    let folder = std::env::temp_dir().join(database.name());
    std::fs::create_dir(&folder).unwrap();
    let store = Arc::new(LocalFileSystem::new_with_prefix(&folder).unwrap());
    let archive = Archive::files(store.clone(), "cold");
    let events = merged::Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut movers = Vec::new();
    for mover in 0..3 {
        let (events, stopped, archive) = (events.clone(), stopped.clone(), archive.clone());
        movers.push(tokio::spawn(async move {
            let mut moved = 0;
            for round in mover.. {
                if *stopped.borrow() {
                    break;
                }
                seal(&events).await;
                moved += events.archive_to(archive.clone()).await.unwrap().buckets;
                if round % 3 == 0 {
                    events.restore_from(archive.clone()).await.unwrap();
                }
            }
            moved
        }));
    }
    let both = events.clone().with_archive(archive.clone());
    for from in (200..400).step_by(20) {
        insert(&both, "a", from..from + 20).await;
        for _ in 0..3 {
            let range = both
                .range(merged::Record::key_of("a"), ..date(200))
                .await
                .unwrap();
            assert!(range.iter().map(Event::number).eq(0..200));
        }
    }
    stop.send(true).unwrap();
    let mut moved = 0;
    for mover in movers {
        moved += mover.await.unwrap();
    }
    assert!(moved > 0);
    let numbers: Vec<i64> = stored(&both, "a").await.into_keys().collect();
    assert!(numbers.into_iter().eq(0..400));
    is_sound(&both).await;
    both.restore_from(archive.clone()).await.unwrap();
    assert_eq!(stored(&events, "a").await.len(), 400);
    std::fs::remove_dir_all(folder).unwrap();
}

/// The archive of one of the collections is a file store that refuses.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_cannot_be_reached_is_named() {
    let database = database().await;
    let folder = std::env::temp_dir().join(format!("{}_gone", database.name()));
    std::fs::create_dir(&folder).unwrap();
    let store = Arc::new(LocalFileSystem::new_with_prefix(&folder).unwrap());
    std::fs::remove_dir(&folder).unwrap();
    // Where the folder was, there is a file.
    std::fs::write(&folder, b"").unwrap();
    let archive = Archive::files(store, "cold");
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..100).await;
    seal(&events).await;
    let moved = events.archive_to(archive).deadline(Duration::from_secs(1));
    let error = moved.await.unwrap_err();
    assert!(error.is_unreachable() && error.is_retryable(), "{error:?}");
    assert!(error.to_string().contains("object store"), "{error}");
    assert_eq!(stored(&events, "a").await.len(), 100);
    let place = database.collection::<Document>("archive");
    let error = events.remove_unused_files(place).await.unwrap_err();
    assert!(error.is_invalid_input(), "{error}");
    std::fs::remove_file(folder).unwrap();
}

macro_rules! kept {
    ($($name:ident $key:ty, $days:literal;)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(
            collection = "kept", items = "items", capacity = 10, seal_after = "1s", expire_after = $days,
            keep_stats = "9500d"
        )]
        struct $name {
            #[bucket(key)]
            device: $key,
            #[bucket(time, first, last)]
            at: DateTime,
        }
    )*};
}

kept! {
    Long i32, "9000d";
    Wide i64, "9000d";
    Short i32, "30d";
}

/// 40 archived records of the key 7.
async fn kept(database: &TestDatabase, archive: &Archive) -> Buckets<Long> {
    let kept = Long::buckets(database);
    kept.ensure().await.unwrap();
    let records = (0..40).map(|number| Long {
        device: 7,
        at: date(number),
    });
    kept.load(records).await;
    kept.seal().await.unwrap();
    let moved = kept.archive_to(archive.clone()).await.unwrap();
    assert_eq!(moved.buckets, 4);
    kept
}

/// As long as a deployment goes on, there are two models of a collection.
#[tokio::test(flavor = "multi_thread")]
async fn files_stay_as_long_as_a_bucket_refers_to_them_whatever_the_limit_of_the_model() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let kept = kept(&database, &archive).await;
    age(&store).await;
    let short = Short::buckets(&database);
    let unused = short.remove_unused_files(archive.clone()).await.unwrap();
    assert_eq!((unused.files, unused.kept), (0, 1), "{unused}");
    let both = kept.with_archive(archive.clone());
    assert_eq!(both.range(7, ..).await.unwrap().len(), 40);
    // Once they are gone by the limit, nobody needs it.
    short.expire_records().await.unwrap();
    let unused = short.remove_unused_files(archive).await.unwrap();
    assert_eq!((unused.files, unused.kept), (1, 0), "{unused}");
}

/// By then nobody knows which file was whose.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_goes_on_where_the_files_of_what_has_expired_are_gone() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let kept = kept(&database, &archive).await;
    age(&store).await;
    // The records have just expired, and their statistics are kept.
    let limit = DateTime::now().timestamp_millis() - 30 * 24 * 60 * 60 * 1_000;
    let expired = doc! { "$set": { "expire_from": DateTime::from_millis(limit - 1_000) } };
    let buckets = database.collection::<Document>("kept");
    buckets.update_many(doc! {}, expired).await.unwrap();
    let short = Short::buckets(&database);
    let expired = short.expire_records().await.unwrap();
    assert_eq!(expired.buckets, 4);
    let unused = short.remove_unused_files(archive.clone()).await.unwrap();
    assert_eq!((unused.files, unused.kept), (1, 0), "{unused}");
    let error = kept.delete_key(7).await.unwrap_err();
    assert!(error.is_archived(), "{error}");
    let erased = short.with_archive(archive).delete_key(7).await.unwrap();
    assert_eq!((erased.buckets, erased.archived), (4, 0));
}

/// A file without it would be nobody's, and an erasure would leave it.
#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_only_by_those_who_may_see_whose_they_are() {
    let (_server, database) = faults::archiver().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = Record::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..40).await;
    seal(&events).await;
    let refused = || doc! { "errorCode": 13 };
    faults::fail(&database, "alwaysOn", "listCollections", refused()).await;
    let error = events.archive_to(archive.clone()).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert!(files(&*store, "").await.is_empty());
    faults::fail(&database, "off", "listCollections", doc! {}).await;
    let moved = events.archive_to(archive.clone()).await.unwrap();
    assert!(moved.buckets > 0, "{moved}");
    faults::fail(&database, "alwaysOn", "listCollections", refused()).await;
    let both = events.with_archive(archive);
    assert_eq!(stored(&both, "a").await.len(), 40);
    let error = both.delete_key("a".to_owned()).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    faults::fail(&database, "off", "listCollections", doc! {}).await;
    both.delete_key("a".to_owned()).await.unwrap();
    assert!(files(&*store, "").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_field_that_became_wider_has_the_same_files() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    kept(&database, &archive).await;
    // Only its key leads to this one.
    let kept = database.collection::<Document>("kept");
    kept.delete_many(doc! {}).await.unwrap();
    let wide = Wide::buckets(&database).with_archive(archive);
    let would = wide.delete_key(7).dry_run().await.unwrap();
    assert_eq!(would.archived, 4);
    assert_eq!(wide.delete_key(7).await.unwrap(), would);
    assert!(files(&*store, "").await.is_empty());
}

/// In another cluster, or of another time.
#[tokio::test(flavor = "multi_thread")]
async fn a_collection_of_the_same_names_has_files_of_its_own() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    archived(&database, &archive, &["a"]).await;
    let former = files(&*store, "").await;
    let copied: Vec<Document> = documents(&database, "events").await;
    let buckets = database.collection::<Document>("events");
    buckets.drop().await.unwrap();
    let events = archived(&database, &archive, &["a"]).await;
    let events = events.with_archive(archive.clone());
    age(&store).await;
    let unused = events.remove_unused_files(archive.clone()).await.unwrap();
    assert_eq!((unused.files, unused.kept), (0, 1), "{unused}");
    let erased = events.delete_key(Record::key_of("a")).await.unwrap();
    assert!(erased.archived > 0);
    assert_eq!(files(&*store, "").await, former);
    // A dump still reads what it refers to, and removes nothing of it.
    buckets.insert_many(&copied).await.unwrap();
    assert_eq!(stored(&events, "a").await.len(), 100);
    let error = events.delete_key(Record::key_of("a")).await.unwrap_err();
    assert!(error.to_string().contains("another collection"), "{error}");
    events.restore_from(archive).await.unwrap();
    assert_eq!(files(&*store, "").await, former);
    events.delete_key(Record::key_of("a")).await.unwrap();
}

/// Another tool has changed it.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_leaves_the_files_of_other_keys_whatever_a_bucket_says() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = archived(&database, &archive, &["a"]).await;
    let events = events.with_archive(archive);
    let buckets = database.collection::<Document>("events");
    let first = buckets.find_one(doc! {}).await.unwrap().unwrap();
    let id = doc! { "_id": first.get("_id").unwrap() };
    let other = doc! { "$set": { "device": "b" } };
    buckets.update_one(id.clone(), other).await.unwrap();
    for is_dry in [true, false] {
        let erased = events.delete_key(Record::key_of("b"));
        let erased = if is_dry { erased.dry_run() } else { erased };
        let error = erased.await.unwrap_err();
        assert!(error.to_string().contains("does not have all"), "{error}");
    }
    assert_eq!(files(&*store, "").await.len(), 1);
    buckets.replace_one(id, first).await.unwrap();
    assert_eq!(stored(&events, "a").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_unreadable_quarantine_may_need_of_a_file_stays() {
    let (server, database) = faults::archiver().await;
    let own = Client::with_uri_str(server.uri()).await.unwrap();
    let own = own.database("events");
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = Record::buckets(&database).with_archive(archive.clone());
    events.ensure().await.unwrap();
    insert(&events, "a", 0..40).await;
    seal(&events).await;
    events.archive_to(archive).await.unwrap();
    let lost = doc! { "$set": { "items": [] } };
    let buckets = own.collection::<Document>("events");
    buckets.update_one(doc! {}, lost).await.unwrap();
    let report = events
        .repair(&events.verify().await.unwrap())
        .await
        .unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
    let refused = doc! { "errorCode": 13, "namespace": "events.events_quarantine" };
    faults::fail(&database, "alwaysOn", "find", refused).await;
    let error = events.delete_key(Record::key_of("a")).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert_eq!(files(&*store, "").await.len(), 1);
    faults::fail(&database, "off", "find", doc! {}).await;
    let erased = events.delete_key(Record::key_of("a")).await.unwrap();
    assert_eq!(erased.quarantined, 1);
    assert!(files(&*store, "").await.is_empty());
}

/// Whoever expires has read the bucket before it was archived.
#[tokio::test(flavor = "multi_thread")]
async fn a_header_says_that_it_was_archived_whoever_comes_first() {
    let database = database().await;
    let store = Arc::new(InMemory::new());
    let archive = Archive::files(store.clone(), "cold");
    let events = Short::buckets(&database);
    events.ensure().await.unwrap();
    let long = Long::buckets(&database);
    let records = (0..10).map(|number| Long {
        device: 7,
        at: date(number),
    });
    long.load(records).await;
    long.seal().await.unwrap();
    let buckets = database.collection::<RawDocumentBuf>("kept");
    let read = buckets.find_one(doc! {}).await.unwrap().unwrap();
    let expire = sealing::expire::<Short>(&read, |_| None, DateTime::now()).unwrap();
    let Sealing::Statement(statement) = expire else {
        panic!("{expire:?}");
    };
    long.archive_to(archive.clone()).await.unwrap();
    let command = sealing::command(&Short::SPEC, [&statement]);
    let reply = database.run_raw_command(command).await.unwrap();
    assert_eq!(reply.get_i32("nModified").unwrap(), 0, "{reply}");
    events.expire_records().await.unwrap();
    let error = events.delete_key(7).await.unwrap_err();
    assert!(error.is_archived(), "{error}");
}
