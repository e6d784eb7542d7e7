//! What those who follow see of a merge, and of merged buckets.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_no_merge_and_each_edit_where_the_record_was_stored() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let mut events = readings.watch().await.unwrap();
    readings
        .load((0..300).map(|number| reading(1, number)))
        .await;
    let mut places = BTreeMap::new();
    while places.len() < 300 {
        let event = events.next().await.unwrap().unwrap();
        if let Of::Stored { record, index, .. } = event.change {
            places.insert(record.value, (event.bucket, index));
        }
    }
    let refs = references(&readings, 1).await;
    assert_eq!(seal_and_merge(&readings).await, 25);
    let mut caught_up = readings
        .watch_from(DateTime::from_millis(START))
        .await
        .unwrap();
    for number in 0..300 {
        let event = caught_up.next().await.unwrap().unwrap();
        let Of::Stored { record, index, .. } = event.change else {
            panic!("{event:?}");
        };
        assert_eq!(record.value, number);
        assert_eq!((event.bucket, index), places[&number]);
    }
    let token = events.token().unwrap();
    let which = Which::from(refs[77].reference.clone());
    readings
        .update(1, &which, |reading| reading.value = -7)
        .await
        .unwrap();
    let which = Which::from(refs[99].reference.clone());
    readings.delete(1, &which).await.unwrap();
    for from in [None, Some(token)] {
        if let Some(token) = from {
            events = readings.watch().after(&token).await.unwrap();
        }
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event.change, Of::Updated { record, index, .. } if record.value == -7 && *index == places[&77].1),
            "{event:?}"
        );
        assert_eq!(event.bucket, places[&77].0);
        let event = events.next().await.unwrap().unwrap();
        assert!(
            matches!(&event.change, Of::Removed { index, .. } if *index == places[&99].1),
            "{event:?}"
        );
        assert_eq!(event.bucket, places[&99].0);
    }
}

/// As far as a follower knows, records are in the buckets that they were stored in.
#[tokio::test(flavor = "multi_thread")]
async fn followers_see_the_removal_of_each_bucket_that_a_merged_one_was_made_of() {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let from_the_start = readings.watch().await.unwrap();
    readings
        .load((0..40).map(|number| reading(1, number)))
        .await;
    let mut buckets = BTreeMap::new();
    let stored = readings.collection::<Document>();
    let stored: Vec<Document> = stored
        .find(doc! {})
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    for bucket in stored {
        let id = bucket.get_str("_id").unwrap().to_owned();
        let records = u32::try_from(bucket.get_i32("count").unwrap()).unwrap();
        buckets.insert(id, records);
    }
    assert_eq!(buckets.len(), 4);
    assert_eq!(seal_and_merge(&readings).await, 4);
    let since_the_merge = readings.watch().with_before().await.unwrap();
    let of_key = readings.watch_key(1).await.unwrap();
    readings.delete_key(1).await.unwrap();
    for (mut events, has_stored, has_numbers, is_of_key) in [
        (from_the_start, 40, false, false),
        (since_the_merge, 0, true, false),
        (of_key, 0, false, true),
    ] {
        for _ in 0..has_stored {
            let event = events.next().await.unwrap().unwrap();
            assert!(matches!(event.change, Of::Stored { .. }), "{event:?}");
        }
        let mut token = None;
        for (at, (id, records)) in buckets.iter().enumerate() {
            let event = events.next().await.unwrap().unwrap();
            assert_eq!(event.bucket.to_string(), *id, "{event:?}");
            let Of::BucketRemoved {
                key,
                span,
                expired,
                records: number,
                ..
            } = event.change
            else {
                panic!("{event:?}");
            };
            assert_eq!((key, expired), (Some(1.into()), Some(false)));
            let start = START + i64::try_from(at).unwrap() * HOUR;
            let window = date(start)..date(start + HOUR);
            assert_eq!(span, Some(window.into_time_range()), "{id}");
            assert_eq!(number, has_numbers.then_some(*records), "{id}");
            if at == 1 {
                token = events.token();
            }
        }
        // Between two of them.
        let token = token.unwrap();
        let mut resumed = if is_of_key {
            readings.watch_key(1).after(&token).await.unwrap()
        } else {
            readings.watch().after(&token).await.unwrap()
        };
        for id in buckets.keys().skip(2) {
            let event = resumed.next().await.unwrap().unwrap();
            assert_eq!(event.bucket.to_string(), *id, "{event:?}");
        }
    }
}

