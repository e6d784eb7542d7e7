//! Processes that are killed: the next one goes on, and no document is lost or stored twice.

use std::{
    env,
    process::{Child, Command, Stdio},
};

use bucket_mongo::mongodb::Client;
use bucket_tests::server;
use futures_util::FutureExt;

use super::*;

const URI: &str = "BACKFILL_URI";
const DATABASE: &str = "BACKFILL_DATABASE";
const FORM: &str = "BACKFILL_FORM";
const DOCUMENTS: i64 = 30_000;

/// The process that is killed; run as a test, it does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_in_a_process_of_its_own() {
    let (Ok(uri), Ok(name)) = (env::var(URI), env::var(DATABASE)) else {
        return;
    };
    let client = Client::with_uri_str(uri).await.unwrap();
    let database = client.database(&name);
    match env::var(FORM).unwrap().as_str() {
        "Counted" => backfill::<Counted>(&database).await,
        "Windowed" => backfill::<Windowed>(&database).await,
        "Hybrid" => backfill::<Hybrid>(&database).await,
        _ => backfill::<Numbered>(&database).await,
    }
}

async fn backfill<T: Event>(database: &Database) {
    let buckets = T::buckets(database).with_deadline(PATIENCE);
    let _ = buckets.backfill_from(&flat(database)).await.unwrap();
}

async fn goes_on_after_kills<T: Event>(at: Option<i32>) {
    let database = database().await;
    let buckets = handle::<T>(&database).await;
    if let Some(at) = at {
        index(&database, at).await;
    }
    let records = fill::<T>(&database, 7, DOCUMENTS).await;
    let damaged = (0..300).map(|number| doc! { "_id": number, "device": "d1", "odd": true });
    flat(&database).insert_many(damaged).await.unwrap();
    let run = || -> Child {
        let mut run = Command::new(env::current_exe().unwrap());
        run.args([
            "--exact",
            "backfill::killed::a_backfill_in_a_process_of_its_own",
        ]);
        run.env(URI, server().now_or_never().unwrap().uri());
        run.env(DATABASE, database.name());
        run.env(FORM, T::SPEC.record());
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().unwrap()
    };
    let jobs = database.collection::<Document>("bucket_backfills");
    let step = async || {
        let job = jobs.find_one(doc! {}).await.unwrap();
        job.map_or(0, |job| job.get_i64("step").unwrap())
    };
    let mut kills = 0;
    for round in 0..6_u64 {
        let before = step().await;
        let mut process = run();
        let is_running = loop {
            if let Some(ended) = process.try_wait().unwrap() {
                assert!(ended.success(), "{ended}");
                break false;
            }
            // It has begun, and perhaps stored a chunk.
            if step().await > before + i64::try_from(round % 2).unwrap() {
                break true;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        // At another moment of a chunk each time.
        tokio::time::sleep(Duration::from_millis(13 * round)).await;
        kills += usize::from(is_running && process.try_wait().unwrap().is_none());
        // `SIGKILL` on Unix.
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(kills > 2, "the processes were faster than the kills");
    // A killed process may have left a transaction: without its end, this would wait for a minute.
    let patient = buckets.clone().with_deadline(Duration::from_secs(30));
    let report = patient.backfill_from(&flat(&database)).await.unwrap();
    let number = u64::try_from(DOCUMENTS).unwrap();
    assert_eq!(counts(&report), [number + 300, number, 0, 300], "{report}");
    assert_stored(&buckets, records).await;
    assert_eq!(documents(&database, "events_rejects").await.len(), 300);
    assert_eq!(job(&database).await.get_array("sessions").unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backfill_of_count_buckets_goes_on_without_loss_or_duplicates() {
    goes_on_after_kills::<Counted>(Some(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backfill_of_windows_goes_on_without_loss_or_duplicates() {
    goes_on_after_kills::<Windowed>(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backfill_of_hybrid_buckets_goes_on_without_loss_or_duplicates() {
    goes_on_after_kills::<Hybrid>(Some(-1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_backfill_of_numbered_buckets_goes_on_without_loss_or_duplicates() {
    goes_on_after_kills::<Numbered>(Some(1)).await;
}

/// What a process leaves that is killed in the middle of a chunk.
#[tokio::test(flavor = "multi_thread")]
async fn the_open_transaction_of_a_dead_worker_is_ended() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let records = fill::<Counted>(&database, 2, 3_000).await;
    let ended = tokio::spawn({
        let (buckets, source) = (buckets.clone(), flat(&database));
        async move {
            let backfill = buckets.backfill_from(&source);
            backfill.on_progress(|_| panic!("the end")).await
        }
    });
    assert!(ended.await.unwrap_err().is_panic());
    // A session that holds the job, and is named there.
    let client = server().await.client().await.unwrap();
    let mut session = client.start_session().await.unwrap();
    let jobs = client
        .database(database.name())
        .collection::<Document>("bucket_backfills");
    let name = doc! { "$push": { "sessions": session.id().clone() } };
    jobs.update_one(doc! {}, name).await.unwrap();
    session.start_transaction().await.unwrap();
    let held = jobs.update_one(doc! {}, doc! { "$set": { "held": true } });
    held.session(&mut session).await.unwrap();
    let begun = std::time::Instant::now();
    let hasty = buckets.clone().with_deadline(Duration::from_secs(25));
    let report = hasty.backfill_from(&flat(&database)).await.unwrap();
    assert_eq!(counts(&report), [3_000, 3_000, 0, 0]);
    assert!(session.commit_transaction().await.is_err(), "it was ended");
    drop(session);
    eprintln!("went on after {:?}", begun.elapsed());
    assert_stored(&buckets, records).await;
    assert_eq!(job(&database).await.get_array("sessions").unwrap().len(), 0);
    client.shutdown().await;
}
