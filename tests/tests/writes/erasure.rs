//! After `delete_key` nothing of the key is left: in no collection, no index, no log, no trace event and no redacted
//! error. Only the oplog still has it.

mod models;
mod scan;
mod traces;

use std::collections::BTreeSet;

use bucket_mongo::{
    Bucketed, Buckets, Error, Which,
    action::Removed,
    bson::{Document, doc},
    testing::{DevServer, TestDatabase},
};
use bucket_tests::documents;

use self::{
    models::{
        Averaged, Counted, Hybrid, HybridObjects, Numbered, NumberedObjects, Plain, Visit,
        Windowed, WindowedObjects, date,
    },
    scan::{Found, SECRET, has_secret, log_of, plan_caches, scan},
    traces::Traces,
};

const OPLOG: &str = "local.oplog.rs";
const OTHER: &str = "other";

fn user() -> String {
    format!("{SECRET}-user")
}

/// Everything that a log can show of an error.
fn shown(error: &Error) -> String {
    let mut shown = format!("{error} {error:?} {error:#?} {:?}", error.kind());
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        shown = format!("{shown} {error} {error:?}");
        source = error.source();
    }
    shown + &format!(" {:?}", error.key())
}

fn assert_redacted(error: &Error) {
    let redacted = error.redacted();
    assert!(!shown(&redacted).contains(SECRET), "{redacted:?}");
}

/// Stores, corrects, moves, replaces and removes records of both keys, with a source and with attributes.
async fn live<T: Visit>(visits: &Buckets<T>) {
    for (key, source) in [
        (user(), format!("{SECRET}-queue")),
        (OTHER.into(), "queue".into()),
    ] {
        let records: Vec<T> = (0..14).map(|n| T::of(&key, n, n * 7)).collect();
        let mut insert = visits.insert_many(&records);
        // A source has no place in buckets that take late records elsewhere.
        if !matches!(T::SPEC.form(), bucket_core::Form::Hybrid { .. }) {
            insert = insert.from_source(&source, 0);
        }
        insert.await.unwrap().into_result().unwrap();
        for n in 14..18 {
            let record = T::of(&key, n, n * 7);
            visits.insert(&record).await.unwrap();
        }
        if T::HAS_IDS {
            let newer = T::of(&key, 3, 25);
            visits.insert(&newer).replace().await.unwrap();
        }
        for n in [1, 5, 8] {
            let which = which(visits, &key, n).await;
            let update = visits.update(key.as_str(), which, |it| it.set_page("corrected"));
            update.await.unwrap().unwrap();
        }
        let which_one = which(visits, &key, 2).await;
        visits
            .delete(key.as_str(), which_one)
            .await
            .unwrap()
            .unwrap();
        let which_one = which(visits, &key, 12).await;
        let within = visits.update(key.as_str(), which_one, |it| it.set_second(500));
        within.await.unwrap().unwrap();
        let range = date(40)..date(50);
        visits.delete_range(key.as_str(), range).await.unwrap();
    }
    // From each key to the other one, and one of them back again.
    for (from, to, n) in [
        (user(), OTHER.to_owned(), 16),
        (OTHER.to_owned(), user(), 17),
        (OTHER.to_owned(), user(), 15),
        (user(), OTHER.to_owned(), 15),
    ] {
        if T::HAS_IDS {
            // The ids of both keys are the same: one makes room.
            let gone = visits
                .delete(to.as_str(), Which::id(&T::id_of(&to, n)))
                .await;
            gone.unwrap();
        }
        let which = which(visits, &from, n).await;
        let moved = visits.update(from.as_str(), which, |it| it.go_to(&to));
        if let Err(error) = moved.await {
            // The mark of the removed one has the id.
            assert!(T::HAS_IDS && error.is_duplicate_key(), "{error}");
            assert_redacted(&error);
        }
    }
}

async fn which<T: Visit>(visits: &Buckets<T>, key: &str, n: i64) -> Which {
    if T::HAS_IDS {
        return Which::id(&T::id_of(key, n));
    }
    let all = visits.records(key).with_refs().collect().await.unwrap();
    let found = all.into_iter().find(|read| read.record.number() == n);
    found.unwrap().reference.into()
}

