//! Tokens, page numbers and references that were taken before edits and removals are as good after them.

use std::fmt::Debug;

use bucket_core::EncodeError;
use bucket_mongo::{Bucketed, CursorToken, ErrorKind, RecordRef, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

trait Event: Bucketed<Key: for<'a> From<&'a str>> + Clone + Debug + PartialEq {
    fn of(id: i64) -> Self;
    fn id(&self) -> i64;
    fn set(&mut self, value: i64);
}

macro_rules! every_form {
    ($($test:ident $name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            id: i64,
            #[bucket(sum, min, max)]
            value: i64,
        }

        impl Event for $name {
            fn of(id: i64) -> Self {
                Self { device: DEVICE.to_owned(), at: date(id), id, value: id }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn set(&mut self, value: i64) {
                self.value = value;
            }
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            places_from_before_edits_are_good_after_them::<$name>().await;
        }
    )*};
}

every_form! {
    places_in_counted_buckets Counted [capacity = 4];
    places_in_buckets_closed_by_bytes ByBytes [capacity = 30, max_bytes = "1KiB"];
    places_in_windows Windowed [window = "10s"];
    places_in_windows_with_a_capacity WindowedParts [window = "10s", capacity = 4];
    places_in_windows_with_object_ids WindowedObjects [window = "10s", capacity = 4, object_ids];
    places_in_hybrid_buckets Hybrid [capacity = 4, max_duration = "1m"];
    places_in_hybrid_buckets_that_reject_late_records Strict [capacity = 4, max_duration = "1m", late = "reject"];
    places_in_numbered_buckets Numbered [capacity = 4, numbered];
    places_in_numbered_buckets_with_object_ids NumberedObjects [capacity = 4, numbered, object_ids];
}

/// Longer than a reference is: it has no key in it.
const DEVICE: &str =
    "a device with a name of more than sixty-four bytes in all, as some of them have";
const NUMBER: i64 = 30;

fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

fn is_removed(id: i64) -> bool {
    // All of some buckets, and the record of a token.
    id % 5 == 1 || (12..20).contains(&id)
}

fn now<T: Event>(id: i64) -> Option<T> {
    let mut record = T::of(id);
    if id % 3 == 0 && id < NUMBER {
        record.set(-id);
    }
    (!is_removed(id)).then_some(record)
}

async fn places_from_before_edits_are_good_after_them<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let records: Vec<T> = (0..NUMBER).map(T::of).collect();
    let report = events.insert_many(&records).await.unwrap();
    report.into_result().unwrap();

    // A token after each record, forwards and backwards, and the ids of each page.
    let (mut tokens, mut token) = (Vec::new(), None::<CursorToken>);
    loop {
        let page = events.records(DEVICE).limit(1).after(token).await.unwrap();
        token = page.next_token().cloned();
        let Some(token) = &token else {
            break;
        };
        let last = page.into_records().pop().unwrap();
        tokens.push((last.id(), token.clone()));
    }
    assert_eq!(tokens.len(), records.len() - 1);
    let mut pages: Vec<Vec<i64>> = Vec::new();
    let number = events.page_count(DEVICE).await.unwrap();
    for page in 1..=number {
        let page = events.page(DEVICE, page).await.unwrap().into_records();
        pages.push(page.iter().map(Event::id).collect());
    }
    assert_eq!(pages.iter().flatten().count(), records.len());
    let all = events.records(DEVICE).with_refs().collect().await.unwrap();
    let references: Vec<(i64, RecordRef)> = all
        .into_iter()
        .map(|it| (it.record.id(), it.reference))
        .collect();

    for (id, reference) in &references {
        assert!(reference.as_str().len() <= 40, "{reference}");
        if is_removed(*id) {
            let gone = events.delete(DEVICE, reference).await.unwrap();
            assert_eq!(gone.map(|it| it.id()), Some(*id));
        } else if id % 3 == 0 {
            let update = events.update(DEVICE, reference, |it| it.set(-it.id()));
            assert!(update.await.unwrap().is_some());
        }
    }
    // New records change nothing of it.
    events.insert(&T::of(NUMBER)).await.unwrap();
    for (id, token) in &tokens {
        let rest = (*id + 1..=NUMBER).filter_map(now::<T>);
        let found = events.records(DEVICE).limit(100).after(token.clone());
        let found = found.await.unwrap().into_records();
        assert_eq!(found, rest.collect::<Vec<T>>(), "after {id}");
        let by_text: CursorToken = token.to_string().parse().unwrap();
        let one = events.records(DEVICE).limit(1).after(by_text);
        let one = one.await.unwrap().into_records();
        assert_eq!(one, found[..1], "one after {id}");
    }
    for (page, ids) in (1..).zip(&pages) {
        let found = events.page(DEVICE, page).await.unwrap().into_records();
        let found = found.into_iter().filter(|it| it.id() < NUMBER);
        let expected = ids.iter().copied().filter_map(now::<T>);
        assert_eq!(
            found.collect::<Vec<T>>(),
            expected.collect::<Vec<T>>(),
            "page {page}"
        );
    }
    assert!(events.page_count(DEVICE).await.unwrap() - number <= 1);
    for (id, reference) in references {
        let again = events.delete(DEVICE, reference).dry_run().await;
        match now::<T>(id) {
            None => assert_eq!(again.unwrap(), None, "{id}"),
            Some(_) if id % 3 == 0 && id != 0 => assert!(again.unwrap_err().is_changed(), "{id}"),
            Some(record) => assert_eq!(again.unwrap(), Some(record)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_to_a_place_that_rejects_late_records_is_refused_as_late() {
    let database = database().await;
    let events = Strict::buckets(&database);
    events.ensure().await.unwrap();
    for second in [0, 10, 200, 210] {
        events.insert(&Strict::of(second)).await.unwrap();
    }
    let all = events.records(DEVICE).with_refs().collect().await.unwrap();
    // From the newest bucket to before it: no bucket takes it.
    let update = events.update(DEVICE, &all[3].reference, |it| it.at = date(100));
    let error = update.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Encode(EncodeError::Late { .. })),
        "{error:?}"
    );
    assert!(
        error.is_invalid_input() && !error.is_retryable(),
        "{error:?}"
    );
    let found: Vec<Strict> = events.records(DEVICE).collect().await.unwrap();
    assert_eq!(found, [0, 10, 200, 210].map(Strict::of));
    // The record is still there as it was read.
    let gone = events.delete(DEVICE, &all[3].reference).await.unwrap();
    assert_eq!(gone, Some(Strict::of(210)));
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
}
