//! Watches that give records as they were before.

use std::collections::BTreeMap;

use bucket_mongo::{
    Bucketed, RecordChange, Which,
    bson::{DateTime, Document, doc},
    testing::DevServer,
};
use bucket_tests::{Load, database};

use super::{Counted, Event, Objects, START, WRITERS, all_events, next, shown, write};

/// The event without what was before.
fn without_before<T: Event>(text: &str, before: Option<&T>) -> String {
    text.replacen(&format!("before: {before:?}"), "before: None", 1)
}

pub(super) async fn a_change_has_the_record_before_it<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut plain = events.watch().await.unwrap();
    let mut stream = events.watch().with_before().await.unwrap();
    let mut of_key = events
        .watch_key(T::key_of("a"))
        .with_before()
        .await
        .unwrap();
    let writers = (0..WRITERS).map(|writer| tokio::spawn(write(events.clone(), writer)));
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    events.insert(&T::of("end", -10, 0, 0)).await.unwrap();
    let all = all_events(&mut stream).await;
    let mut records: BTreeMap<(String, u32), T> = BTreeMap::new();
    let (mut updated, mut removed) = (0, 0);
    for event in &all {
        let place = |index: u32| (event.bucket.as_str().to_owned(), index);
        let (own, text) = (next(&mut plain).await, shown(event));
        match &event.change {
            RecordChange::Stored { record, index, .. } => {
                records.insert(place(*index), record.clone());
                assert_eq!(text, shown(&own));
            }
            RecordChange::Updated {
                record,
                before,
                index,
                ..
            } => {
                let was = records.insert(place(*index), record.clone());
                assert_eq!(*before, was, "{text}");
                assert_eq!(without_before(&text, before.as_ref()), shown(&own));
                updated += 1;
            }
            RecordChange::Removed { before, index, .. } => {
                assert_eq!(*before, records.remove(&place(*index)), "{text}");
                assert_eq!(without_before(&text, before.as_ref()), shown(&own));
                removed += 1;
            }
            other => panic!("{other:?}"),
        }
        if event.change.key() == Some(T::key_of("a")) {
            assert_eq!(shown(&next(&mut of_key).await), text);
        }
    }
    assert!(updated > 0 && removed > 0, "{updated} {removed}");

    // A token goes on with it and without it.
    let edits = all
        .iter()
        .enumerate()
        .filter(|(at, event)| *at > 0 && matches!(event.change, RecordChange::Updated { .. }));
    for (at, event) in edits.take(3) {
        let token = all[at - 1].token().unwrap();
        let mut later = events.watch().after(token).with_before().await.unwrap();
        assert_eq!(shown(&next(&mut later).await), shown(event));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_transaction_each_change_has_the_record_as_the_last_one_left_it() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Counted> = (0..3).map(|id| Counted::of("a", id, id, id)).collect();
    events.load(&records).await;
    let mut stream = events.watch().with_before().await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let late = Counted::of("a", 3, 3, 3);
    events.insert(&late).session(&mut session).await.unwrap();
    for (id, value) in [(1, 10), (1, 11), (2, 12), (3, 13)] {
        let edit = |record: &mut Counted| record.value = value;
        let update = events.update("a", Which::id(&id), edit);
        update.session(&mut session).await.unwrap();
    }
    let delete = events.delete("a", Which::id(&2_i64));
    delete.session(&mut session).await.unwrap();
    session.commit_transaction().await.unwrap();
    let of = |id: i64, value| Counted {
        value,
        ..Counted::of("a", id, id, id)
    };
    next(&mut stream).await;
    let mut first = None;
    for (was, is) in [
        (of(1, 1), of(1, 10)),
        (of(1, 10), of(1, 11)),
        (of(2, 2), of(2, 12)),
        (of(3, 3), of(3, 13)),
    ] {
        let event = next(&mut stream).await;
        let token = event.token();
        let RecordChange::Updated { before, record, .. } = event.change else {
            panic!("an edit");
        };
        assert_eq!((before, record), (Some(was), is));
        first = first.or(token);
    }
    let RecordChange::Removed { before, .. } = next(&mut stream).await.change else {
        panic!("a removal");
    };
    assert_eq!(before, Some(of(2, 12)));

    // In the middle of the transaction, what came before is not known: nothing wrong is given.
    let later = events.watch().after(first.unwrap()).with_before();
    let mut later = later.await.unwrap();
    let RecordChange::Updated { before, record, .. } = next(&mut later).await.change else {
        panic!("an edit");
    };
    assert_eq!((before, record), (None, of(1, 11)));
}

