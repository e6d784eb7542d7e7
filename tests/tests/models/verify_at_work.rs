//! `verify` reports nothing while records are appended, edited, removed, moved and replaced, and buckets sealed.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, Which,
    bson::{DateTime, doc},
};
use bucket_tests::{PATIENCE, database, documents};
use serde::{Deserialize, Serialize};
use tokio::{spawn, task::JoinHandle};

use super::verify::Random;

trait Work: Bucketed + Clone + Debug + Send + Sync + Unpin {
    fn of(device: &str, at: DateTime, number: i64) -> Self;
    fn key_of(device: &str) -> Self::Key;
    fn correct(&mut self);
    fn put_at(&mut self, at: DateTime);
}

macro_rules! models {
    ($($test:ident $name:ident [$($attributes:tt)*] [$($id:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", stats = "stats", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            #[bucket(sum, min)]
            $($id)*
            number: i64,
            #[bucket(sum = "level_sum", avg = "level_avg", max = "level_max")]
            level: f64,
            note: Option<String>,
        }

        impl Work for $name {
            fn of(device: &str, at: DateTime, number: i64) -> Self {
                let level = f64::from(i32::try_from(number % 1_000).unwrap());
                Self { device: device.to_owned(), at, number, level, note: None }
            }

            fn key_of(device: &str) -> Self::Key {
                device.to_owned().into()
            }

            fn correct(&mut self) {
                self.level += 1.0;
                self.note = Some("corrected".to_owned());
            }

            fn put_at(&mut self, at: DateTime) {
                self.at = at;
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            nothing_is_reported::<$name>().await;
        }
    )*};
}

models! {
    counted Counted [capacity = 5] [#[bucket(unique)]];
    aging Aging [capacity = 5, expire_after = "20000d", max_bytes = "1KB"] [#[bucket(unique)]];
    windows Windows [window = "1m", capacity = 4] [#[bucket(unique)]];
    windows_with_object_ids Objects [window = "1m", capacity = 4, object_ids] [#[bucket(unique)]];
    hybrid Hybrid [capacity = 5, max_duration = "2m", late = "side"] [#[bucket(unique)]];
    numbered Numbered [capacity = 5, numbered] [#[bucket(unique)]];
    sealed_counted SealedCounted [capacity = 12, seal_after = "1h"] [];
    sealed_windows SealedWindows [window = "2m", capacity = 12, seal_after = "1h"] [];
    sealed_hybrid SealedHybrid [capacity = 12, max_duration = "2m", late = "merge", seal_after = "1h"] [];
    sealed_numbered SealedNumbered [capacity = 12, numbered, seal_after = "1h"] [];
}

const START: i64 = 1_698_335_220_000;
const DEVICES: [&str; 2] = ["a", "b"];
/// The tasks of each kind, and the rounds of each.
const TASKS: u64 = 4;
const ROUNDS: usize = 12;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 5_000)
}

/// What an edit meets that others have changed first.
fn is_others(error: &Error) -> bool {
    error.is_changed()
        || error.is_conflict()
        || error.is_retryable()
        || matches!(error.kind(), ErrorKind::Moves { .. })
}

/// A record that is stored, and a reference to it.
async fn any<T: Work>(
    events: &Buckets<T>,
    random: &mut Random,
) -> Option<(&'static str, Which, T)> {
    let device = DEVICES[random.below(DEVICES.len())];
    let found = events
        .range(T::key_of(device), ..)
        .with_refs()
        .await
        .unwrap();
    let at = random.below(found.len().max(1));
    let found = found.into_iter().nth(at)?;
    Some((device, Which::from(found.reference), found.record))
}

async fn append<T: Work>(events: Buckets<T>, mut random: Random, next: Arc<AtomicI64>) {
    for round in 0_i64.. {
        if round == i64::try_from(ROUNDS).unwrap() {
            break;
        }
        let device = DEVICES[random.below(DEVICES.len())];
        let length = i64::from([1, 2, 7, 20][random.below(4)]);
        let first = next.fetch_add(length, Ordering::Relaxed);
        // Every third batch is late.
        let late = if round % 3 == 2 { 60 } else { 0 };
        let records =
            (first..first + length).map(|n| T::of(device, date(round * 10 - late + n % 5), n));
        let report = events
            .insert_many(records.collect::<Vec<T>>())
            .await
            .unwrap();
        report.into_result().unwrap();
    }
}

async fn edit<T: Work>(events: Buckets<T>, mut random: Random, done: Arc<AtomicI64>) {
    for _ in 0..ROUNDS {
        if let Some((device, which, _)) = any(&events, &mut random).await {
            match events.update(T::key_of(device), which, Work::correct).await {
                Ok(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Err(error) => assert!(is_others(&error), "{error}"),
            }
        }
    }
}

async fn remove<T: Work>(events: Buckets<T>, mut random: Random, done: Arc<AtomicI64>) {
    for _ in 0..ROUNDS / 2 {
        if let Some((device, which, _)) = any(&events, &mut random).await {
            match events.delete(T::key_of(device), which).await {
                Ok(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Err(error) => assert!(is_others(&error), "{error}"),
            }
        }
    }
}

async fn relocate<T: Work>(events: Buckets<T>, mut random: Random, done: Arc<AtomicI64>) {
    for _ in 0..ROUNDS / 2 {
        let to = date(i64::try_from(random.below(150)).unwrap());
        if let Some((device, which, _)) = any(&events, &mut random).await {
            let moved = events.update(T::key_of(device), which, |record| record.put_at(to));
            match moved.await {
                Ok(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Err(error) => assert!(is_others(&error), "{error}"),
            }
        }
    }
}

async fn replace<T: Work>(events: Buckets<T>, mut random: Random, done: Arc<AtomicI64>) {
    for _ in 0..ROUNDS {
        if let Some((_, _, mut record)) = any(&events, &mut random).await {
            record.correct();
            match events.insert(&record).replace().await {
                Ok(_) => drop(done.fetch_add(1, Ordering::Relaxed)),
                Err(error) => assert!(is_others(&error), "{error}"),
            }
        }
    }
}

async fn seal<T: Work>(events: Buckets<T>, mut random: Random, done: Arc<AtomicI64>) {
    for _ in 0..ROUNDS {
        let sealed = events.seal().after(Duration::ZERO).await.unwrap();
        done.fetch_add(i64::try_from(sealed.buckets).unwrap(), Ordering::Relaxed);
        if random.below(4) == 0 {
            events.unseal().await.unwrap();
        }
    }
}

/// A check that has passed the last bucket of a key meets a later one, which a writer has opened since: both seem to take
/// records, until it looks again.
#[tokio::test(flavor = "multi_thread")]
async fn what_others_do_between_two_batches_is_looked_at_again() {
    let database = database().await;
    let events = Counted::buckets(&database);
    events.ensure().await.unwrap();
    // A check pauses after a hundred buckets: the last one of them has room.
    let records = |numbers: std::ops::Range<i64>| numbers.map(|n| Counted::of("a", date(n), n));
    let store = async |numbers| {
        let report = events.insert_many(records(numbers)).await.unwrap();
        report.into_result().unwrap();
    };
    store(0..499).await;
    let (passed, has_passed) = tokio::sync::oneshot::channel();
    let mut passed = Some(passed);
    let check = events.verify().pause(Duration::from_secs(3));
    let check = check.on_progress(|progress| {
        if let Some(passed) = passed.take() {
            assert_eq!(progress.buckets, 100);
            passed.send(()).unwrap();
        }
    });
    let write = async {
        has_passed.await.unwrap();
        store(499..502).await;
    };
    let (report, ()) = tokio::join!(check, write);
    let report = report.unwrap();
    assert!(report.is_clean(), "{report}");
    // One more, unless the writer took longer than the pause.
    assert!((100..=101).contains(&report.buckets), "{report}");
}

async fn nothing_is_reported<T: Work>() {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    // The first batch of a check ends near the end of the first key, so that writers come between two batches.
    let filled = 97 * i64::from(T::SPEC.capacity().unwrap_or(5));
    for device in DEVICES {
        let first = if device == "a" { 0 } else { filled };
        let records = (first..first + filled).map(|n| T::of(device, date(n - first - filled), n));
        let report = T::buckets(&database)
            .insert_many(records.collect::<Vec<T>>())
            .await;
        report.unwrap().into_result().unwrap();
    }
    let seals = T::SPEC.seal_after().is_some();
    let next = Arc::new(AtomicI64::new(2 * filled));
    let [edited, removed, moved, replaced, sealed] = [(); 5].map(|()| Arc::default());
    // In tasks of their own: a check is busy for longer than they wait for their server.
    let mut work = Vec::new();
    for task in 0..TASKS {
        let events = || T::buckets(&database).with_deadline(PATIENCE);
        let random = |kind: u64| Random(task * 10 + kind);
        work.push(spawn(append(events(), random(0), Arc::clone(&next))));
        work.push(spawn(edit(events(), random(1), Arc::clone(&edited))));
        work.push(spawn(remove(events(), random(2), Arc::clone(&removed))));
        work.push(spawn(relocate(events(), random(3), Arc::clone(&moved))));
        work.push(if seals {
            spawn(seal(events(), random(4), Arc::clone(&sealed)))
        } else {
            spawn(replace(events(), random(5), Arc::clone(&replaced)))
        });
    }
    let events = T::buckets(&database);
    let mut walks = 0;
    while walks < 3 || !work.iter().all(JoinHandle::is_finished) {
        // Also with pauses, in which writers come between two batches.
        let pause = Duration::from_millis(10 * (walks % 3));
        let report = events.verify().pause(pause).await.unwrap();
        assert!(report.is_clean(), "{report}");
        walks += 1;
    }
    for task in work {
        task.await.unwrap();
    }
    for done in [
        &edited,
        &removed,
        &moved,
        if seals { &sealed } else { &replaced },
    ] {
        assert!(done.load(Ordering::Relaxed) > 0);
    }
    let report = T::buckets(&database).verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    // Marks are counted as no records.
    let mut records = 0;
    for device in DEVICES {
        records += T::buckets(&database)
            .count(T::key_of(device))
            .await
            .unwrap();
    }
    assert_eq!(report.records, records);
    // The same check does find something.
    let bucket = documents(&database, "events").await.remove(0);
    let collection = database.collection::<bucket_mongo::bson::Document>("events");
    let damage = doc! { "$set": { "count": 77 } };
    collection
        .update_one(doc! { "_id": bucket.get("_id") }, damage)
        .await
        .unwrap();
    let report = T::buckets(&database).verify().await.unwrap();
    assert_eq!(report.buckets > 0, report.total() > 0, "{report}");
}
