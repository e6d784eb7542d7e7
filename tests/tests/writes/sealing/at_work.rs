//! Writers, editors, sealers and followers at work together.

use super::*;

pub(super) async fn writers_editors_and_sealers_disturb_nobody<T: Event>() {
    const WRITERS: i64 = 3;
    const RECORDS: i64 = 240;
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut sealers = Vec::new();
    for sealer in 0..2 {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        sealers.push(tokio::spawn(async move {
            let mut sealed = 0;
            for round in sealer.. {
                if *stopped.borrow() {
                    break;
                }
                sealed += events.seal().after(Duration::ZERO).await.unwrap().buckets;
                if round % 5 == 0 {
                    events.unseal().await.unwrap();
                }
            }
            sealed
        }));
    }
    let writers = (0..WRITERS).map(|writer| {
        let events = T::buckets(&database);
        tokio::spawn(async move {
            for part in 0..RECORDS / 10 {
                let records = (0..10).map(|at| T::of("a", (part * 10 + at) * WRITERS + writer));
                let report = events.insert_many(records).await.unwrap();
                assert_eq!(report.stored(), 10, "{report:?}");
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let editor = {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        tokio::spawn(async move {
            let mut edited: BTreeMap<i64, f64> = BTreeMap::new();
            while !*stopped.borrow() {
                let found = references(&events, "a").await;
                for (which, record) in found.iter().step_by(17) {
                    let corrected = events
                        .update(T::key_of("a"), which, |it| *it.value() += 1.0)
                        .await;
                    if let Some(mut corrected) = corrected.unwrap() {
                        edited.insert(record.number(), *corrected.value());
                    }
                }
            }
            edited
        })
    };
    for writer in writers {
        writer.await.unwrap();
    }
    stop.send(true).unwrap();
    let mut sealed = 0;
    for sealer in sealers {
        sealed += sealer.await.unwrap();
    }
    let edited = editor.await.unwrap();
    assert!(sealed > 0 && !edited.is_empty());
    let mut expected: Ledger<T> = (0..RECORDS * WRITERS)
        .map(|it| (it, T::of("a", it)))
        .collect();
    for (number, value) in edited {
        *expected.get_mut(&number).unwrap().value() = value;
    }
    assert_eq!(stored(&events, "a").await, expected);
    statistics_are_those_of(&events, "a", &expected).await;
    is_sound(&events).await;
}

pub(super) async fn a_handle_that_has_not_seen_the_last_bucket_sealed_stores_its_records<
    T: Event,
>() {
    let database = database().await;
    let (one, other) = (T::buckets(&database), T::buckets(&database));
    one.ensure().await.unwrap();
    let of = |numbers: std::ops::Range<i64>| numbers.map(|number| T::of("a", number));
    one.insert_many(of(0..40))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    other
        .insert_many(of(200..300))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert!(seal(&other).await.buckets > 0);
    // It takes the first buckets for the last ones of the key: by itself, in a small batch and in a large one.
    one.insert(&T::of("a", 60)).await.unwrap();
    one.insert_many(of(61..65))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let (third, many) = (T::buckets(&database), of(100..180));
    third.insert(&T::of("a", 65)).await.unwrap();
    other
        .insert_many(of(300..400))
        .await
        .unwrap()
        .into_result()
        .unwrap();
    seal(&other).await;
    third
        .insert_many(many)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let numbers: Vec<i64> = stored(&one, "a").await.into_keys().collect();
    let expected = (0..40).chain(60..66).chain(100..180).chain(200..400);
    assert_eq!(numbers, expected.collect::<Vec<i64>>());
    is_sound(&one).await;
}

pub(super) async fn a_follower_sees_each_change_once<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut changes = events.watch().with_before().await.unwrap();
    let mut expected = Vec::new();
    for number in 0..80 {
        events.insert(&T::of("a", number)).await.unwrap();
        expected.push(format!("stored {number}"));
    }
    assert!(seal(&events).await.buckets > 0);
    let found = references(&events, "a").await;
    for (which, record) in found.iter().take(20).step_by(3) {
        events
            .update(T::key_of("a"), which, |it| *it.value() = -1.0)
            .await
            .unwrap();
        let mut before = record.clone();
        expected.push(format!(
            "updated {} from {} to -1",
            record.number(),
            *before.value()
        ));
    }
    for (which, record) in found.iter().take(20).skip(1).step_by(3) {
        events.delete(T::key_of("a"), which).await.unwrap();
        expected.push(format!("removed {}", record.number()));
    }
    events.unseal().await.unwrap();
    seal(&events).await;
    for number in 80..90 {
        events.insert(&T::of("a", number)).await.unwrap();
        expected.push(format!("stored {number}"));
    }
    for wanted in expected {
        let change = tokio::time::timeout(Duration::from_secs(20), changes.next()).await;
        let change = change.expect(&wanted).unwrap().unwrap().change;
        let shown = match change {
            Of::Stored { record, .. } => format!("stored {}", record.number()),
            Of::Updated {
                mut record, before, ..
            } => {
                let before = before.map(|mut it| *it.value()).unwrap();
                format!(
                    "updated {} from {before} to {}",
                    record.number(),
                    *record.value()
                )
            }
            Of::Removed { before, .. } => format!("removed {}", before.unwrap().number()),
            other => format!("{other:?}"),
        };
        assert_eq!(shown, wanted);
    }
}
