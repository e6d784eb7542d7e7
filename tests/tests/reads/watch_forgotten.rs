//! Watches whose place the server has really forgotten: its oplog is small, and other writes have filled it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Error, ErrorKind, RecordChange, WatchEvent, Which,
    action::WatchStream,
    bson::{Binary, DateTime, Document, doc, spec::BinarySubtype},
    mongodb::Database,
    testing::DevServer,
};
use bucket_tests::faults::random::Random;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::{sleep, timeout};

/// A record of any of the models.
trait Visit: Bucketed<Key: From<String>> + Clone + std::fmt::Debug + PartialEq {
    fn now(id: i64) -> Self;
    fn id(&self) -> i64;
    fn at(&self) -> DateTime;
    fn set(&mut self, seconds: i64);
}

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "visits", items = "visits", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            page: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum)]
            seconds: i64,
        }

        impl Visit for $name {
            fn now(id: i64) -> Self {
                Self { page: PAGE.to_owned(), at: DateTime::now(), id, seconds: 0 }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn at(&self) -> DateTime {
                self.at
            }

            fn set(&mut self, seconds: i64) {
                self.seconds = seconds;
            }
        }
    )*};
}

models! {
    Counted [capacity = 10];
    Objects [window = "1m", object_ids];
    Hybrid [capacity = 10, max_duration = "1m"];
    Numbered [capacity = 10, numbered];
}

const PAGE: &str = "/";
/// The record after which a test looks no further.
const END: i64 = 1_000_000;
const HANGS: Duration = Duration::from_secs(90);

async fn next<T: Visit>(stream: &mut WatchStream<T>) -> Result<WatchEvent<T>, Error> {
    let next = timeout(HANGS, stream.try_next());
    next.await.expect("an event in time").map(Option::unwrap)
}

/// Stores records of now in one call.
async fn store<T: Visit>(visits: &Buckets<T>, ids: std::ops::Range<i64>) -> Vec<T> {
    let records: Vec<T> = ids.map(T::now).collect();
    let stored = visits.insert_many(&records).await.unwrap();
    stored.into_result().unwrap();
    records
}

/// From when a reader has to catch up; `None` for other errors.
fn since(error: &Error) -> Option<DateTime> {
    match error.kind() {
        ErrorKind::HistoryLost { since, .. } => Some(*since),
        _ => None,
    }
}

/// Fills the oplog until the server has forgotten the place of this token; the error of a watch after it.
async fn forget<T: Visit>(database: &Database, visits: &Buckets<T>, token: &str) -> Error {
    let others = database.collection::<Document>("others");
    let mut random = Random::new(5, 5);
    for _ in 0..2_000 {
        let bytes = (0..100_000)
            .map(|_| u8::try_from(random.below(256)).unwrap())
            .collect();
        let bytes = Binary {
            subtype: BinarySubtype::Generic,
            bytes,
        };
        others.insert_one(doc! { "bytes": bytes }).await.unwrap();
        if let Err(error) = visits.watch().after(token).await {
            return error;
        }
    }
    panic!("the oplog never comes to its end");
}

