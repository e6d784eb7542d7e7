//! What the statements of edits examine in a key of many buckets: each changes one document that an index finds, and
//! the looks before it examine what the edit concerns, by the profiler of the server.

use std::{fmt::Debug, time::Duration};

use bucket_mongo::{
    AttributeFilter, Bucketed, Buckets, Form, Which,
    bson::{DateTime, Document},
    testing::TestDatabase,
};
use bucket_tests::{database, profiled};
use serde::{Deserialize, Serialize};

const RECORDS: i64 = 300;
/// At most what one bucket has.
const OF_A_BUCKET: i64 = 5;

trait Event: Bucketed<Key: for<'a> From<&'a str>> + Clone + Debug + PartialEq {
    const HAS_IDS: bool;
    fn of(device: &str, id: i64) -> Self;
    fn set(&mut self, value: i64);
    fn go_to(&mut self, device: &str);
    fn value_is(value: i64) -> AttributeFilter;
}

macro_rules! models {
    ($($test:ident $name:ident $item:ident $has_ids:literal [$($unique:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            $($unique)*
            id: i64,
            #[bucket(sum, min, max)]
            value: i64,
        }

        impl Event for $name {
            const HAS_IDS: bool = $has_ids;

            fn of(device: &str, id: i64) -> Self {
                Self { device: device.to_owned(), at: date(id), id, value: id }
            }

            fn set(&mut self, value: i64) {
                self.value = value;
            }

            fn go_to(&mut self, device: &str) {
                self.device = device.to_owned();
            }

            fn value_is(value: i64) -> AttributeFilter {
                $item::FIELDS.value.eq(value)
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            each_edit_examines_what_it_concerns::<$name>().await;
        }
    )*};
}

models! {
    edits_of_counted_buckets_examine_one_of_them Counted CountedItem true
        [#[bucket(unique)]] [capacity = 5];
    edits_of_counted_buckets_by_reference_examine_one_of_them Plain PlainItem false
        [] [capacity = 5];
    edits_of_windows_examine_one_of_them Windowed WindowedItem true
        [#[bucket(unique)]] [window = "5s"];
    edits_of_windows_with_object_ids_examine_one_of_them Objects ObjectsItem true
        [#[bucket(unique)]] [window = "5s", capacity = 5, object_ids];
    edits_of_hybrid_buckets_examine_one_of_them Hybrid HybridItem true
        [#[bucket(unique)]] [max_duration = "1m", capacity = 5];
    edits_of_numbered_buckets_examine_one_of_them Numbered NumberedItem true
        [#[bucket(unique)]] [capacity = 5, numbered];
    edits_of_numbered_buckets_with_object_ids_examine_one_of_them NumberedObjects NumberedObjectsItem false
        [] [capacity = 5, numbered, object_ids];
}

macro_rules! sealed {
    ($($test:ident $name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", seal_after = "1h", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum, min, max)]
            value: i64,
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            let of = |key: &str, id| $name { device: key.to_owned(), at: date(id), value: id };
            sealing_examines_the_buckets_of_the_key(of).await;
        }
    )*};
}

sealed! {
    sealing_counted_buckets_examines_those_of_the_key SealedCounted [capacity = 5];
    sealing_windows_examines_those_of_the_key SealedWindow [window = "5s"];
    sealing_hybrid_buckets_examines_those_of_the_key SealedHybrid [max_duration = "1m", capacity = 5];
    sealing_numbered_buckets_examines_those_of_the_key SealedNumbered [capacity = 5, numbered];
}

fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

async fn filled<T: Event>() -> (TestDatabase, Buckets<T>) {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    for key in ["a", "b", "c"] {
        let records: Vec<T> = (0..RECORDS).map(|id| T::of(key, id)).collect();
        let report = events.insert_many(&records).await.unwrap();
        report.into_result().unwrap();
    }
    (database, events)
}

async fn reference<T: Event>(events: &Buckets<T>, id: i64) -> Which {
    let read = events.range("a", date(id)..=date(id)).with_refs();
    let mut read = read.await.unwrap();
    assert_eq!(read.len(), 1);
    read.remove(0).reference.into()
}

fn number(command: &Document, name: &str) -> i64 {
    command.get_i32(name).map_or(0, i64::from)
}

/// Whether this one changes something, and not just looks.
fn is_write(command: &Document) -> bool {
    let op = command.get_str("op").unwrap();
    let of = command.get_document("command").unwrap();
    matches!(op, "update" | "remove" | "insert") || of.contains_key("findAndModify")
}

/// What an edit did: each of its statements changes one document that an index finds, and its looks examine at most this
/// many documents altogether.
async fn examines<R>(
    database: &TestDatabase,
    what: &str,
    documents: i64,
    edit: impl Future<Output = R>,
) -> R {
    let (result, commands) = profiled(database, "events", edit).await;
    let (mut writes, mut looked) = (0, 0);
    for command in &commands {
        let plan = command.get_str("planSummary").unwrap_or_default();
        assert!(!plan.contains("COLLSCAN"), "{what}: {command}");
        let (keys, examined) = (
            number(command, "keysExamined"),
            number(command, "docsExamined"),
        );
        if is_write(command) {
            writes += 1;
            assert!(examined <= 1 && keys <= 2, "{what}: {command}");
        } else {
            looked += examined;
            assert!(keys <= 2 * examined + 3, "{what}: {command}");
        }
    }
    assert!(writes > 0, "{what} has changed nothing");
    assert!(looked <= documents, "{what} has examined {looked}");
    result
}

async fn each_edit_examines_what_it_concerns<T: Event>() {
    let (database, events) = filled::<T>().await;
    let all = RECORDS / OF_A_BUCKET + 4;
    // The buckets of the longest duration, where one that covers a late record may be.
    let late = match T::SPEC.form() {
        Form::Hybrid { .. } => 60 / OF_A_BUCKET + 1,
        _ => 0,
    };
    let of_span = match T::SPEC.form() {
        Form::Window { .. } | Form::Hybrid { .. } => 12 + 2 * late,
        // Nothing bounds the times of a bucket.
        _ => all,
    };
    let mut next = 100;
    for by_id in [true, false] {
        if by_id && !T::HAS_IDS {
            continue;
        }
        let mut which = Vec::new();
        for id in next..next + 3 {
            which.push(if by_id {
                Which::id(&id)
            } else {
                reference(&events, id).await
            });
        }
        next += 20;
        let update = async { events.update("a", &which[0], |it| it.set(-1)).await };
        let found = examines(&database, "update", 2, update).await;
        assert!(found.unwrap().is_some());
        let delete = async { events.delete("a", &which[1]).await };
        let found = examines(&database, "delete", 2, delete).await;
        assert!(found.unwrap().is_some());
        // The bucket that it leaves, and that which takes it.
        let go = async { events.update("a", &which[2], |it| it.go_to("d")).await };
        let found = examines(&database, "move", 4, go).await;
        assert!(found.unwrap().is_some());
    }
    if T::HAS_IDS {
        let mut record = T::of("a", 180);
        record.set(-2);
        let replace = async { events.insert(&record).replace().await };
        examines(&database, "replace", 3 + late, replace)
            .await
            .unwrap();
        let forget = async { events.delete("a", Which::id(&190_i64)).forget_ids().await };
        let found = examines(&database, "forget_ids", 2, forget).await;
        assert!(found.unwrap().is_some());
        let again = async { events.delete("a", Which::id(&101_i64)).forget_ids().await };
        let found = examines(&database, "forget_ids later", 4, again).await;
        assert!(found.unwrap().is_none());
    }
    let range = async { events.delete_range("a", date(200)..date(220)).await };
    let gone = examines(&database, "delete_range", of_span, range).await;
    let gone = gone.unwrap();
    assert_eq!(gone.records, 20);
    let condition = async { events.delete_where("a", T::value_is(240)).await };
    let found = examines(&database, "delete_where", all, condition).await;
    assert_eq!(found.unwrap().records, 1);
    let erase = async { events.delete_key("a").await };
    let (gone, commands) = profiled(&database, "events", erase).await;
    assert!(gone.unwrap().records > 200);
    for command in &commands {
        let plan = command.get_str("planSummary").unwrap_or_default();
        assert!(!plan.contains("COLLSCAN"), "{command}");
        assert!(number(command, "docsExamined") <= all, "{command}");
        assert!(number(command, "keysExamined") <= all + 2, "{command}");
    }
    assert_eq!(events.count("b").await.unwrap(), 300);
}

async fn sealing_examines_the_buckets_of_the_key<T>(of: impl Fn(&str, i64) -> T)
where
    T: Bucketed<Key: for<'a> From<&'a str>> + Clone,
{
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    for key in ["a", "b", "c"] {
        let records: Vec<T> = (0..RECORDS).map(|id| of(key, id)).collect();
        let report = events.insert_many(&records).await.unwrap();
        report.into_result().unwrap();
    }
    let all = RECORDS / OF_A_BUCKET + 4;
    let seal = async { events.seal().key("a").after(Duration::ZERO).await };
    let sealed = examines(&database, "seal", 2 * all, seal).await.unwrap();
    assert!(sealed.buckets > 50, "{sealed}");
    let unseal = async { events.unseal().key("a").await };
    let unsealed = examines(&database, "unseal", 2 * all, unseal).await;
    assert!(unsealed.unwrap().buckets > 50);
}
