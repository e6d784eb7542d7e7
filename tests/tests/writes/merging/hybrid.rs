//! Hybrid buckets in order are merged; those of late records stay beside them.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, Interval, IntoTimeRange, Limits, RecordChange as Of, Which,
    bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::{HOUR, START, date};

macro_rules! models {
    ($($module:ident: [$($attributes:tt)*];)*) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(
                collection = "hybrid", items = "items", capacity = 10, max_duration = "1h", seal_after = "1h",
                merge = "day", $($attributes)*
            )]
            pub(super) struct Reading {
                #[bucket(key)]
                pub(super) sensor: i32,
                #[bucket(time, first, last)]
                pub(super) at: DateTime,
                #[bucket(sum, min, max)]
                pub(super) value: i64,
            }

            /// Twelve an hour, none on a whole second.
            pub(super) fn reading(sensor: i32, number: i64) -> Reading {
                Reading { sensor, at: date(START + number * 300_000 + 123), value: number }
            }

            async fn readings(database: &TestDatabase) -> Buckets<Reading> {
                let readings = Reading::buckets(database);
                readings.ensure().await.unwrap();
                readings
            }

            async fn sound(readings: &Buckets<Reading>) {
                let report = readings.verify().await.unwrap();
                assert!(report.is_clean(), "{report}");
            }

            async fn seal_and_merge(readings: &Buckets<Reading>) -> u64 {
                readings.seal().after(Duration::ZERO).await.unwrap();
                let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
                assert_eq!((merged.changed, merged.dated), (0, 0), "{merged}");
                merged.buckets
            }

            async fn documents(readings: &Buckets<Reading>) -> Vec<Document> {
                let stored = readings.collection::<Document>();
                let found = stored.find(doc! {}).sort(doc! { "_id": 1 });
                found.await.unwrap().try_collect().await.unwrap()
            }

            /// Everything that reads show.
            async fn shown(readings: &Buckets<Reading>) -> (Vec<Reading>, String) {
                let all = readings.range(1, ..).await.unwrap();
                let refs = readings.range(1, ..).with_refs().await.unwrap();
                let refs: Vec<String> = refs.iter().map(|of| of.reference.to_string()).collect();
                let mut down = readings.range(1, ..).newest_first().await.unwrap();
                down.reverse();
                assert_eq!(down, all);
                let span = date(START + 5 * HOUR + 7)..date(START + 30 * HOUR + 7);
                let inside = |of: &&Reading| span.contains(&of.at);
                let part = readings.range(1, span.clone()).await.unwrap();
                assert!(part.iter().eq(all.iter().filter(inside)));
                let stats = readings.stats(1, span.clone()).await.unwrap();
                let sums = stats.as_ref().map(|of| (of.count(), format!("{:?}", **of)));
                let rollup = readings.rollup(1, span.clone(), Interval::minutes(90)).await.unwrap();
                let rows: Vec<_> = rollup.iter().map(|row| (row.start(), row.count(), row.stats().cloned())).collect();
                let latest = readings.latest_n(1, 5).await.unwrap();
                let mut paged = Vec::new();
                let mut page = readings.records(1).limit(37).await.unwrap();
                loop {
                    let next = page.next_token().cloned();
                    paged.extend(page.into_records());
                    let Some(next) = next else { break };
                    page = readings.records(1).limit(37).after(&next).await.unwrap();
                }
                assert_eq!(paged.len(), all.len());
                let mut newest = readings.latest_per_key().await.unwrap();
                newest.sort_by_key(|of| of.sensor);
                (all, format!("{refs:?} {sums:?} {rows:?} {latest:?} {paged:?} {newest:?}"))
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn reads_are_the_same_before_and_after() {
                let database = database().await;
                let readings = readings(&database).await;
                readings.load((0..600).flat_map(|n| [reading(1, n), reading(2, n)])).await;
                let late = (0..600).step_by(17).map(|n| Reading { value: -n, ..reading(1, n) });
                readings.load(late).await;
                let before = shown(&readings).await;
                let page = readings.records(1).limit(100).await.unwrap();
                let next = page.next_token().unwrap().clone();
                let rest = readings.records(1).limit(1_000).after(&next).await.unwrap();
                readings.seal().after(Duration::ZERO).await.unwrap();
                let dry = readings.merge().settled(Duration::ZERO).dry_run().await.unwrap();
                let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
                assert_eq!(merged, dry);
                // Of each day of a sensor one, whose last bucket may take records.
                assert!(merged.buckets > 100 && merged.merged <= 6, "{merged}");
                assert_eq!(shown(&readings).await, before);
                let again = readings.records(1).limit(1_000).after(&next).await.unwrap();
                assert_eq!(again.records(), rest.records());
                let limited = readings.clone().with_limits(|_| Limits::new().capacity(9));
                for fill in [readings.fill().await.unwrap(), limited.fill().await.unwrap()] {
                    // Merged buckets count, but against no capacity.
                    assert_eq!(fill.records, 1_236, "{fill}");
                    assert!(fill.capacity.as_ref().is_none_or(|of| of.most < 2.0), "{fill}");
                }
                sound(&readings).await;
                assert_eq!(seal_and_merge(&readings).await, 0);
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn late_records_and_edits_go_on() {
                let database = database().await;
                let readings = readings(&database).await;
                readings.load((0..600).map(|n| reading(1, n))).await;
                let mut model: BTreeMap<(i64, i64), Reading> = (0..600).map(|n| ((n, 0), reading(1, n))).collect();
                let refs = readings.range(1, ..).with_refs().await.unwrap();
                assert!(seal_and_merge(&readings).await > 50);
                for round in 1..4 {
                    for number in (7..600).step_by(53) {
                        let late = Reading { value: -round, ..reading(1, number) };
                        readings.insert(&late).await.unwrap();
                        model.insert((number, round), late);
                    }
                    let next = Reading { value: 600 + round, ..reading(1, 600 + round * 20) };
                    readings.insert(&next).await.unwrap();
                    model.insert((600 + round * 20, 0), next);
                    let which = Which::from(refs[usize::try_from(round).unwrap() * 100].reference.clone());
                    let updated = readings.update(1, &which, |reading| reading.value = 5_000).await.unwrap();
                    assert!(updated.is_some());
                    model.get_mut(&(round * 100, 0)).unwrap().value = 5_000;
                    let which = Which::from(refs[usize::try_from(round).unwrap() * 90 + 1].reference.clone());
                    assert!(readings.delete(1, &which).await.unwrap().is_some());
                    model.remove(&(round * 90 + 1, 0));
                    let sorted = |mut all: Vec<Reading>| {
                        all.sort_by_key(|of| (of.at, of.value));
                        all
                    };
                    let expected = sorted(model.values().cloned().collect());
                    assert_eq!(sorted(shown(&readings).await.0), expected);
                    sound(&readings).await;
                    seal_and_merge(&readings).await;
                    assert_eq!(sorted(shown(&readings).await.0), expected);
                    sound(&readings).await;
                }
                let span = date(START + 3 * HOUR)..date(START + 20 * HOUR);
                let would = readings.delete_range(1, span.clone()).dry_run().await.unwrap();
                let removed = readings.delete_range(1, span.clone()).await.unwrap();
                assert_eq!(would, removed);
                let gone = model.values().filter(|of| span.contains(&of.at)).count();
                assert_eq!(removed.records, u64::try_from(gone).unwrap());
                model.retain(|_, of| !span.contains(&of.at));
                assert_eq!(readings.range(1, ..).await.unwrap().len(), model.len());
                sound(&readings).await;
                readings.unseal().await.unwrap();
                assert_eq!(readings.range(1, ..).await.unwrap().len(), model.len());
                sound(&readings).await;
                assert!(readings.delete_key(1).await.unwrap().records > 0);
                assert_eq!(readings.range(1, ..).await.unwrap(), []);
            }

            /// Those who come later are late in most of what they bring.
            #[tokio::test(flavor = "multi_thread")]
            async fn writers_and_mergers_disturb_nobody() {
                const RECORDS: i64 = 1_000;
                let database = database().await;
                readings(&database).await;
                let writers = (0..4_i64).map(|writer| {
                    let readings = Reading::buckets(&database);
                    tokio::spawn(async move {
                        for first in (0..RECORDS).step_by(20) {
                            let records = (first..first + 20).map(|n| Reading {
                                value: writer * RECORDS + n,
                                ..reading(1, n * (writer + 1) % RECORDS)
                            });
                            let report = readings.insert_many(records).await.unwrap();
                            assert_eq!(report.stored(), 20);
                        }
                    })
                });
                let writers: Vec<_> = writers.collect();
                let (stop, stopped) = tokio::sync::watch::channel(false);
                let mergers = (0..2).map(|_| {
                    let (readings, stopped) = (Reading::buckets(&database), stopped.clone());
                    tokio::spawn(async move {
                        let mut merged = 0;
                        while !*stopped.borrow() {
                            readings.seal().after(Duration::ZERO).await.unwrap();
                            // The clocks of the writers are the same.
                            merged += readings.merge().settled(Duration::from_secs(2)).await.unwrap().buckets;
                        }
                        merged
                    })
                });
                let mergers: Vec<_> = mergers.collect();
                for writer in writers {
                    writer.await.unwrap();
                }
                tokio::time::sleep(Duration::from_secs(3)).await;
                stop.send_replace(true);
                let mut merged = 0;
                for merger in mergers {
                    merged += merger.await.unwrap();
                }
                assert!(merged > 20, "{merged}");
                let readings = Reading::buckets(&database);
                let mut values: Vec<i64> = readings.range(1, ..).await.unwrap().iter().map(|of| of.value).collect();
                values.sort_unstable();
                assert!(values.iter().copied().eq(0..4 * RECORDS), "{}", values.len());
                sound(&readings).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn followers_see_edits_and_removals_where_records_were_stored() {
                let database = database().await;
                let readings = readings(&database).await;
                let mut events = readings.watch().await.unwrap();
                readings.load((0..100).map(|n| reading(1, n))).await;
                let mut places = BTreeMap::new();
                while places.len() < 100 {
                    let event = events.next().await.unwrap().unwrap();
                    if let Of::Stored { record, index, .. } = event.change {
                        places.insert(record.value, (event.bucket, index));
                    }
                }
                let refs = readings.range(1, ..).with_refs().await.unwrap();
                let spans: BTreeMap<String, _> = documents(&readings).await.iter().map(|bucket| {
                    let bound = |name: &str| *bucket.get_datetime(name).unwrap();
                    let span = bound("bucket_start")..=bound("bucket_end");
                    (bucket.get_str("_id").unwrap().to_owned(), span.into_time_range())
                }).collect();
                assert_eq!(seal_and_merge(&readings).await, u64::try_from(spans.len()).unwrap());
                let which = Which::from(refs[33].reference.clone());
                readings.update(1, &which, |reading| reading.value = -7).await.unwrap();
                let event = events.next().await.unwrap().unwrap();
                assert!(
                    matches!(&event.change, Of::Updated { record, index, .. } if record.value == -7 && *index == places[&33].1),
                    "{event:?}"
                );
                assert_eq!(event.bucket, places[&33].0);
                let token = events.token().unwrap();
                readings.delete_key(1).await.unwrap();
                let resumed = readings.watch().after(&token).await.unwrap();
                for mut events in [events, resumed] {
                    let mut gone = BTreeMap::new();
                    while gone.len() < spans.len() {
                        let event = events.next().await.unwrap().unwrap();
                        let Of::BucketRemoved { span, .. } = event.change else {
                            panic!("{event:?}");
                        };
                        gone.insert(event.bucket.to_string(), span.unwrap());
                    }
                    assert_eq!(gone, spans);
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn an_archive_takes_and_gives_back_merged_buckets() {
                let database = database().await;
                let readings = readings(&database).await;
                readings.load((0..600).map(|n| reading(1, n))).await;
                assert!(seal_and_merge(&readings).await > 50);
                let before = shown(&readings).await;
                let archive = database.collection::<Document>("archived");
                let moved = readings.archive_to(&archive).await.unwrap();
                assert!(moved.buckets > 2, "{moved}");
                let both = readings.clone().with_archive(archive.clone());
                assert_eq!(shown(&both).await, before);
                // What comes late is beside what is archived.
                readings.load((0..600).step_by(60).map(|n| reading(1, n))).await;
                seal_and_merge(&readings).await;
                assert_eq!(both.range(1, ..).await.unwrap().len(), 610);
                both.restore_from(&archive).await.unwrap();
                assert_eq!(readings.range(1, ..).await.unwrap().len(), 610);
                sound(&readings).await;
            }
        }
    )*};
}

models! {
    late_beside: [late = "side", id = "{sensor}_{at:s}"];
    late_into: [late = "merge"];
}

macro_rules! kept {
    ($($name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(
            collection = "kept", items = "items", capacity = 10, max_duration = "1h", seal_after = "1h", merge = "day",
            $($attributes)*
        )]
        struct $name {
            #[bucket(key)]
            sensor: i32,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum)]
            value: i64,
        }
    )*};
}

kept! {
    Young: [];
    Kept: [expire_after = "1d", keep_stats = "5y"];
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_hybrid_buckets_are_merged() {
    let database = database().await;
    let kept = Kept::buckets(&database);
    kept.ensure().await.unwrap();
    let first = DateTime::now().timestamp_millis() - 10 * 24 * HOUR;
    let records = (0..600).map(|number| Young {
        sensor: 1,
        at: date(first + number * 300_000),
        value: number,
    });
    Young::buckets(&database).load(records).await;
    let sum = || async {
        let stats = kept.stats(1, ..).await.unwrap().unwrap();
        (stats.count(), stats.value().sum())
    };
    let expired = kept.expire_records().await.unwrap();
    assert!(expired.buckets > 50, "{expired:?}");
    let before = sum().await;
    assert_eq!(before, (600, Some(599 * 300)));
    let merged = kept.merge().settled(Duration::ZERO).await.unwrap();
    assert!(merged.buckets > 50 && merged.merged <= 4, "{merged}");
    assert_eq!(sum().await, before);
    let report = kept.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}
