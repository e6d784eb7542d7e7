//! Corrections that move a record to another bucket: in one transaction, or not at all.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, Which,
    bson::{DateTime, Document, doc},
    mongodb::options::{Acknowledgment, WriteConcern},
    testing::DevServer,
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

use crate::common::draw::Draw;

const KEYS: [&str; 3] = ["a", "b", "c"];

/// A record of any of the models.
trait Event: Bucketed<Key: for<'a> From<&'a str>> + Clone + Debug + PartialEq {
    const HAS_IDS: bool;
    fn of(device: &str, id: i64, at: DateTime) -> Self;
    fn id(&self) -> i64;
    fn device(&self) -> &str;
    fn go_to(&mut self, device: &str, at: DateTime);
}

macro_rules! models {
    ($($test:ident $racing:ident $name:ident $has_ids:literal [$($unique:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            $($unique)*
            #[bucket(sum, min, avg = "avg")]
            id: i64,
        }

        impl Event for $name {
            const HAS_IDS: bool = $has_ids;

            fn of(device: &str, id: i64, at: DateTime) -> Self {
                Self { device: device.to_owned(), at, id }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn device(&self) -> &str {
                &self.device
            }

            fn go_to(&mut self, device: &str, at: DateTime) {
                self.device = device.to_owned();
                self.at = at;
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            a_moved_record_is_where_it_went_and_nowhere_else::<$name>().await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $racing() {
            no_race_loses_or_doubles_a_moved_record::<$name>().await;
        }
    )*};
}

models! {
    moves_of_counted_buckets racing_moves_of_counted_buckets Counted true [#[bucket(unique)]] [capacity = 3];
    moves_of_windows racing_moves_of_windows Windowed true [#[bucket(unique)]] [window = "1m", capacity = 3];
    moves_of_windows_with_object_ids racing_moves_of_windows_with_object_ids Objects false [] [window = "1m", capacity = 3, object_ids];
    moves_of_hybrid_buckets racing_moves_of_hybrid_buckets Hybrid true [#[bucket(unique)]] [capacity = 3, max_duration = "1m", late = "side"];
    moves_of_numbered_buckets racing_moves_of_numbered_buckets Numbered true [#[bucket(unique)]] [capacity = 3, numbered];
    moves_of_numbered_buckets_by_reference racing_moves_of_numbered_buckets_by_reference NumberedPlain false [] [capacity = 3, numbered];
}

fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

async fn which<T: Event>(events: &Buckets<T>, device: &str, id: i64) -> Which {
    if T::HAS_IDS {
        return Which::id(&id);
    }
    let page = events
        .records(device)
        .limit(1_000)
        .with_refs()
        .await
        .unwrap();
    let mut found = page.into_records().into_iter();
    let found = found.find(|found| found.record.id() == id).unwrap();
    found.reference.into()
}

async fn assert_stored<T: Event>(events: &Buckets<T>, expected: &BTreeMap<i64, T>) {
    let mut found: Vec<T> = Vec::new();
    for key in KEYS {
        let of_key: Vec<T> = events.records(key).collect().await.unwrap();
        assert!(of_key.iter().all(|event| event.device() == key));
        found.extend(of_key);
    }
    found.sort_by_key(Event::id);
    let expected: Vec<T> = expected.values().cloned().collect();
    assert_eq!(found, expected);
    let report = events.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}

async fn a_moved_record_is_where_it_went_and_nowhere_else<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut draw = Draw::new(7);
    let mut expected = BTreeMap::new();
    for id in 0..40 {
        let event = T::of(KEYS[draw.draw(0..3_usize)], id, date(id * 5));
        events.insert(&event).await.unwrap();
        expected.insert(id, event);
    }
    for _ in 0..60 {
        let id = i64::try_from(draw.draw(0..40_usize)).unwrap();
        let (key, second) = (KEYS[draw.draw(0..3_usize)], draw.draw(0..400_usize));
        let at = date(i64::try_from(second).unwrap());
        let old = expected[&id].device().to_owned();
        let which = which(&events, &old, id).await;
        let is_dry = draw.draw(0..4_usize) == 0;
        let change = |event: &mut T| event.go_to(key, at);
        let mut update = events.update(old.as_str(), which, change);
        if is_dry {
            update = update.dry_run();
        }
        let moved = update.await.unwrap().unwrap();
        assert_eq!(moved, T::of(key, id, at));
        if !is_dry {
            expected.insert(id, moved);
        }
    }
    assert_stored(&events, &expected).await;
    if T::HAS_IDS {
        // A record is a duplicate, or conflicts with what it has become, where it is now.
        for event in expected.values() {
            let again = events.insert(event).await.unwrap();
            assert_eq!(again.outcome, bucket_mongo::RecordOutcome::Duplicate);
        }
        assert_stored(&events, &expected).await;
    }
}

async fn no_race_loses_or_doubles_a_moved_record<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let tasks = (0..4_i64).map(|task| {
        let database = database.clone();
        tokio::spawn(async move {
            let events = T::buckets(&database);
            let mut draw = Draw::new(u8::try_from(task).unwrap());
            let mut expected: BTreeMap<i64, T> = BTreeMap::new();
            for number in 0..20 {
                let id = task * 1_000 + number;
                let event = T::of(KEYS[draw.draw(0..3_usize)], id, date(number * 5));
                events.insert(&event).await.unwrap();
                expected.insert(id, event);
                let of = task * 1_000 + number / 2;
                let old = expected[&of].device().to_owned();
                let which = which(&events, &old, of).await;
                let (key, at) = (KEYS[draw.draw(0..3_usize)], date((number * 31) % 200));
                let update = events.update(old.as_str(), which, |event| event.go_to(key, at));
                expected.insert(of, update.await.unwrap().unwrap());
            }
            expected
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut expected = BTreeMap::new();
    for task in tasks {
        expected.extend(task.await.unwrap());
    }
    assert_stored(&events, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_transactions_a_move_is_refused_and_changes_nothing() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let database = server.database("moves").await.unwrap();
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Windowed::of("a", 1, date(0))).await.unwrap();
    let before = documents(&database, "events").await;
    for (key, second, text) in [("a", 3_600, "the time"), ("b", 0, "the key")] {
        let change = |event: &mut Windowed| event.go_to(key, date(second));
        let error = events.update("a", Which::id(&1_i64), change).await;
        let error = error.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Moves { .. }), "{error:?}");
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(documents(&database, "events").await, before);
    let within = events.update("a", Which::id(&1_i64), |event| event.at = date(1));
    assert_eq!(within.await.unwrap(), Some(Windowed::of("a", 1, date(1))));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 3,
    max_duration = "1m",
    late = "reject"
)]
struct Rejecting {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_the_other_bucket_refuses_stays_where_it_is() {
    let database = database().await;
    let events = Rejecting::buckets(&database);
    events.ensure().await.unwrap();
    let event = |device: &str, id, second| Rejecting {
        device: device.to_owned(),
        at: date(second),
        id,
    };
    for event in [event("a", 1, 300), event("a", 2, 360), event("b", 2, 300)] {
        events.insert(&event).await.unwrap();
    }
    let before = documents(&database, "events").await;
    // Late for its key.
    let late = events.update("a", Which::id(&1_i64), |event| event.at = date(0));
    late.await.unwrap_err();
    // The other key has this id.
    let taken = events.update("a", Which::id(&2_i64), |event| {
        event.device = "b".to_owned();
    });
    taken.await.unwrap_err();
    let same = events.update("a", Which::id(&2_i64), |event| {
        event.device = "b".to_owned();
        event.at = date(300);
    });
    let error = same.await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error}");
    assert_eq!(documents(&database, "events").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_in_a_transaction_is_undone_with_it() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let event = Windowed::of("a", 1, date(0));
    events.insert(&event).await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    let moved = Windowed::of("b", 1, date(500));
    for commits in [false, true] {
        session.start_transaction().await.unwrap();
        let change = |event: &mut Windowed| event.go_to("b", date(500));
        let update = events.update("a", Which::id(&1_i64), change);
        let now = update.session(&mut session).await.unwrap();
        assert_eq!(now, Some(moved.clone()));
        let stored = if commits {
            session.commit_transaction().await.unwrap();
            &moved
        } else {
            session.abort_transaction().await.unwrap();
            &event
        };
        let expected = BTreeMap::from([(1, stored.clone())]);
        assert_stored(&events, &expected).await;
    }
    // In a session without a transaction the call has its own.
    let change = |event: &mut Windowed| event.go_to("a", date(0));
    let update = events.update("b", Which::id(&1_i64), change);
    let now = update.session(&mut session).await.unwrap();
    assert_eq!(now, Some(event.clone()));
    assert_stored(&events, &BTreeMap::from([(1, event)])).await;
}

/// The driver calls a commit refused that too few members can ever confirm. It is done all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_whose_write_concern_cannot_be_met_is_not_known() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let two = Acknowledgment::Nodes(2);
    let nobody = Acknowledgment::Custom("nobody".to_owned());
    let mut expected = BTreeMap::new();
    for (id, w) in [(1, two), (2, nobody)] {
        let event = Windowed::of("a", id, date(id));
        events.insert(&event).await.unwrap();
        let concern = WriteConcern::builder()
            .w(w)
            .w_timeout(Duration::from_millis(300));
        let change = |event: &mut Windowed| event.go_to("b", date(500));
        let update = events.update("a", Which::id(&id), change);
        let error = update.write_concern(concern.build()).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        expected.insert(id, Windowed::of("b", id, date(500)));
        assert_stored(&events, &expected).await;
    }
}

/// The driver asks a commit that it repeats for a majority, whatever the write concern is.
#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_too_few_members_have_in_time_is_not_known() {
    let parameters = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().members(3).own().arguments(parameters);
    let server = server.await.unwrap();
    let database = server.database("late").await.unwrap();
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let mut expected = BTreeMap::new();
    for id in [1, 2] {
        let event = Windowed::of("a", id, date(id));
        let all = WriteConcern::nodes(3);
        events.insert(&event).write_concern(all).await.unwrap();
        expected.insert(id, event);
    }
    let primary = server.primary().await.unwrap().address();
    let mut members = server.members().iter();
    let late = members.find(|member| member.address() != primary).unwrap();
    late.pause().await.unwrap();
    let client = server.client().await.unwrap();
    for (id, is_lost) in [(1, false), (2, true)] {
        if is_lost {
            let lost = doc! { "failCommands": ["commitTransaction"], "closeConnection": true };
            let fail =
                doc! { "configureFailPoint": "failCommand", "mode": { "times": 1 }, "data": lost };
            client.database("admin").run_command(fail).await.unwrap();
        }
        let all = WriteConcern::builder()
            .w(Acknowledgment::Nodes(3))
            .w_timeout(Duration::from_millis(300));
        let change = |event: &mut Windowed| event.go_to("b", date(500));
        let update = events.update("a", Which::id(&id), change);
        let error = update.write_concern(all.build()).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        expected.insert(id, Windowed::of("b", id, date(500)));
        assert_stored(&events, &expected).await;
    }
    late.resume().await.unwrap();
    let all = WriteConcern::nodes(3);
    let change = |event: &mut Windowed| event.go_to("c", date(900));
    let update = events.update("b", Which::id(&1_i64), change);
    update.write_concern(all).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_would_lose_a_field_is_refused() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Windowed::of("a", 1, date(0))).await.unwrap();
    let collection = database.collection::<Document>("events");
    let added = doc! { "$set": { "items.0.comment": "later" } };
    collection.update_one(doc! {}, added).await.unwrap();
    let later = events.update("a", Which::id(&1_i64), |event| event.at = date(500));
    let error = later.await.unwrap_err();
    assert!(error.to_string().contains("`comment`"), "{error}");
    let within = events.update("a", Which::id(&1_i64), |event| event.at = date(1));
    within.await.unwrap();
    let stored = documents(&database, "events").await;
    let item = stored[0].get_array("items").unwrap()[0].as_document();
    assert_eq!(item.unwrap().get_str("comment").unwrap(), "later");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_a_moved_record_never_changes_shape() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&Windowed::of("a", 1, date(0))).await.unwrap();
    events.insert(&Windowed::of("a", 2, date(1))).await.unwrap();
    let within = events.update("a", Which::id(&1_i64), |event| event.at = date(500));
    within.await.unwrap();
    let across = events.update("a", Which::id(&2_i64), |event| {
        event.device = "b".to_owned();
    });
    across.await.unwrap();
    let stored = documents(&database, "events").await;
    let left = stored
        .iter()
        .find(|bucket| bucket.get("count") == Some(&2.into()))
        .unwrap();
    let place = doc! { "moved_from": left.get("_id").unwrap(), "index": 0 };
    let marks = vec![
        doc! { "at": date(0), "id": place, "_removed": true },
        doc! { "at": date(1), "id": 2_i64, "_removed": true },
    ];
    assert_eq!(left.get("items").unwrap(), &marks.into());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_move_leaves_nothing_to_commit() {
    let database = database().await;
    let events = Rejecting::buckets(&database);
    events.ensure().await.unwrap();
    let event = |device: &str, id, second| Rejecting {
        device: device.to_owned(),
        at: date(second),
        id,
    };
    for event in [event("a", 1, 360), event("b", 1, 300), event("c", 2, 900)] {
        events.insert(&event).await.unwrap();
    }
    let before = documents(&database, "events").await;
    let mut session = database.client().start_session().await.unwrap();
    // The key `b` has this id, and in `c` the record is late.
    for (key, second) in [("b", 300), ("c", 0)] {
        session.start_transaction().await.unwrap();
        let moved = events.update("a", Which::id(&1_i64), |event| {
            event.device = key.to_owned();
            event.at = date(second);
        });
        moved.session(&mut session).await.unwrap_err();
        session.commit_transaction().await.unwrap_err();
        assert_eq!(documents(&database, "events").await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_in_no_transaction_after_a_dropped_move() {
    let database = database().await;
    let events = Windowed::buckets(&database);
    events.ensure().await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    for id in 0..30_i64 {
        events
            .insert(&Windowed::of("a", id, date(0)))
            .await
            .unwrap();
        let moved = events.update("a", Which::id(&id), |event| event.at = date(500));
        let moved = moved.session(&mut session);
        let patience = Duration::from_micros(u64::try_from(id).unwrap() * 300);
        tokio::time::timeout(patience, moved).await.ok();
        let after = Windowed::of("b", id, date(0));
        events.insert(&after).session(&mut session).await.unwrap();
        let found: Vec<Windowed> = events.records("b").collect().await.unwrap();
        assert!(found.contains(&after), "{id}");
    }
    drop(session);
    let report = events.verify().await.unwrap();
    assert!(report.findings.is_empty(), "{report}");
}
