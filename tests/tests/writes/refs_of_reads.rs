//! Every read that gives references gives those of `records`: they name the same record in `update` and `delete`, in rows and
//! in sealed buckets, beside removed records too.

use std::{collections::BTreeMap, fmt::Debug, time::Duration};

use bucket_mongo::{Bucketed, RecordRef, Referenced, bson::DateTime};
use bucket_tests::database;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

trait Event: Bucketed + Clone + Debug + PartialEq {
    fn of(device: &str, number: i64) -> Self;
    fn key_of(device: &str) -> Self::Key;
    fn number(&self) -> i64;
    fn value(&mut self) -> &mut i64;
}

macro_rules! models {
    ($($module:ident [$($attributes:tt)*];)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "events", items = "items", seal_after = "1h", $($attributes)*)]
            struct Record {
                #[bucket(key)]
                device: String,
                #[bucket(time)]
                at: DateTime,
                number: i64,
                #[bucket(sum)]
                value: i64,
                /// So that columns are smaller than rows.
                note: String,
            }

            impl Event for Record {
                fn of(device: &str, number: i64) -> Self {
                    Self {
                        device: device.to_owned(),
                        at: DateTime::from_millis(1_698_335_220_000 + number * 7_000),
                        number,
                        value: number,
                        note: "the same text in each record".to_owned(),
                    }
                }

                fn key_of(device: &str) -> Self::Key {
                    device.to_owned().into()
                }

                fn number(&self) -> i64 {
                    self.number
                }

                fn value(&mut self) -> &mut i64 {
                    &mut self.value
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn the_references_of_all_reads_name_the_record() {
                super::the_references_of_all_reads_name_the_record::<Record>().await;
            }
        }
    )*};
}

models! {
    counted [capacity = 8];
    windowed [window = "1m", capacity = 6];
    windowed_objects [window = "1m", object_ids];
    hybrid_side [capacity = 8, max_duration = "1m", late = "side"];
    numbered [capacity = 8, numbered];
    numbered_objects [capacity = 8, numbered, object_ids];
}

fn by_number<T: Event>(found: &[Referenced<T>]) -> BTreeMap<i64, RecordRef> {
    let all = found.iter();
    all.map(|one| (one.record.number(), one.reference.clone()))
        .collect()
}

fn records<T: Event>(found: Vec<Referenced<T>>) -> Vec<T> {
    found.into_iter().map(|one| one.record).collect()
}

async fn the_references_of_all_reads_name_the_record<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let key = || T::key_of("a");
    for device in ["a", "b"] {
        let stored = events.insert_many((0..50).map(|number| T::of(device, number)));
        stored.await.unwrap().into_result().unwrap();
    }
    for is_sealed in [false, true] {
        if is_sealed {
            let report = events.seal().after(Duration::ZERO).await.unwrap();
            assert!(report.buckets > 4, "{report:?}");
        }
        // Removed and corrected records, the newest one among them.
        let all = events.records(key()).with_refs().collect().await.unwrap();
        let last = all.last().unwrap();
        events
            .delete(key(), &last.reference)
            .await
            .unwrap()
            .unwrap();
        for one in all.iter().step_by(9) {
            events.delete(key(), &one.reference).await.unwrap().unwrap();
        }
        for one in all.iter().skip(1).step_by(9) {
            let update = events.update(key(), &one.reference, |event| *event.value() += 1_000);
            update.await.unwrap().unwrap();
        }
        let known = events.records(key()).with_refs().collect().await.unwrap();
        let known = by_number(&known);

        let newest = events.latest(key()).with_refs().await.unwrap().unwrap();
        assert_eq!(Some(newest.record), events.latest(key()).await.unwrap());
        assert_eq!(
            known.last_key_value().map(|(_, last)| last),
            Some(&newest.reference)
        );
        let newest = events.latest_n(key(), 15).with_refs().await.unwrap();
        assert!(
            by_number(&newest)
                .iter()
                .all(|(number, of)| known[number] == *of)
        );
        assert_eq!(records(newest), events.latest_n(key(), 15).await.unwrap());

        // The newest bucket of one key has a removed record, that of the other one has none.
        let newest = events.latest_per_key().with_refs().await.unwrap();
        assert_eq!(newest.len(), 2);
        let other = events.latest(T::key_of("b")).with_refs().await.unwrap();
        for device in [events.latest(key()).with_refs().await.unwrap(), other] {
            assert!(newest.contains(&device.unwrap()), "{newest:?}");
        }

        let mut of_pages = Vec::new();
        let pages = events.page_count(key()).await.unwrap();
        for number in 1..=pages + 1 {
            let page = events.page(key(), number).with_refs().await.unwrap();
            let plain = events.page(key(), number).await.unwrap();
            assert_eq!(
                page.iter()
                    .map(|one| one.record.clone())
                    .collect::<Vec<T>>(),
                plain.into_records()
            );
            of_pages.extend(page);
        }
        assert_eq!(by_number(&of_pages), known);
        let streamed: Vec<Vec<Referenced<T>>> = events
            .pages(key())
            .with_refs()
            .stream()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(by_number(&streamed.concat()), known);

        // Only windows can be read across keys.
        if let Ok(found) = events.range_all_keys(..).with_refs().await {
            let plain = events.range_all_keys(..).await.unwrap();
            assert_eq!(records(found.clone()), plain);
            let of_a = found.into_iter().filter(|one| one.record.key() == key());
            assert_eq!(by_number(&of_a.collect::<Vec<_>>()), known);
        }

        // They can be used, once.
        for one in [&of_pages[3], &of_pages[20]] {
            let update = || events.update(key(), &one.reference, |event| *event.value() = -1);
            let mut updated = update().await.unwrap().unwrap();
            assert_eq!(
                (updated.number(), *updated.value()),
                (one.record.number(), -1)
            );
            assert!(update().await.unwrap_err().is_changed());
        }
        let removed = events.delete(key(), &of_pages[25].reference).await.unwrap();
        assert_eq!(removed.as_ref(), Some(&of_pages[25].record));
        assert!(
            events
                .update(T::key_of("b"), &of_pages[7].reference, |_| ())
                .await
                .is_err()
        );
    }
    let found = events.verify().await.unwrap();
    assert!(found.is_clean(), "{found:?}");
}
