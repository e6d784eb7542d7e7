//! Everything that reads return for a key.

use std::collections::BTreeSet;

use bucket_core::bucket;
use bucket_mongo::{BucketDocument, Buckets};
use futures_util::StreamExt;

use super::models::Event;

/// Everything that reads return for a key.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown {
    pub(crate) records: Vec<i64>,
    pub(crate) pages: Vec<Vec<i64>>,
    pub(crate) by_number: Vec<Vec<i64>>,
    pub(crate) count: u64,
    pub(crate) page_count: u64,
}

/// Reads by time return what the cursor returns. A record may expire between two reads.
async fn check_spans<T: Event>(buckets: &Buckets<T>, device: i64, records: &[T]) {
    let sorted = |records: &[T]| -> BTreeSet<i64> { records.iter().map(Event::number).collect() };
    let shown = sorted(records);
    let ranged = sorted(&buckets.range(T::key_of(device), ..).await.unwrap());
    assert!(ranged.is_subset(&shown), "{ranged:?} of {shown:?}");
    let stats = buckets.stats(T::key_of(device), ..).await.unwrap();
    let counted = stats.map_or(0, |stats| stats.count());
    assert!(counted <= u64::try_from(ranged.len()).unwrap());
    let latest = buckets.latest(T::key_of(device)).await.unwrap();
    assert!(latest.is_none_or(|latest| shown.contains(&latest.number())));
    let again = sorted(&buckets.records(T::key_of(device)).collect().await.unwrap());
    // Nothing expired in between: then all of them are equal.
    if again == shown {
        assert_eq!(ranged, shown);
        assert_eq!(counted, u64::try_from(shown.len()).unwrap());
    }
}

pub(crate) async fn shown<T: Event>(buckets: &Buckets<T>, device: i64) -> Shown {
    let key = || T::key_of(device);
    let numbers = |records: Vec<T>| -> Vec<i64> { records.iter().map(Event::number).collect() };
    let records: Vec<T> = buckets.records(key()).collect().await.unwrap();
    check_spans(buckets, device, &records).await;
    let mut pages = Vec::new();
    let mut stream = buckets.pages(key()).stream();
    while let Some(page) = stream.next().await {
        let page = page.unwrap();
        let (count, items) = (page.as_ref().count, page.as_ref().items.len());
        assert_eq!(usize::try_from(count).unwrap(), items);
        let page = bucket::assemble_records(page);
        pages.push(numbers(page));
    }
    let mut by_number = Vec::new();
    for number in 1..=40 {
        by_number.push(numbers(
            buckets.page(key(), number).await.unwrap().into_records(),
        ));
    }
    Shown {
        records: numbers(records),
        pages,
        by_number,
        count: buckets.count(key()).await.unwrap(),
        page_count: buckets.page_count(key()).await.unwrap(),
    }
}
