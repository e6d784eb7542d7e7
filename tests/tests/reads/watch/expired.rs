//! Removed buckets in a watch: the span of their records, and whether it can have been retention.

use std::{fmt::Debug, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, RecordChange, TimeRange, WatchEvent, Which,
    action::WatchStream,
    bson::DateTime,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{Load, database};
use futures_util::{TryStreamExt, join};
use serde::{Deserialize, Serialize};

const LIMIT: i64 = 3_600_000;
const WINDOW: i64 = 2_000;
/// What takes longer does not come.
const PATIENCE: Duration = Duration::from_secs(120);

/// A record of any of the models.
trait Visit: Bucketed + Clone + Debug + PartialEq {
    fn of(page: &str, id: i64, millis: i64) -> Self;
    fn key_of(page: &str) -> Self::Key;
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
        }

        impl Visit for $name {
            fn of(page: &str, id: i64, millis: i64) -> Self {
                Self { page: page.to_owned(), at: DateTime::from_millis(millis), id }
            }

            fn key_of(page: &str) -> Self::Key {
                page.to_owned().into()
            }
        }
    )*};
}

models! {
    Counted [capacity = 4, expire_after = "1h"];
    Windows [window = "2s", expire_after = "1h"];
    Objects [window = "2s", object_ids, expire_after = "1h"];
    Hybrid [capacity = 4, max_duration = "1m", expire_after = "1h"];
    Side [capacity = 4, max_duration = "1m", late = "side", expire_after = "1h"];
    Numbered [capacity = 4, numbered, expire_after = "1h"];
    NumberedObjects [capacity = 4, numbered, object_ids, expire_after = "1h"];
    Kept [capacity = 4];
}

/// The removal of a bucket, as an event has it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Gone {
    span: Option<TimeRange>,
    expired: Option<bool>,
    records: Option<u32>,
}

async fn next<T: Visit>(stream: &mut WatchStream<T>) -> WatchEvent<T> {
    let next = tokio::time::timeout(PATIENCE, stream.try_next());
    next.await.expect("an event in time").unwrap().unwrap()
}

/// The next removal of a bucket of this page, or of one of which no page is known.
async fn removal<T: Visit>(stream: &mut WatchStream<T>, page: &str) -> Gone {
    loop {
        if let RecordChange::BucketRemoved {
            key,
            span,
            expired,
            records,
            ..
        } = next(stream).await.change
        {
            assert!(key.is_none_or(|key| key == T::key_of(page)));
            return Gone {
                span,
                expired,
                records,
            };
        }
    }
}

fn span(from: i64, to: i64) -> TimeRange {
    let date = |millis| Some(DateTime::from_millis(millis));
    TimeRange::new(date(from), date(to))
}

/// Four records from this time on, one of which is removed again, and a newer one, so that the bucket takes no more.
async fn fill<T: Visit>(visits: &Buckets<T>, page: &str, first: i64, id: i64) {
    for number in 0..4 {
        let visit = T::of(page, id + number, first + number * 300);
        visits.insert(&visit).await.unwrap();
    }
    let second = Which::id(&(id + 1));
    visits.delete(T::key_of(page), second).await.unwrap();
    let now = DateTime::now().timestamp_millis();
    visits.insert(&T::of(page, id + 4, now)).await.unwrap();
}

/// What the events of a form say.
struct Expected {
    /// From the events of a bucket, and from the question for it.
    span: [bool; 2],
    /// From the id, if no event was seen.
    start: bool,
}

