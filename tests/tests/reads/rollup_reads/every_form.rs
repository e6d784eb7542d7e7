//! Records around changes of days, months and clocks, and random records.

use bucket_mongo::{TimeRange, bson::DateTime};
use bucket_tests::date;

use super::model::{Cut, Known, between, filled};
use crate::common::{
    draw::Draw,
    drawn_records::record,
    sample::{self, Sample},
};

/// Three seconds before a day, a month or another time begins, and the steps that begin then.
const DATES: [(&str, &[Cut]); 12] = [
    (
        "2026-01-30T23:59:57Z",
        &[Cut::Day("UTC"), Cut::Seconds(86_400)],
    ),
    (
        "2026-02-28T23:59:57Z",
        &[Cut::Month("UTC"), Cut::Day("UTC")],
    ),
    (
        "2024-02-29T23:59:57Z",
        &[Cut::Month("UTC"), Cut::Day("UTC")],
    ),
    (
        "2025-12-28T23:59:57Z",
        &[Cut::Week("UTC"), Cut::Seconds(604_800)],
    ),
    ("2026-04-30T18:29:57Z", &[Cut::Month("Asia/Kolkata")]),
    // The day on which clocks go forward: its start, the change, its end.
    ("2026-03-28T22:59:57Z", &[Cut::Day("Europe/Berlin")]),
    (
        "2026-03-29T00:59:57Z",
        &[Cut::Day("Europe/Berlin"), Cut::Seconds(3_600)],
    ),
    (
        "2026-03-29T21:59:57Z",
        &[Cut::Day("Europe/Berlin"), Cut::Week("Europe/Berlin")],
    ),
    // And the day on which they go back.
    (
        "2026-10-25T22:59:57Z",
        &[Cut::Day("Europe/Berlin"), Cut::Week("Europe/Berlin")],
    ),
    (
        "1969-12-31T23:59:57Z",
        &[Cut::Month("UTC"), Cut::Day("UTC")],
    ),
    // Berlin's own time, 53 minutes and 28 seconds before that of Greenwich.
    (
        "1889-12-31T23:06:29Z",
        &[Cut::Month("Europe/Berlin"), Cut::Day("Europe/Berlin")],
    ),
    ("9999-12-31T23:59:57Z", &[]),
];

fn start(text: &str) -> i64 {
    date(text).timestamp_millis()
}

/// Six seconds around each date, 40 records each, not in time order.
fn records<const F: usize>() -> Vec<Sample<F>> {
    let starts = DATES.iter().map(|(text, _)| start(text));
    let all = (0_i64..).zip(starts).flat_map(|(part, start)| {
        (0..40_i64).map(move |n| record("1", start + n * 1_327 % 6_000, part * 40 + n))
    });
    all.collect()
}

/// Spans of time around each date, and the steps that they are cut into.
fn around_the_dates() -> Vec<(Cut, TimeRange)> {
    let mut queries = Vec::new();
    for (text, cuts) in DATES {
        let start = start(text);
        let range = |from: i64, to: i64| between(start + from, start + to);
        for (from, to) in [(0, 6_000), (1_327, 4_501), (2_999, 3_001), (-9_000, 3_000)] {
            queries.push((Cut::Seconds(1), range(from, to)));
            queries.push((Cut::Seconds(2), range(from, to)));
            queries.push((Cut::Seconds(7), range(from, to)));
            queries.extend(cuts.iter().map(|cut| (*cut, range(from, to))));
        }
        let days = 40 * 86_400_000;
        queries.extend(cuts.iter().map(|cut| (*cut, range(-days, days))));
    }
    queries
}

async fn rollups_around_changes_match_the_records<const F: usize>() {
    let records = records::<F>();
    let (_database, buckets) = filled(&records).await;
    let known = Known::new(&buckets, records).await;
    for (cut, range) in around_the_dates() {
        known.check(&buckets, cut, range).await;
    }
    // All records, in months of Berlin time and in decades of seconds.
    let all = between(start("1889-01-01T00:00:00Z"), start("2027-01-01T00:00:00Z"));
    known
        .check(&buckets, Cut::Month("Europe/Berlin"), all)
        .await;
    let all = between(start("1889-01-01T00:00:00Z"), start("9999-12-31T23:59:59Z"));
    known.check(&buckets, Cut::Seconds(315_569_520), all).await;
}

/// The ranges and steps are random, like the records.
async fn rollups_of_random_records_match_the_records<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let zones = [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
    ];
    for text in [
        "1970-01-01T00:00:00Z",
        "2026-03-28T23:00:00Z",
        "2026-11-01T04:00:00Z",
    ] {
        let moment = start(text);
        let records: Vec<Sample<F>> = draw.samples(0, 120);
        let shifted = records.into_iter().map(|record| Sample {
            device: "1".to_owned(),
            at: DateTime::from_millis(record.at.timestamp_millis().saturating_add(moment)),
            ..record
        });
        let records: Vec<Sample<F>> = shifted.collect();
        let (_database, buckets) = filled(&records).await;
        let known = Known::new(&buckets, records).await;
        for _ in 0..12 {
            let (one, other) = draw.draw((-4_500..8_500_i64, -4_500..8_500_i64));
            let (from, to) = (one.min(other), one.max(other));
            let cut = Cut::Seconds(draw.draw(1..12_u32));
            let range = between(moment + from, moment + to);
            known.check(&buckets, cut, range).await;
            let zone = zones[draw.draw(0..zones.len())];
            let cut = [Cut::Day(zone), Cut::Week(zone), Cut::Month(zone)];
            known
                .check(&buckets, cut[draw.draw(0..3_usize)], range)
                .await;
        }
    }
}

macro_rules! forms {
    ($($name:ident: $form:ident, $seed:literal;)+) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn rollups_around_changes_match_the_records() {
                super::rollups_around_changes_match_the_records::<{ sample::$form }>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn rollups_of_random_records_match_the_records() {
                super::rollups_of_random_records_match_the_records::<{ sample::$form }>($seed).await;
            }
        }
    )+};
}

forms! {
    count: COUNT, 1;
    count_by_bytes: COUNT_BYTES, 2;
    count_with_a_stored_average: COUNT_AVG, 3;
    count_with_record_ids: COUNT_IDS, 4;
    numbered: NUMBERED, 5;
    numbered_by_bytes: NUMBERED_BYTES, 6;
    numbered_with_object_ids: NUMBERED_OBJECT, 7;
    hybrid: HYBRID_MERGE, 8;
    hybrid_with_side_buckets: HYBRID_SIDE, 9;
    hybrid_by_bytes: HYBRID_BYTES, 10;
    window_and_count: WINDOW_CAPACITY, 11;
    window_by_bytes: WINDOW_BYTES, 12;
    window_with_object_ids: WINDOW_OBJECT, 13;
    parts: PARTS, 14;
}
