//! Full pages never change, whatever late records arrive.

use bucket_mongo::{
    Bucketed,
    bson::{DateTime, Document, doc},
};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "events", items = "events", capacity = 4)]
struct Event {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    at: DateTime,
    number: i32,
}

fn event(number: i32, millis: i64) -> Event {
    Event {
        source: 1,
        at: DateTime::from_millis(millis),
        number,
    }
}

/// From the far past to the far future, in the worst order.
const DATES: [i64; 12] = [
    1_698_335_223_000,
    i64::MAX,
    -1,
    0,
    999_999_999_000,
    10_000_000_000_000,
    i64::MIN,
    1_698_335_223_000,
    -62_135_596_800_000,
    1,
    253_402_300_799_000,
    1_698_335_222_000,
];

#[tokio::test]
async fn a_full_page_never_changes_whatever_dates_arrive_later() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let mut full_pages: Vec<Vec<Event>> = Vec::new();
    let mut page = Vec::new();
    for number in 0..60 {
        let record = event(
            number,
            DATES[usize::try_from(number).unwrap() * 7 % DATES.len()],
        );
        if number % 3 == 0 {
            events
                .insert_many([&record])
                .await
                .unwrap()
                .into_result()
                .unwrap();
        } else {
            events.insert(&record).await.unwrap();
        }
        page.push(record);
        if page.len() == 4 {
            full_pages.push(std::mem::take(&mut page));
            for (number, expected) in (1..).zip(&full_pages) {
                let found = events.page(1, number).await.unwrap().records();
                assert_eq!(found, *expected, "page {number} of {}", full_pages.len());
            }
        }
    }
    assert_eq!(events.page_count(1).await.unwrap(), 15);
}

#[tokio::test]
async fn a_handle_that_remembers_a_deleted_bucket_opens_a_new_one() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    events.insert(&event(0, 1_698_335_223_000)).await.unwrap();
    events.insert(&event(1, 1_698_335_223_000)).await.unwrap();
    events
        .collection::<Document>()
        .delete_many(doc! {})
        .await
        .unwrap();
    let inserted = events.insert(&event(2, 1_700_000_000_000)).await.unwrap();
    assert!(inserted.opened_bucket);
    let page = events.page(1, 1).await.unwrap();
    assert_eq!(page.bucket().unwrap().id.to_string(), "1_1700000000");
    assert_eq!(page.len(), 1);
}

#[tokio::test]
async fn dates_of_every_age_are_stored_and_read_to_the_millisecond() {
    let database = database().await;
    let events = Event::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<Event> = (0..)
        .zip(DATES)
        .map(|(number, at)| event(number, at))
        .collect();
    events
        .insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let mut found = Vec::new();
    for number in 1..=3 {
        found.extend(events.page(1, number).await.unwrap());
    }
    assert_eq!(found, records);
}