async fn retention_removes<T: Visit>(database: &TestDatabase, of: Expected) {
    let visits = T::buckets(database);
    visits.ensure().await.unwrap();
    let mut plain = visits.watch().await.unwrap();
    let mut before = visits.watch().with_before().await.unwrap();
    // At the start of a window, and within the limit for as long as it is written.
    let first = DateTime::now().timestamp_millis() - LIMIT + 6_000;
    let first = first - first.rem_euclid(WINDOW);
    fill(&visits, "a", first, 0).await;
    let token = loop {
        let event = next(&mut plain).await;
        match &event.change {
            RecordChange::Stored { record, .. }
                if *record == T::of("a", 4, record.time().timestamp_millis()) =>
            {
                break event.token().unwrap();
            }
            RecordChange::BucketRemoved { .. } => panic!("not before its time"),
            _ => {}
        }
    };
    let mut late = visits.watch().after(&token).await.unwrap();

    let whole = if matches!(T::SPEC.form(), bucket_mongo::Form::Window { .. }) {
        Some(span(first, first + WINDOW))
    } else {
        Some(span(first, first + 901))
    };
    let seen = Gone {
        span: whole.filter(|_| of.span[0]),
        expired: Some(true),
        records: None,
    };
    assert_eq!(removal(&mut plain, "a").await, seen);
    let asked = Gone {
        span: whole.filter(|_| of.span[1]),
        expired: Some(true),
        records: Some(3),
    };
    assert_eq!(removal(&mut before, "a").await, asked);
    // What it has not seen, it does not say.
    let start = TimeRange::new(Some(DateTime::from_millis(first)), None);
    let unseen = Gone {
        span: of.start.then_some(start),
        expired: None,
        records: None,
    };
    assert_eq!(removal(&mut late, "a").await, unseen);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_retention_removes_has_the_span_of_its_records_and_is_expired() {
    const FROM_EVENTS: fn(bool) -> Expected = |start| Expected {
        span: [true; 2],
        start,
    };
    const ASKED: fn() -> Expected = || Expected {
        span: [false, true],
        start: false,
    };
    let arguments = ["--setParameter", "ttlMonitorSleepSecs=1"];
    let server = DevServer::builder().own().arguments(arguments);
    let server = server.await.unwrap();
    let of = async || server.database("expired").await.unwrap();
    join!(
        async { retention_removes::<Counted>(&of().await, ASKED()).await },
        async { retention_removes::<Windows>(&of().await, FROM_EVENTS(true)).await },
        async { retention_removes::<Objects>(&of().await, FROM_EVENTS(false)).await },
        async { retention_removes::<Hybrid>(&of().await, FROM_EVENTS(false)).await },
        async { retention_removes::<Side>(&of().await, FROM_EVENTS(false)).await },
        async { retention_removes::<Numbered>(&of().await, ASKED()).await },
        async { retention_removes::<NumberedObjects>(&of().await, ASKED()).await },
    );
}

async fn erased_before_its_time<T: Visit>(expected: impl Fn(i64, i64) -> [Option<TimeRange>; 2]) {
    let database = database().await;
    let visits = T::buckets(&database);
    visits.ensure().await.unwrap();
    let mut plain = visits.watch().await.unwrap();
    let mut before = visits.watch().with_before().await.unwrap();
    let first = DateTime::now().timestamp_millis() - LIMIT / 2;
    let first = first - first.rem_euclid(WINDOW);
    let records = (0..4).map(|number| T::of("a", number, first + number * 300));
    visits.load(records.collect::<Vec<T>>()).await;
    visits.delete_key(T::key_of("a")).await.unwrap();
    let [seen, asked] = expected(first, first + 901);
    let mut gone = Gone {
        span: seen,
        expired: Some(false),
        records: None,
    };
    assert_eq!(removal(&mut plain, "a").await, gone);
    gone.span = asked;
    gone.records = Some(4);
    assert_eq!(removal(&mut before, "a").await, gone);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_erased_before_its_time_is_not_expired() {
    let of_records = |first, end| [Some(span(first, end)); 2];
    let of_window = |first, _| [Some(span(first, first + WINDOW)); 2];
    let asked = |first, end| [None, Some(span(first, end))];
    erased_before_its_time::<Counted>(asked).await;
    erased_before_its_time::<Windows>(of_window).await;
    erased_before_its_time::<Objects>(of_window).await;
    erased_before_its_time::<Hybrid>(of_records).await;
    erased_before_its_time::<Side>(of_records).await;
    erased_before_its_time::<Numbered>(asked).await;
    erased_before_its_time::<NumberedObjects>(asked).await;
    // Without a limit nothing expires.
    erased_before_its_time::<Kept>(asked).await;
}