/// Stores records, one after the other, and corrects each, until the test stops it. Returns them.
async fn write_on<T: Visit>(visits: Buckets<T>, first: i64, stop: Arc<AtomicBool>) -> Vec<T> {
    let mut all = Vec::new();
    for id in first.. {
        all.extend(store(&visits, id..id + 1).await);
        let correct = |visit: &mut T| visit.set(id);
        let key = T::Key::from(PAGE.to_owned());
        visits.update(key, Which::id(&id), correct).await.unwrap();
        if stop.load(Relaxed) {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    all
}

async fn catches_up<T: Visit>(server: &DevServer) {
    let database = server.database("forgotten").await.unwrap();
    let visits = T::buckets(&database);
    visits.ensure().await.unwrap();
    let mut stream = visits.watch().await.unwrap();
    let mut slow = visits.watch().await.unwrap();
    let mut all = store(&visits, 0..1).await;
    sleep(Duration::from_millis(1_100)).await;
    all.extend(store(&visits, 1..2).await);
    sleep(Duration::from_millis(1_100)).await;
    // The reader comes into the middle of a bucket.
    all.extend(store(&visits, 2..8).await);
    // A record gets its time before it is stored: maybe in another second.
    let mut stored_until = vec![DateTime::now()];
    let mut places = Vec::new();
    for _ in 0..5 {
        let event = next(&mut stream).await.unwrap();
        places.push((event.at, event.token().unwrap()));
    }
    next(&mut slow).await.unwrap();
    let (_, token) = &places[4];

    // It misses these.
    all.extend(store(&visits, 8..14).await);
    stored_until.push(DateTime::now());
    let error = forget(&database, &visits, token.as_str()).await;
    let lost = since(&error).unwrap_or_else(|| panic!("{error:?}"));
    assert!(!error.is_retryable(), "{error:?}");
    // The last call of which all records were given stored the second record.
    let second = |date: DateTime| date.timestamp_millis().div_euclid(1_000);
    assert_eq!(second(lost), second(places[1].0));
    assert_eq!(lost.timestamp_millis() % 1_000, 0);

    // A reader that is open and does not read gets the same, after what was already on its way.
    let (mut newest, mut found) = (0, None);
    while found.is_none() {
        match next(&mut slow).await {
            Ok(event) => match event.change {
                RecordChange::Stored { record, .. } => {
                    assert_eq!(record.id(), newest + 1);
                    newest = record.id();
                }
                other => panic!("{other:?}"),
            },
            Err(error) => {
                let lost = since(&error).unwrap_or_else(|| panic!("{error:?}"));
                let until = stored_until[usize::from(newest >= 8)];
                assert!(
                    lost <= until,
                    "{lost} is after {newest}, stored until {until}"
                );
                found = Some(lost);
            }
        }
        if newest == 13 {
            break;
        }
    }

    // Writers go on while it catches up.
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write_on(visits.clone(), 14, Arc::clone(&stop)));
    sleep(Duration::from_millis(50)).await;
    let mut caught_up = visits.watch_from(lost).await.unwrap();
    let (mut stored, mut updated): (BTreeMap<i64, u32>, BTreeMap<i64, u32>) = Default::default();
    let mut first_token = None;
    loop {
        let event = next(&mut caught_up).await.unwrap();
        first_token = first_token.or(event.token());
        match event.change {
            RecordChange::Stored { record, .. } if record.id() == END => break,
            RecordChange::Stored { record, .. } => {
                assert!(record.at() >= lost, "{record:?} is from before {lost}");
                *stored.entry(record.id()).or_default() += 1;
            }
            RecordChange::Updated { record, .. } => {
                *updated.entry(record.id()).or_default() += 1;
            }
            other => panic!("{other:?}"),
        }
        if updated.len() == 20 && !stop.swap(true, Relaxed) {
            let (visits, end) = (visits.clone(), T::now(END));
            tokio::spawn(async move { visits.insert(&end).await.unwrap() });
        }
    }
    all.extend(writer.await.unwrap());
    // What the writer stored after the last record that the test looks at is not of interest.
    let expected = all.iter().filter(|visit| visit.at() >= lost);
    for visit in expected.filter(|visit| visit.id() < 30) {
        assert_eq!(stored.get(&visit.id()), Some(&1), "{visit:?}");
    }
    assert!(
        stored
            .values()
            .chain(updated.values())
            .all(|times| *times == 1)
    );
    assert!(!stored.contains_key(&0), "it is from before the place");
    assert!(stored.contains_key(&2) && stored.contains_key(&13));
    // From the first place on, the reader is one as any other.
    let token = first_token.unwrap();
    next(&mut visits.watch().after(&token).await.unwrap())
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_place_that_the_oplog_has_lost_a_reader_catches_up_without_a_gap_or_a_repeat() {
    let small = ["--oplogSize", "2", "--syncdelay", "1"];
    let server = DevServer::builder().own().arguments(small).await.unwrap();
    catches_up::<Counted>(&server).await;
    catches_up::<Objects>(&server).await;
    catches_up::<Hybrid>(&server).await;
    catches_up::<Numbered>(&server).await;
}
