//! What looks into the items on the server, or sends them, knows packed ones too: follow-ups, the dates of expiry, and
//! commands with large buckets.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Buckets, RecordChange,
    bson::{DateTime, Document, doc},
};
use bucket_tests::{Load, database, documents};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

const START: i64 = 1_764_000_000_000;

fn date(number: i64) -> DateTime {
    DateTime::from_millis(START + number * 1_000)
}

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", seal_after = "1s", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i32,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }

        impl $name {
            fn of(number: i64) -> Self {
                Self { device: 1, at: date(number), number }
            }
        }
    )*};
}

models! {
    Counted [capacity = 10];
    Numbered [capacity = 10, numbered];
    Windowed [window = "10s"];
    Aging [capacity = 10, expire_after = "20000d"];
}

async fn follow_up<T: Bucketed>(of: fn(i64) -> T, number: fn(&T) -> i64) {
    let database = database().await;
    let events: Buckets<T> = T::buckets(&database);
    events.ensure().await.unwrap();
    events.load((0..35).map(of)).await;
    assert!(events.seal().await.unwrap().buckets >= 3);
    let from = async |second: i64| {
        let mut changes = events.watch_from(date(second)).await.unwrap();
        let mut found = Vec::new();
        while found.last() != Some(&34) {
            match changes.next().await.unwrap().unwrap().change {
                RecordChange::Stored { record, .. } => found.push(number(&record)),
                _ => panic!("nothing else has happened"),
            }
        }
        found
    };
    assert_eq!(from(0).await, (0..35).collect::<Vec<i64>>());
    assert_eq!(from(17).await, (17..35).collect::<Vec<i64>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follow_up_gives_the_records_of_sealed_buckets() {
    follow_up(Counted::of, |it| it.number).await;
    follow_up(Numbered::of, |it| it.number).await;
    follow_up(Windowed::of, |it| it.number).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_buckets_get_the_date_of_their_latest_record() {
    let database = database().await;
    let before = Counted::buckets(&database);
    before.ensure().await.unwrap();
    before.load((0..30).map(Counted::of)).await;
    assert_eq!(before.seal().await.unwrap().buckets, 3);
    let events = Aging::buckets(&database);
    let report = events.ensure().change_expiry().await.unwrap();
    assert_eq!(report.dated_buckets, 3, "{report}");
    let dates: Vec<DateTime> = documents(&database, "events")
        .await
        .iter()
        .map(|bucket| *bucket.get_datetime("expire_from").unwrap())
        .collect();
    assert_eq!(dates, [date(9), date(19), date(29)]);
    events.insert(&Aging::of(30)).await.unwrap();
    assert!(events.verify().await.unwrap().is_clean());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "pages",
    items = "items",
    window = "10s",
    max_bytes = "8MB",
    seal_after = "1s"
)]
struct Page {
    #[bucket(key)]
    site: i32,
    #[bucket(time)]
    at: DateTime,
    number: i64,
    text: String,
}

fn page(site: i32, number: i64, length: usize) -> Page {
    Page {
        site,
        at: date(number),
        number,
        text: text(number, length),
    }
}

/// A text that cannot be compressed.
fn text(seed: i64, length: usize) -> String {
    let mut state = seed.unsigned_abs() * 2 + 1;
    let letters = (0..length).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + u8::try_from(state >> 58).unwrap())
    });
    letters.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn large_buckets_are_sealed_edited_and_unsealed() {
    let database = database().await;
    let pages = Page::buckets(&database);
    pages.ensure().await.unwrap();
    // Eight buckets of 3 MB, and one of 7 MB.
    let of_many = (0..8).flat_map(|site| (0..3).map(move |number| page(site, number, 1_000_000)));
    let all: Vec<Page> = of_many
        .chain((0..7).map(|number| page(9, number, 1_100_000)))
        .collect();
    pages
        .insert_many(&all)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let would = pages.seal().dry_run().await.unwrap();
    let sealed = pages.seal().await.unwrap();
    assert_eq!(
        (would.buckets, sealed.buckets, sealed.stay),
        (9, 9, 0),
        "{sealed}"
    );
    assert!(pages.verify().await.unwrap().is_clean());

    let found = pages.records(9).with_refs().collect().await.unwrap();
    let longer = |it: &mut Page| it.text = text(7, 2_200_000);
    pages.update(9, &found[0].reference, longer).await.unwrap();
    // The columns have more than 8 MB now.
    for it in &found[1..4] {
        let more = |it: &mut Page| it.number += 100;
        assert!(
            pages
                .update(9, &it.reference, more)
                .await
                .unwrap()
                .is_some()
        );
    }
    assert!(
        pages
            .update(9, &found[1].reference, longer)
            .await
            .unwrap_err()
            .is_changed()
    );
    pages.delete(9, &found[5].reference).await.unwrap();
    let left: Vec<i64> = pages
        .records(9)
        .collect()
        .await
        .unwrap()
        .iter()
        .map(|it| it.number)
        .collect();
    assert_eq!(left, [0, 101, 102, 103, 4, 6]);

    let unsealed = pages.unseal().await.unwrap();
    assert_eq!(unsealed.buckets + unsealed.stay, 9, "{unsealed}");
    assert!(unsealed.buckets >= 8, "{unsealed}");
    assert_eq!(pages.records(3).collect().await.unwrap(), all[9..12]);
    assert!(pages.verify().await.unwrap().is_clean());
    let again = pages
        .seal()
        .after(Duration::ZERO)
        .pause(Duration::from_millis(1))
        .await
        .unwrap();
    assert_eq!(again.buckets, unsealed.buckets, "{again}");
    let collection = pages.collection::<Document>();
    let packed = collection.count_documents(doc! { "items": { "$type": "binData" } });
    assert_eq!(packed.await.unwrap(), 9);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "pairs", items = "items", capacity = 2, seal_after = "1s")]
