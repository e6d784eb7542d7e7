//! Several workers, dropped calls, the throttle, and the progress.

use std::num::NonZeroU32;

use bucket_mongo::{ErrorKind, bson::oid::ObjectId};
use tokio::{sync::oneshot, time::timeout};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn of_several_workers_at_a_job_the_last_one_goes_on() {
    let database = database().await;
    let buckets = handle::<Numbered>(&database).await;
    index(&database, 1).await;
    let records = fill::<Numbered>(&database, 5, 20_000).await;
    let source = flat(&database);
    let mut workers = Vec::new();
    for _ in 0..4 {
        let (buckets, source) = (buckets.clone(), source.clone());
        // The next one begins when this one is at work.
        let (tell, told) = oneshot::channel::<()>();
        let mut tell = Some(tell);
        workers.push(tokio::spawn(async move {
            let call = buckets.backfill_from(&source);
            call.on_progress(|_| drop(tell.take())).await
        }));
        told.await.ok();
    }
    let (mut done, mut overtaken) = (0, 0);
    for worker in workers {
        match worker.await.unwrap() {
            Ok(report) => {
                assert_eq!(counts(&report), [20_000, 20_000, 0, 0]);
                done += 1;
            }
            Err(error) => {
                let is_it = matches!(error.kind(), ErrorKind::TakenOver { .. });
                assert!(is_it, "{error:?}");
                overtaken += 1;
            }
        }
    }
    eprintln!("{done} done, {overtaken} overtaken");
    assert!(done >= 1);
    assert_stored(&buckets, records).await;
    assert_eq!(job(&database).await.get_array("sessions").unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_was_overtaken_stores_nothing_more() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let records = fill::<Counted>(&database, 2, 4_000).await;
    let source = flat(&database);
    let jobs = database.collection::<Document>("bucket_backfills");
    let most = NonZeroU32::new(1_000).unwrap();
    let (mut seen, mut first) = (0, None);
    let slow = buckets
        .backfill_from(&source)
        .throttle(most)
        .on_progress(|done| {
            seen = done.read;
            if first.is_none() {
                first = Some(done.read);
                let jobs = jobs.clone();
                // As another worker that begins now.
                let step = async move {
                    let step = doc! { "$inc": { "step": 1_i64 } };
                    jobs.update_one(doc! {}, step).await.unwrap();
                };
                tokio::task::block_in_place(|| {
                    tokio::runtime::Handle::current().block_on(step);
                });
            }
        });
    let error = slow.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TakenOver { .. }),
        "{error:?}"
    );
    assert!(!error.is_retryable());
    assert_eq!(Some(seen), first, "it has stored more");
    let stored = stored(&buckets).await;
    assert_eq!(u64::try_from(stored.len()).unwrap(), seen);
    let report = buckets.backfill_from(&source).await.unwrap();
    assert_eq!(counts(&report), [4_000, 4_000, 0, 0]);
    assert_stored(&buckets, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_a_job_that_was_begun_anew_stores_nothing_more() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 4_000).await;
    let source = flat(&database);
    let jobs = database.collection::<Document>("bucket_backfills");
    let most = NonZeroU32::new(1_000).unwrap();
    let mut seen = Vec::new();
    let slow = buckets
        .backfill_from(&source)
        .throttle(most)
        .on_progress(|done| {
            seen.push(done.read);
            if seen.len() > 1 {
                return;
            }
            // The job was removed, and another worker has come as far as this one.
            let anew = async {
                let worker = doc! { "$set": { "worker": ObjectId::new() } };
                jobs.update_one(doc! {}, worker).await.unwrap();
            };
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(anew);
            });
        });
    let error = slow.await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::TakenOver { .. }),
        "{error:?}"
    );
    assert_eq!(seen, [1_000], "it has stored more");
    assert_eq!(stored(&buckets).await.len(), 1_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_calls_leave_no_transaction_and_no_names() {
    let database = database().await;
    let buckets = handle::<Hybrid>(&database).await;
    index(&database, 1).await;
    let records = fill::<Hybrid>(&database, 5, 20_000).await;
    let source = flat(&database);
    let mut dropped = 0;
    for millis in 0..40_u64 {
        let call = buckets.backfill_from(&source).into_future();
        if timeout(Duration::from_millis(30 + 17 * millis), call)
            .await
            .is_ok()
        {
            break;
        }
        dropped += 1;
    }
    assert!(dropped > 3, "it was faster than the drops");
    let report = buckets.backfill_from(&source).await.unwrap();
    assert_eq!(counts(&report), [20_000, 20_000, 0, 0]);
    assert_stored(&buckets, records).await;
    // The names go in tasks of their own.
    let begun = std::time::Instant::now();
    while !job(&database)
        .await
        .get_array("sessions")
        .unwrap()
        .is_empty()
    {
        assert!(begun.elapsed() < Duration::from_secs(60), "a name stays");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let open = doc! { "$currentOp": { "idleSessions": true, "allUsers": true } };
    let ours = doc! { "$match": { "transaction": { "$exists": true }, "ns": { "$regex": database.name() } } };
    let admin = database.client().database("admin");
    let open = admin.aggregate([open, ours]).await.unwrap();
    let open: Vec<Document> = open.try_collect().await.unwrap();
    assert_eq!(open.len(), 0, "{open:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_counts_all_runs_and_the_throttle_bounds_each_chunk() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 1_000).await;
    let source = flat(&database);
    let mut told = Vec::new();
    let most = NonZeroU32::new(250).unwrap();
    let begun = std::time::Instant::now();
    let report = buckets
        .backfill_from(&source)
        .throttle(most)
        .on_progress(|done| told.push(done.clone()))
        .await
        .unwrap();
    // 250 at once, and then a pause: three pauses.
    assert!(
        begun.elapsed() >= Duration::from_millis(2_900),
        "{report:?}"
    );
    let read: Vec<u64> = told.iter().map(|done| done.read).collect();
    assert_eq!(read, [250, 500, 750, 1_000]);
    assert!(
        told.iter()
            .all(|done| done.expected == 1_000 && done.rate > 0.0)
    );
    assert_eq!(told[3].left, Some(Duration::ZERO));
    assert_eq!(report.chunks, 4);
}
