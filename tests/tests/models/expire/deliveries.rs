//! Writes of expired records, and writes while buckets are removed.

use std::time::Duration;

use bucket_core::{EncodeError, write::Batch};
use bucket_mongo::{
    ErrorKind,
    bson::{DateTime, Document, doc},
};

use super::{
    models::{Event, LIMIT_S},
    stored::{COLLECTION, PATIENCE, ago, database, documents, numbers, removed},
};

pub(crate) async fn a_record_past_the_limit_is_refused_before_anything_is_sent<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let events = S::buckets(&database);
    events.ensure().await.unwrap();
    let now = DateTime::now();
    let (old, new) = (
        S::of(1, ago(now, LIMIT_S + 1), 1),
        S::of(1, ago(now, LIMIT_S - 60), 2),
    );
    let is_expired = |error: &bucket_mongo::Error| {
        let found = matches!(
            error.kind(),
            ErrorKind::Encode(EncodeError::Expired { time, before })
                if *time == ago(now, LIMIT_S + 1) && time < before
        );
        assert!(
            found && !error.is_retryable() && !error.is_outcome_unknown(),
            "{error}"
        );
    };
    is_expired(&events.insert(&old).await.unwrap_err());
    let report = events.insert_many([&new, &old]).await.unwrap();
    assert_eq!((report.stored(), report.failed()[0].index), (1, 1));
    is_expired(&report.failed()[0].error);
    let ingestor = events.ingestor().start().unwrap();
    is_expired(&ingestor.push(&old).await.unwrap_err());
    drop(ingestor.shutdown().await);
    assert_eq!(numbers(&documents(&database).await), [2]);
}

/// What a writer sends that saw the bucket before the server removed it.
pub(crate) async fn a_late_delivery_brings_no_removed_bucket_back<L: Event, S: Event, W: Event>() {
    let database = database().await;
    let long = L::buckets(&database);
    long.ensure().await.unwrap();
    let now = DateTime::now().timestamp_millis();
    // On the minute, so that no window ends between the records.
    let now = DateTime::from_millis(now - now % 60_000);
    let records: Vec<L> = (0..3).map(|n| L::of(1, ago(now, 7_200 - n), n)).collect();
    long.insert_many(&records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let seen = documents(&database).await;
    let Some(seen) = seen.first() else {
        panic!("nothing is stored")
    };
    let raw = bucket_mongo::bson::RawDocumentBuf::try_from(seen).unwrap();
    let late = L::of(1, ago(now, 7_190), 3);
    let id = seen.get_str("_id").unwrap_or_default().to_owned();
    let mut commands = Vec::new();
    for by_memory in [true, false] {
        let mut batch = Batch::of::<L>();
        batch.set_now(now);
        batch.push(0, &late).unwrap();
        if by_memory {
            batch.guess(|_| Some(id.clone()));
        } else {
            batch.chains_mut()[0].saw(&raw).unwrap();
        }
        commands.extend(
            batch
                .rounds(None)
                .into_iter()
                .map(|round| Document::try_from(round.command().body().to_owned()).unwrap()),
        );
    }
    // As the server does it.
    database
        .collection::<Document>(COLLECTION)
        .delete_many(doc! {})
        .await
        .unwrap();
    let mut sent = 0;
    for command in commands {
        // A redelivered opening has its number, and was answered before.
        let is_fresh = command.to_string().contains("\"upsert\": true")
            && !command.to_string().contains("$and");
        if is_fresh {
            continue;
        }
        let _ = database.run_command(command).await;
        assert_eq!(documents(&database).await.len(), 0);
        sent += 1;
    }
    assert!(sent > 0, "nothing was delivered late");
}

pub(crate) async fn writers_lose_and_double_nothing_while_buckets_are_removed<
    L: Event,
    S: Event,
    W: Event,
>() {
    const WRITERS: i64 = 4;
    const ROUNDS: i64 = 30;
    let database = database().await;
    let events = S::buckets(&database);
    events.ensure().await.unwrap();
    let write = |writer: i64| {
        let database = &database;
        async move {
            let events = S::buckets(database);
            for round in 0..ROUNDS {
                let now = DateTime::now();
                let base = (writer * ROUNDS + round) * 10;
                // Most are about to expire, some stay; separately and together.
                let old = |n: i64| S::of(n % 2, ago(now, LIMIT_S - 1), base + n);
                let new = |n: i64| S::of(n % 2, ago(now, 5), base + n);
                let batch: Vec<S> = (0..8)
                    .map(|n| if n < 6 { old(n) } else { new(n) })
                    .collect();
                events
                    .insert_many(&batch)
                    .await
                    .unwrap()
                    .into_result()
                    .unwrap();
                events.insert(&new(8)).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    futures_util::future::join_all((0..WRITERS).map(write)).await;
    let left = removed::<S>(&database).await;
    let kept: Vec<i64> = numbers(&left).into_iter().filter(|n| n % 10 >= 6).collect();
    let expected: Vec<i64> = (0..WRITERS * ROUNDS * 10)
        .filter(|n| (6..=8).contains(&(n % 10)))
        .collect();
    assert_eq!(kept, expected);
    let mut all = numbers(&left);
    all.dedup();
    assert_eq!(all.len(), numbers(&left).len(), "doubled");
    for bucket in &left {
        let items = bucket.get_array("items").unwrap().len();
        assert_eq!(
            usize::try_from(bucket.get_i32("count").unwrap()).unwrap(),
            items
        );
    }
    // The last of the others expires in a moment.
    let hidden = async {
        loop {
            let shown = events.count(S::key_of(0)).await.unwrap()
                + events.count(S::key_of(1)).await.unwrap();
            match usize::try_from(shown).unwrap() {
                shown if shown == expected.len() => return,
                shown => assert!(shown > expected.len(), "{shown}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let hidden = tokio::time::timeout(PATIENCE, hidden).await;
    hidden.expect("all have expired");
}