struct Pair {
    #[bucket(key)]
    site: i32,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_makes_a_sealed_bucket_much_larger() {
    let database = database().await;
    let pairs = Pair::buckets(&database);
    pairs.ensure().await.unwrap();
    let pair = |number: i64, length| Pair {
        site: 1,
        at: date(number),
        text: text(number, length),
    };
    let all = [pair(1, 5_100_000), pair(2, 10)];
    pairs
        .insert_many(&all)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert_eq!(pairs.seal().await.unwrap().buckets, 1);
    let found = pairs.records(1).with_refs().collect().await.unwrap();
    // The columns before it and those after it are more than a command takes.
    let longer = pair(3, 8_300_000).text;
    let update = pairs.update(1, &found[1].reference, |it| it.text.clone_from(&longer));
    assert!(update.await.unwrap().is_some());
    let left = pairs.records(1).collect().await.unwrap();
    assert_eq!((&left[0].text, &left[1].text), (&all[0].text, &longer));
    assert!(pairs.verify().await.unwrap().is_clean());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "beats",
    items = "items",
    window = "30m",
    capacity = 100,
    expire_after = "1h",
    seal_after = "1m"
)]
struct Beat {
    #[bucket(key)]
    device: i32,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_counted_where_the_columns_are_larger_than_a_document() {
    const BUCKETS: i64 = 20;
    let database = database().await;
    let beats = Beat::buckets(&database);
    beats.ensure().await.unwrap();
    // The first one of each bucket is past the limit in a moment.
    let limit = DateTime::now().timestamp_millis() - 3_600_000;
    for bucket in 0..BUCKETS {
        let after_limit = |number: i64| match number {
            0 => 40_000,
            number => 300_000 + number,
        };
        let beat = |number: i64| Beat {
            device: 1,
            at: DateTime::from_millis(limit + after_limit(number)),
            text: text(bucket * 100 + number, 10_000),
        };
        let all: Vec<Beat> = (0..100).map(beat).collect();
        beats
            .insert_many(&all)
            .await
            .unwrap()
            .into_result()
            .unwrap();
    }
    let report = beats.seal().after(Duration::ZERO).await.unwrap();
    assert!(
        report.buckets >= 20 && report.bytes_after > 14_000_000,
        "{report}"
    );
    let begun = tokio::time::Instant::now();
    loop {
        let counted = beats.count(1).await.unwrap();
        let summaries = beats.keys().summaries().await.unwrap();
        assert_eq!(summaries.len(), 1);
        if counted == 99 * 20 {
            assert_eq!(
                (summaries[0].records, summaries[0].buckets),
                (counted, report.buckets)
            );
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{counted}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