/// Errors that name the key.
async fn fail<T: Visit>(visits: &Buckets<T>) {
    let mut errors = vec![visits.page(user(), 0).await.err().unwrap()];
    if T::HAS_IDS {
        let other = T::of(&user(), 4, 29);
        errors.push(visits.insert(&other).await.unwrap_err());
    } else {
        let reference = which(visits, &user(), 4).await;
        let update = visits.update(user(), reference.clone(), |it| it.set_page("later"));
        update.await.unwrap();
        errors.push(visits.delete(user(), reference).await.unwrap_err());
    }
    for error in errors {
        assert!(shown(&error).contains(SECRET), "{error:?}");
        assert_redacted(&error);
    }
}

/// Damages buckets of the key, of which the repair moves each into the quarantine. Returns their number.
async fn damage<T: Visit>(database: &TestDatabase, visits: &Buckets<T>) -> u64 {
    let collection = database.collection::<Document>("visits");
    let stored = documents(database, "visits").await.into_iter();
    let stored: Vec<Document> = stored
        .filter(|bucket| bucket.get_str("user").ok() == Some(user().as_str()))
        .collect();
    let mut damages = vec![doc! { "$set": { "items.0.page": 5 } }];
    if !T::SPEC.object_ids() {
        damages.push(doc! { "$set": { "user": { SECRET: 5 } } });
    }
    let number = damages.len() as u64;
    for (bucket, damage) in stored.iter().zip(damages) {
        let id = doc! { "_id": bucket.get("_id").unwrap() };
        collection.update_one(id, damage).await.unwrap();
    }
    let error = visits.records(user()).collect().await.unwrap_err();
    assert!(error.is_damaged(), "{error}");
    assert_redacted(&error);
    let found = visits.verify().await.unwrap();
    let report = visits.repair(&found).await.unwrap();
    assert_eq!(report.quarantined, number, "{report}");
    // Those of another collection, and of a key that begins like this one, stay.
    let quarantine = database.collection::<Document>("visits_quarantine");
    let copy = quarantine.find_one(doc! {}).await.unwrap().unwrap();
    for (collection, key) in [("others", user()), ("visits", format!("{}_1", user()))] {
        let mut copy = copy.clone();
        let id = copy.get_document_mut("_id").unwrap();
        id.insert("collection", collection);
        id.insert("id", format!("{key}_1698335223"));
        let document = copy.get_document_mut("document").unwrap();
        document.insert("user", key);
        quarantine.insert_one(copy).await.unwrap();
    }
    number
}

async fn erase<T: Visit>(server: &DevServer) {
    let form = std::any::type_name::<T>();
    let database = server.database("erasure").await.unwrap();
    let visits = T::buckets(&database);
    visits.ensure().await.unwrap();
    live(&visits).await;
    fail(&visits).await;
    let quarantined = damage(&database, &visits).await;

    let own = |place: &str| format!("{}.{place}", database.name());
    let others: Vec<T> = visits.records(OTHER).collect().await.unwrap();
    assert!(others.len() > 8, "{others:?}");
    let before = scan(server).await;
    for place in [own("visits"), own("visits_quarantine"), OPLOG.into()] {
        assert!(
            before.collections.contains(&place),
            "{form}: {place} of {before:?}"
        );
    }
    let indexes = before
        .indexes
        .iter()
        .filter(|it| it.starts_with(&own("visits ")));
    // Those of the ids and of the key; that of the age has only dates.
    let least = if T::SPEC.object_ids() { 1 } else { 2 };
    assert!(indexes.count() >= least, "{form}: {before:?}");

    let dry = visits.delete_key(user()).dry_run().await.unwrap();
    assert_eq!(scan(server).await.places(), before.places(), "{form}");
    let removed = visits.delete_key(user()).await.unwrap();
    assert_eq!(removed, dry, "{form}");
    assert_eq!(removed.quarantined, quarantined, "{form}");
    assert!(removed.records > 0 && removed.buckets > 0);

    let kept = documents(&database, "visits_quarantine").await;
    assert_eq!(kept.len(), 2, "{form}: {kept:?}");
    let quarantine = database.collection::<Document>("visits_quarantine");
    quarantine.delete_many(doc! {}).await.unwrap();
    let after = scan(server).await;
    assert_eq!(after, Found::only(OPLOG), "{form}");
    assert_eq!(plan_caches(server).await, BTreeSet::new(), "{form}");
    assert_eq!(visits.delete_key(user()).await.unwrap(), Removed::default());
    let left: Vec<T> = visits.records(OTHER).collect().await.unwrap();
    assert_eq!(left, others, "{form}");
    assert!(!format!("{visits:?}").contains(SECRET));
    // The server checks its indexes against its documents.
    let check = doc! { "validate": "visits", "full": true };
    let checked = database.run_command(check).await.unwrap();
    assert!(checked.get_bool("valid").unwrap(), "{checked}");
    database.drop().await.unwrap();
}

