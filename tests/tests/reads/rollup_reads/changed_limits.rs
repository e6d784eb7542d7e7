//! Rollups over buckets that were opened under limits other than those of the handle.

use std::time::Duration;

use bucket_mongo::{Bucketed, Buckets, Limits, TimeRange, Window, testing::TestDatabase};

use super::model::{Cut, Known, between, filled, store};
use crate::common::{
    drawn_records::record,
    sample::{self, Sample},
};

const CUTS: [Cut; 7] = [
    Cut::Seconds(1),
    Cut::Seconds(7),
    Cut::Seconds(20),
    Cut::Seconds(60),
    Cut::Seconds(90),
    Cut::Seconds(3_600),
    Cut::Day("Europe/Berlin"),
];

/// In each of them, a bucket of a minute begins.
fn ranges() -> [TimeRange; 5] {
    [
        between(0, 300_000),
        between(-90_000, 240_000),
        between(59_001, 120_001),
        between(31_000, 185_500),
        between(60_000, 180_000),
    ]
}

/// The end of a bucket of a minute, and a part from the middle of one. Only short buckets begin in
/// them.
fn inside_of_one() -> [TimeRange; 2] {
    [between(145_500, 180_000), between(90_000, 100_250)]
}

/// Records of four minutes under the old limits, and of three minutes under the model's, two of
/// which are the same.
async fn once_and_now<const F: usize>(once: Limits) -> (TestDatabase, Known<F>) {
    let older = (0..200).map(|n| record("1", n * 1_200 - 60_000, n));
    let newer = (0..160).map(|n| record("1", 60_000 + n / 4 * 4_500 + n % 4 * 220, 1_000 + n));
    let (older, newer): (Vec<Sample<F>>, Vec<Sample<F>>) = (older.collect(), newer.collect());
    let (database, now) = filled::<F>(&[]).await;
    store(&now.clone().with_limits(move |_| once), &older).await;
    store(&now, &newer).await;
    let known = Known::new(&now, older.into_iter().chain(newer).collect()).await;
    (database, known)
}

/// A new handle.
fn fresh<const F: usize>(database: &TestDatabase) -> Buckets<Sample<F>> {
    Sample::<F>::buckets(database)
}

async fn longer_buckets_of_once_are_counted_once<const F: usize>(once: Limits) {
    let (database, known) = once_and_now::<F>(once).await;
    let told = fresh::<F>(&database).with_longest_span(Duration::from_secs(60));
    for cut in CUTS {
        for range in ranges() {
            // A handle without the length finds a longer bucket, and restarts.
            known.check(&fresh(&database), cut, range).await;
        }
        for range in ranges().into_iter().chain(inside_of_one()) {
            known.check(&told, cut, range).await;
        }
    }
    // A handle that still has the old limits, under which most buckets would be longer.
    let limited = fresh::<F>(&database).with_limits(move |_| once);
    let known = known.with_window(60);
    for cut in CUTS {
        for range in ranges().into_iter().chain(inside_of_one()) {
            known.check(&limited, cut, range).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn windows_that_were_longer_before_are_counted_once() {
    let minutes = Limits::new().window(Window::minutes(1));
    longer_buckets_of_once_are_counted_once::<{ sample::WINDOW }>(minutes).await;
    longer_buckets_of_once_are_counted_once::<{ sample::WINDOW_OBJECT }>(minutes).await;
    let minutes = minutes.capacity(50);
    longer_buckets_of_once_are_counted_once::<{ sample::WINDOW_CAPACITY }>(minutes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hybrid_buckets_that_were_longer_before_are_counted_once() {
    let minutes = Limits::new().max_duration(60).capacity(300);
    longer_buckets_of_once_are_counted_once::<{ sample::HYBRID_MERGE }>(minutes).await;
    longer_buckets_of_once_are_counted_once::<{ sample::HYBRID_SIDE }>(minutes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_that_were_larger_before_are_counted_once() {
    let larger = Limits::new().capacity(50);
    let (database, known) = once_and_now::<{ sample::NUMBERED }>(larger).await;
    let limited = fresh(&database).with_limits(move |_| larger);
    for cut in CUTS {
        for range in ranges().into_iter().chain(inside_of_one()) {
            known.check(&fresh(&database), cut, range).await;
            known.check(&limited, cut, range).await;
        }
    }
}

/// While windows become shorter and longer again, one handle continues to read.
#[tokio::test(flavor = "multi_thread")]
async fn a_handle_that_continues_to_read_sees_each_change_of_the_limits() {
    const F: usize = sample::WINDOW;
    let (database, reader) = filled::<F>(&[]).await;
    let mut all = Vec::new();
    for (round, seconds) in [1, 10, 60, 2, 600, 1].into_iter().enumerate() {
        let writer = fresh::<F>(&database);
        let writer = writer.with_limits(move |_| Limits::new().window(Window::seconds(seconds)));
        let first = i64::try_from(round).unwrap() * 100;
        let some = (first..first + 60).map(|n| record("1", n * 13_700 % 600_000 - 200_000, n));
        let some: Vec<Sample<F>> = some.collect();
        store(&writer, &some).await;
        all.extend(some);
        let known = Known::new(&reader, all.clone()).await;
        for cut in CUTS {
            // Longer buckets begin in them, and others before them.
            known.check(&reader, cut, between(-150_500, 420_250)).await;
            known.check(&reader, cut, between(-99_750, 250_250)).await;
        }
    }
}