/// Removes the merged buckets of two keys together, and goes on after each of the events.
async fn removed_together(readings: &Buckets<Reading>, forgets: bool) -> Vec<usize> {
    let both = (0..48).flat_map(|number| [reading(1, number), reading(2, number)]);
    readings.load(both).await;
    assert_eq!(seal_and_merge(readings).await, 8);
    let mut events = readings.watch().await.unwrap();
    let client = readings.database().client().clone();
    let mut session = client.start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let stored = readings.collection::<Document>();
    stored
        .delete_many(doc! {})
        .session(&mut session)
        .await
        .unwrap();
    session.commit_transaction().await.unwrap();
    let mut tokens = Vec::new();
    for _ in 0..8 {
        events.next().await.unwrap().unwrap();
        tokens.push(events.token().unwrap());
    }
    if forgets {
        let forget = doc! { "setParameter": 1, "minSnapshotHistoryWindowInSeconds": 0 };
        client.database("admin").run_command(forget).await.unwrap();
        // The server keeps what a reader may still need.
        for number in 0..30 {
            readings.insert(&reading(4, number)).await.unwrap();
            sleep(Duration::from_millis(100)).await;
        }
    }
    let end = Reading {
        value: -1,
        ..reading(3, 0)
    };
    readings.insert(&end).await.unwrap();
    let mut left = Vec::new();
    for token in tokens {
        let mut rest = readings.watch().after(&token).await.unwrap();
        let mut ids = HashSet::new();
        loop {
            let event = rest.next().await.unwrap().unwrap();
            match event.change {
                Of::BucketRemoved { .. } => assert!(ids.insert(event.bucket.to_string())),
                Of::Stored { record, .. } if record.value == -1 => break,
                Of::Stored { record, .. } if record.sensor == 4 => {}
                other => panic!("{other:?}"),
            }
        }
        left.push(ids.len());
    }
    left
}

/// Of a transaction, the server has only the moment before it.
#[tokio::test(flavor = "multi_thread")]
async fn followers_go_on_between_removals_of_one_transaction() {
    let database = database().await;
    let readings = stored_readings(&database, 0).await;
    let left = removed_together(&readings, false).await;
    assert_eq!(left, [7, 6, 5, 4, 3, 2, 1, 0]);
}

/// Then nobody knows what the bucket was made of: it is given once, also to those who have had a part of it.
#[tokio::test(flavor = "multi_thread")]
async fn followers_miss_no_removal_of_which_the_server_forgot_the_moment_before() {
    let server = DevServer::builder().own().await.unwrap();
    let database = server.client().await.unwrap().database("merged");
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let left = removed_together(&readings, true).await;
    assert_eq!(left, [2, 2, 2, 1, 1, 1, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_nothing_of_a_bucket_that_gets_the_date_of_its_sealing() {
    let database = database().await;
    let readings = stored_readings(&database, 36).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    let edited = Which::from(references(&readings, 1).await[17].reference.clone());
    readings.delete(1, &edited).await.unwrap();
    let stored = readings.collection::<Document>();
    stored
        .update_many(doc! {}, doc! { "$unset": { "_sealed.at": "" } })
        .await
        .unwrap();
    let mut events = readings.watch().await.unwrap();
    let merged = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((merged.buckets, merged.dated), (0, 3), "{merged}");
    seal_and_merge(&readings).await;
    readings.insert(&reading(1, 37)).await.unwrap();
    let event = events.next().await.unwrap().unwrap();
    assert!(matches!(event.change, Of::Stored { .. }), "{event:?}");
}