#[tokio::test]
async fn after_delete_key_only_the_oplog_has_anything_of_the_key() {
    let traces = Traces::default();
    let _others = traces::of_other_threads();
    let guard = tracing::subscriber::set_default(traces.clone());
    let server = DevServer::builder().own().await.unwrap();
    let admin = server.client().await.unwrap().database("admin");
    // The log has slow commands with their values.
    let quick = doc! { "profile": 0, "slowms": 1_000_000 };
    admin.run_command(quick).await.unwrap();
    erase::<Counted>(&server).await;
    erase::<Plain>(&server).await;
    erase::<Averaged>(&server).await;
    erase::<Windowed>(&server).await;
    erase::<WindowedObjects>(&server).await;
    erase::<Hybrid>(&server).await;
    erase::<HybridObjects>(&server).await;
    erase::<Numbered>(&server).await;
    erase::<NumberedObjects>(&server).await;
    drop(guard);
    traces.assert_without(SECRET);
    assert!(!has_secret(&log_of(&server).await), "the log of the server");

    // Such a log is why `edits.md` says what it says.
    let slow = doc! { "profile": 0, "slowms": -1 };
    admin.run_command(slow).await.unwrap();
    let database = server.database("erasure").await.unwrap();
    Counted::buckets(&database).count(user()).await.unwrap();
    assert!(has_secret(&log_of(&server).await));
}

/// A bucket of the key is in this quarantine.
async fn with_quarantine(database: &TestDatabase, name: &str) -> Buckets<Windowed> {
    let visits = Windowed::buckets(database);
    visits.ensure().await.unwrap();
    let records: Vec<Windowed> = (0..6).map(|n| Windowed::of("a", n, n)).collect();
    let report = visits.insert_many(&records).await.unwrap();
    report.into_result().unwrap();
    let collection = database.collection::<Document>("visits");
    let damage = doc! { "$set": { "items.0.page": 5 } };
    collection.update_one(doc! {}, damage).await.unwrap();
    let found = visits.verify().await.unwrap();
    let repair = visits.repair(&found).quarantine(name).await.unwrap();
    assert_eq!(repair.quarantined, 1, "{repair}");
    visits
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_key_looks_into_the_quarantine_that_it_is_given() {
    let database = bucket_tests::database().await;
    let visits = with_quarantine(&database, "damaged").await;
    for name in ["", "visits"] {
        let refused = visits.delete_key("a").quarantine(name).await.unwrap_err();
        assert!(refused.is_invalid_input(), "{refused}");
    }
    let other = visits.delete_key("a").dry_run().await.unwrap();
    assert_eq!(other.quarantined, 0);
    let removed = visits.delete_key("a").quarantine("damaged").await.unwrap();
    assert_eq!((removed.records, removed.quarantined), (2, 1));
    assert!(documents(&database, "damaged").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_of_a_key_in_a_transaction_is_undone_with_it() {
    let database = bucket_tests::database().await;
    let visits = with_quarantine(&database, "visits_quarantine").await;
    let mut session = database.client().start_session().await.unwrap();
    for commits in [false, true] {
        session.start_transaction().await.unwrap();
        let removed = visits.delete_key("a").session(&mut session).await.unwrap();
        assert_eq!((removed.records, removed.quarantined), (2, 1));
        if commits {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
        }
        for (name, left) in [("visits", 1), ("visits_quarantine", 1)] {
            let left = if commits { 0 } else { left };
            assert_eq!(documents(&database, name).await.len(), left, "{name}");
        }
    }
}
