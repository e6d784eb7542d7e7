//! Readers, writers and those who move items, all at once.

use std::{
    env,
    process::{Child, Command, Stdio},
};

use bucket_mongo::{RecordChange, WatchEvent, mongodb::Client};
use bucket_tests::server;
use futures_util::{FutureExt, StreamExt};

use super::*;

pub(super) async fn readers_see_each_record_once_while_buckets_move<T: Event>() {
    const RECORDS: i64 = 400;
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    insert(&events, "a", 0..200).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut movers = Vec::new();
    for mover in 0..3 {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        let archive = archive(&database);
        movers.push(tokio::spawn(async move {
            let mut moved = 0;
            for round in mover.. {
                if *stopped.borrow() {
                    break;
                }
                seal(&events).await;
                moved += events.archive_to(&archive).await.unwrap().buckets;
                if round % 3 == 0 {
                    events.restore_from(&archive).await.unwrap();
                }
            }
            moved
        }));
    }
    let mut readers = Vec::new();
    for reader in 0..2 {
        let (events, stopped) = (T::buckets(&database), stopped.clone());
        let events = events.with_archive(archive(&database));
        readers.push(tokio::spawn(async move {
            let mut reads = 0;
            while !*stopped.borrow() {
                let first: Vec<i64> = if reader == 0 {
                    let range = events.range(T::key_of("a"), ..date(200)).await;
                    range.unwrap().iter().map(Event::number).collect()
                } else {
                    let latest = events.latest_n(T::key_of("a"), 10_000).await;
                    let mut all: Vec<i64> = latest.unwrap().iter().map(Event::number).collect();
                    all.sort_unstable();
                    all.retain(|number| *number < 200);
                    all
                };
                assert!(first.iter().copied().eq(0..200), "{first:?}");
                let cut = events.stats(T::key_of("a"), date(7)..date(150)).await;
                assert_eq!(cut.unwrap().unwrap().count(), 143);
                reads += 1;
            }
            reads
        }));
    }
    for from in (200..RECORDS).step_by(20) {
        insert(&events, "a", from..from + 20).await;
    }
    stop.send(true).unwrap();
    let (mut moved, mut reads) = (0, 0);
    for mover in movers {
        moved += mover.await.unwrap();
    }
    for reader in readers {
        reads += reader.await.unwrap();
    }
    assert!(moved > 0 && reads > 0, "{moved} {reads}");
    let both = events.with_archive(archive(&database));
    let numbers: Vec<i64> = stored(&both, "a").await.into_keys().collect();
    assert_eq!(numbers, (0..RECORDS).collect::<Vec<i64>>());
    is_sound(&both).await;
    // Whoever came too late has taken the own copies back.
    assert_eq!(referred(&database).await, copies(&database).await);
}

/// The record that an event has stored. There are no other events.
fn stored_by<T: Event>(event: &WatchEvent<T>) -> &T {
    match &event.change {
        RecordChange::Stored { record, .. } => record,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn a_follower_sees_nothing_of_it<T: Event>() {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let mut changes = events.watch().await.unwrap();
    insert(&events, "a", 0..60).await;
    seal(&events).await;
    assert!(events.archive_to(archive(&database)).await.unwrap().buckets > 0);
    // Whoever catches up gets what is archived.
    let both = events.clone().with_archive(archive(&database));
    let caught_up = both.watch_from(date(0)).await.unwrap().take(60);
    let caught_up: Vec<_> = caught_up.try_collect().await.unwrap();
    let mut numbers: Vec<i64> = caught_up
        .iter()
        .map(|event| stored_by(event).number())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..60));
    assert!(
        events
            .restore_from(archive(&database))
            .await
            .unwrap()
            .buckets
            > 0
    );
    insert(&events, "z", 0..1).await;
    let mut seen = 0;
    loop {
        let event = changes.next().await.unwrap().unwrap();
        if *stored_by(&event) == T::of("z", 0) {
            break;
        }
        seen += 1;
    }
    assert_eq!(seen, 60);
}

const URI: &str = "ARCHIVER_URI";
const DATABASE: &str = "ARCHIVER_DATABASE";

pub(super) async fn in_a_process_of_its_own<T: Event>() {
    let (Ok(uri), Ok(name)) = (env::var(URI), env::var(DATABASE)) else {
        return;
    };
    let client = Client::with_uri_str(uri).await.unwrap();
    let database = client.database(&name);
    let events = T::buckets(&database);
    let archive = database.collection::<Document>("archive");
    loop {
        seal(&events).await;
        events.archive_to(&archive).await.unwrap();
        events.restore_from(&archive).await.unwrap();
    }
}

pub(super) async fn killed_calls_leave_every_record_where_readers_find_it<T: Event>(process: &str) {
    let database = database().await;
    let events = T::buckets(&database);
    events.ensure().await.unwrap();
    let both = events.clone().with_archive(archive(&database));
    let run = || -> Child {
        let mut run = Command::new(env::current_exe().unwrap());
        // Without the name of the binary.
        run.args(["--exact", process.split_once("::").unwrap().1]);
        run.env(URI, server().now_or_never().unwrap().uri());
        run.env(DATABASE, database.name());
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().unwrap()
    };
    insert(&events, "a", 0..200).await;
    let (mut round, mut seen) = (0, 0);
    // Until an archived bucket was left by one that was killed, too.
    while round < 6 || seen == 0 {
        assert!(
            round < 100,
            "no bucket was archived when a process was killed"
        );
        let mut processes = [run(), run()];
        let begun = tokio::time::Instant::now();
        while referred(&database).await.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(120), "nothing moves");
        }
        // At another moment of a move each time.
        tokio::time::sleep(Duration::from_millis(7 * (round % 6))).await;
        // `SIGKILL` on Unix.
        for process in &mut processes {
            assert!(process.try_wait().unwrap().is_none(), "it ended by itself");
            process.kill().unwrap();
            process.wait().unwrap();
        }
        let numbers: Vec<i64> = stored(&both, "a").await.into_keys().collect();
        assert_eq!(numbers, (0..200).collect::<Vec<i64>>());
        is_sound(&both).await;
        seen += referred(&database).await.len();
        round += 1;
    }
    // The next call ends what they have begun.
    events.restore_from(archive(&database)).await.unwrap();
    assert!(referred(&database).await.is_empty());
    assert_eq!(stored(&events, "a").await.len(), 200);
}