#[tokio::test(flavor = "multi_thread")]
async fn moves_and_replacements_have_the_record_before_them() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let old = Counted::of("a", 1, 1, 1);
    events.insert(&old).await.unwrap();
    let mut stream = events.watch().with_before().await.unwrap();

    let newer = Counted::of("a", 1, 1, 2);
    events.insert(&newer).replace().await.unwrap();
    let RecordChange::Updated { before, record, .. } = next(&mut stream).await.change else {
        panic!("a replacement");
    };
    assert_eq!((before, record), (Some(old), newer.clone()));

    let edit = |record: &mut Counted| record.device = "b".to_owned();
    events.update("a", Which::id(&1_i64), edit).await.unwrap();
    let mut moved = [next(&mut stream).await, next(&mut stream).await];
    moved.sort_by_key(|event| matches!(event.change, RecordChange::Stored { .. }));
    let RecordChange::Removed { before, .. } = &moved[0].change else {
        panic!("{moved:?}");
    };
    assert_eq!(*before, Some(newer.clone()));
    let RecordChange::Stored { record, .. } = &moved[1].change else {
        panic!("{moved:?}");
    };
    assert_eq!((record.device.as_str(), record.value), ("b", 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_bucket_has_its_key_and_the_number_of_its_records() {
    async fn of_form<T: Event>() {
        let database = database().await;
        let events = T::buckets(&database);
        events.ensure().await.unwrap();
        let records: Vec<T> = (0..20).map(|id| T::of("a", id, id * 10, id)).collect();
        events.load(&records).await;
        let which = Which::id(&3_i64);
        events.delete(T::key_of("a"), which).await.unwrap();
        // No event before it has the key.
        let mut plain = events.watch().await.unwrap();
        let mut stream = events.watch().with_before().await.unwrap();
        let documents = events.collection::<Document>();
        let stored = documents.count_documents(doc! {}).await.unwrap();
        events.delete_key(T::key_of("a")).await.unwrap();
        let mut number = 0;
        for _ in 0..stored {
            let RecordChange::BucketRemoved { key, records, .. } = next(&mut stream).await.change
            else {
                panic!("a removed bucket");
            };
            assert_eq!(key, Some(T::key_of("a")));
            number += records.unwrap();
            let RecordChange::BucketRemoved { records, .. } = next(&mut plain).await.change else {
                panic!("a removed bucket");
            };
            assert_eq!(records, None);
        }
        assert_eq!(number, 19);
    }
    of_form::<Counted>().await;
    of_form::<Objects>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_has_forgotten_is_left_out_and_the_event_stays() {
    let arguments = ["--setParameter", "minSnapshotHistoryWindowInSeconds=1"];
    let server = DevServer::builder()
        .own()
        .arguments(arguments)
        .await
        .unwrap();
    let client = server.client().await.unwrap();
    let database = client.database("forgotten");
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    let start = events.watch().await.unwrap().token().unwrap();
    events.insert(&Counted::of("a", 1, 1, 1)).await.unwrap();
    let edit = |record: &mut Counted| record.value = 7;
    events.update("a", Which::id(&1_i64), edit).await.unwrap();
    // The server forgets while it writes.
    let ticks = database.collection::<Document>("ticks");
    let mut tick = 0_i64;
    loop {
        tick += 1;
        let now = doc! { "at": DateTime::from_millis(START + tick) };
        ticks.insert_one(now).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        let mut later = events.watch().after(&start).with_before().await.unwrap();
        next(&mut later).await;
        let RecordChange::Updated { before, record, .. } = next(&mut later).await.change else {
            panic!("an edit");
        };
        assert_eq!(record.value, 7);
        let Some(before) = before else {
            return;
        };
        assert_eq!(before.value, 1);
        assert!(tick < 600, "the server forgets nothing");
    }
}
