//! Which buckets have their items read: those that an edge of the range or a bound between two
//! steps cuts. The model checks this for every form and any steps; here the numbers are counted by
//! hand.

use bucket_mongo::{Fill, Limits, Window};
use bucket_tests::profiled;

use super::model::{Cut, Known, between, filled, store};
use crate::common::{
    drawn_records::{key, record},
    sample::{self, Sample},
};

/// Four records per second, from 90 seconds before midnight in Berlin to 90 seconds after it.
fn records<const F: usize>() -> Vec<Sample<F>> {
    (0..720)
        .map(|n| record("1", MIDNIGHT - 90_000 + n * 250, n))
        .collect()
}

/// 2026-03-29, when clocks go forward in Berlin.
const MIDNIGHT: i64 = 1_774_738_800_000;

/// Steps of full seconds.
const MULTIPLES: [Cut; 7] = [
    Cut::Seconds(1),
    Cut::Seconds(2),
    Cut::Seconds(7),
    Cut::Seconds(3_600),
    Cut::Day("Europe/Berlin"),
    Cut::Day("Asia/Kolkata"),
    Cut::Month("America/New_York"),
];

async fn whole_windows_need_no_items<const F: usize>() {
    let records = records::<F>();
    let (database, buckets) = filled(&records).await;
    let known = Known::new(&buckets, records).await;
    for cut in MULTIPLES {
        // From and to, in milliseconds from midnight on, the buckets, and the opened ones.
        for (from, to, read, opened) in [
            (-90_000, 90_000, 180, 0),
            (-600_000, 600_000, 180, 0),
            (-10_000, 10_000, 20, 0),
            (-10_500, 10_000, 21, 1),
            (-10_000, 10_001, 21, 1),
            (-9_750, 10_250, 21, 2),
            (250, 750, 1, 1),
            (-250, 1, 2, 2),
            (-91_000, -89_250, 1, 1),
            (-89_999, -89_001, 1, 1),
        ] {
            let range = between(MIDNIGHT + from, MIDNIGHT + to);
            let query = buckets.rollup(key("1"), range, cut.every()).into_future();
            let (rollup, profile) = profiled(&database, "samples", query).await;
            let rollup = rollup.unwrap();
            let seen = (rollup.buckets(), rollup.scanned_buckets());
            assert_eq!(seen, (read, opened), "{cut:?}: {from}..{to}");
            let asked = profile
                .iter()
                .filter(|read| read.get_str("op").is_ok_and(|op| op == "query"));
            // The other one looks for ids that are none of the key's.
            assert_eq!(asked.count(), 2, "no bucket is read twice");
            known.compare(&rollup, cut, range, Fill::Skip);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_full_windows_open_only_the_buckets_cut_by_the_edges() {
    whole_windows_need_no_items::<{ sample::WINDOW }>().await;
    whole_windows_need_no_items::<{ sample::WINDOW_CAPACITY }>().await;
    whole_windows_need_no_items::<{ sample::WINDOW_AVG }>().await;
}

/// Their first and last records say which span they cover.
#[tokio::test(flavor = "multi_thread")]
async fn full_buckets_of_one_second_are_opened_only_where_steps_cut_them() {
    const F: usize = sample::COUNT;
    let records = records::<F>();
    let (_database, buckets) = filled(&records).await;
    let known = Known::new(&buckets, records).await;
    for (cut, from, to, read, opened) in [
        (Cut::Seconds(3), -90_000, 90_000, 180, 0),
        (Cut::Day("Europe/Berlin"), -90_000, 90_000, 180, 0),
        (Cut::Seconds(3), -10_500, 9_500, 21, 2),
    ] {
        let range = between(MIDNIGHT + from, MIDNIGHT + to);
        assert_eq!(known.buckets(cut, range), (read, opened));
        known.check(&buckets, cut, range).await;
    }
    // Half a second later: of the buckets after it, only the last one, with two records, is inside
    // one second.
    let more: Vec<Sample<F>> = (0..42)
        .map(|n| record("1", MIDNIGHT + 90_500 + n * 250, n))
        .collect();
    store(&buckets, &more).await;
    let all = known.records.into_iter().chain(more).collect();
    let known = Known::new(&buckets, all).await;
    let range = between(MIDNIGHT + 80_000, MIDNIGHT + 200_000);
    assert_eq!(known.buckets(Cut::Seconds(1), range), (21, 10));
    known.check(&buckets, Cut::Seconds(1), range).await;
    assert_eq!(known.buckets(Cut::Seconds(86_400), range), (21, 0));
    known.check(&buckets, Cut::Seconds(86_400), range).await;
}

/// With windows of a minute, steps of 90 seconds cut every third one, and steps of 40 seconds are
/// shorter.
#[tokio::test(flavor = "multi_thread")]
async fn windows_that_steps_cut_are_opened_and_the_others_are_not() {
    const F: usize = sample::WINDOW;
    let (_database, buckets) = filled::<F>(&[]).await;
    let buckets = buckets.with_limits(|_| Limits::new().window(Window::minutes(1)));
    let records: Vec<Sample<F>> = (0..360).map(|n| record("1", n * 1_000, n)).collect();
    store(&buckets, &records).await;
    let known = Known::new(&buckets, records).await.with_window(60);
    for (step, opened) in [
        (60, 0),
        (120, 0),
        (90, 2),
        (150, 1),
        (40, 6),
        (30, 6),
        (3_600, 0),
    ] {
        let rollup = buckets.rollup(key("1"), between(0, 360_000), Cut::Seconds(step).every());
        let rollup = rollup.await.unwrap();
        assert_eq!(
            (rollup.buckets(), rollup.scanned_buckets()),
            (6, opened),
            "{step}"
        );
        known
            .check(&buckets, Cut::Seconds(step), between(0, 360_000))
            .await;
        known
            .check(&buckets, Cut::Seconds(step), between(59_000, 301_000))
            .await;
    }
}
