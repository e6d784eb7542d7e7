//! Days on which clocks change.

use bson::DateTime;
use bucket_core::{Interval, IntoTimeRange as _};

use crate::{
    assert_span, date, shown,
    zones::{ZONES, days},
};

fn hours(steps: impl Iterator<Item = (DateTime, DateTime)>) -> Vec<i64> {
    let millis =
        |(start, end): (DateTime, DateTime)| end.timestamp_millis() - start.timestamp_millis();
    steps.map(|span| millis(span) / 3_600_000).collect()
}

#[test]
fn days_have_23_and_25_hours_where_clocks_change() {
    let berlin = days("Europe/Berlin");
    assert_span(
        &berlin,
        "2026-03-29T01:00:00Z",
        "2026-03-28T23:00:00Z",
        "2026-03-29T22:00:00Z",
    );
    assert_span(
        &berlin,
        "2026-10-25T01:00:00Z",
        "2026-10-24T22:00:00Z",
        "2026-10-25T23:00:00Z",
    );
    let new_york = days("America/New_York");
    assert_span(
        &new_york,
        "2026-03-08T12:00:00Z",
        "2026-03-08T05:00:00Z",
        "2026-03-09T04:00:00Z",
    );
    assert_span(
        &new_york,
        "2026-11-01T12:00:00Z",
        "2026-11-01T04:00:00Z",
        "2026-11-02T05:00:00Z",
    );
}

#[test]
fn clocks_can_change_by_half_an_hour() {
    let lord_howe = days("Australia/Lord_Howe");
    assert_span(
        &lord_howe,
        "2026-04-05T00:00:00Z",
        "2026-04-04T13:00:00Z",
        "2026-04-05T13:30:00Z",
    );
    assert_span(
        &lord_howe,
        "2026-10-04T00:00:00Z",
        "2026-10-03T13:30:00Z",
        "2026-10-04T13:00:00Z",
    );
}

#[test]
fn a_day_without_midnight_begins_at_its_first_moment() {
    let sao_paulo = days("America/Sao_Paulo");
    // 00:00 to 01:00 of 2018-11-04 did not exist.
    assert_span(
        &sao_paulo,
        "2018-11-04T12:00:00Z",
        "2018-11-04T03:00:00Z",
        "2018-11-05T02:00:00Z",
    );
    // 23:00 to 24:00 of 2018-02-17 came twice.
    assert_span(
        &sao_paulo,
        "2018-02-18T02:30:00Z",
        "2018-02-17T02:00:00Z",
        "2018-02-18T03:00:00Z",
    );
    // 23:30 to 00:30: the day begins at half past midnight, not an hour later.
    let toronto = days("America/Toronto");
    assert_span(
        &toronto,
        "1919-03-31T12:00:00Z",
        "1919-03-31T04:30:00Z",
        "1919-04-01T04:00:00Z",
    );
    assert_span(
        &toronto,
        "1919-03-31T04:29:59Z",
        "1919-03-30T05:00:00Z",
        "1919-03-31T04:30:00Z",
    );
}

#[test]
fn a_midnight_that_comes_twice_begins_one_day() {
    // 00:01 back to 23:01: the date goes back for 59 minutes.
    let st_johns = days("America/St_Johns");
    for at in [
        "2010-11-07T02:30:30Z",
        "2010-11-07T03:00:00Z",
        "2010-11-07T03:30:00Z",
    ] {
        assert_span(
            &st_johns,
            at,
            "2010-11-07T02:30:00Z",
            "2010-11-08T03:30:00Z",
        );
    }
    assert_span(
        &st_johns,
        "2010-11-07T02:29:59Z",
        "2010-11-06T02:30:00Z",
        "2010-11-07T02:30:00Z",
    );
}

#[test]
fn a_day_that_was_left_out_is_not_a_step() {
    let apia = days("Pacific/Apia");
    // 2011-12-30 did not exist there.
    assert_span(
        &apia,
        "2011-12-30T09:59:59Z",
        "2011-12-29T10:00:00Z",
        "2011-12-30T10:00:00Z",
    );
    assert_span(
        &apia,
        "2011-12-30T10:00:00Z",
        "2011-12-30T10:00:00Z",
        "2011-12-31T10:00:00Z",
    );
    let range = date("2011-12-28T10:00:00Z")..date("2012-01-01T10:00:00Z");
    let range = range.into_time_range();
    assert_eq!(hours(apia.steps(range)), [24, 24, 24, 24]);
    assert_eq!(apia.count_in(range), 5);
    let month = Interval::month().in_zone("Pacific/Apia").unwrap();
    assert_eq!(
        hours(
            month.steps(
                (date("2011-12-15T00:00:00Z")..date("2011-12-16T00:00:00Z")).into_time_range()
            )
        ),
        [30 * 24]
    );
}

#[test]
fn a_day_that_came_twice_is_one_step() {
    // Alaska changed sides of the date line in the afternoon of 1867-10-19, which became the 18th
    // again.
    let sitka = days("America/Sitka");
    let (start, end) = sitka.span(date("1867-10-19T12:00:00Z"));
    let length = end.timestamp_millis() - start.timestamp_millis();
    assert_eq!(length, 48 * 3_600_000, "{} {}", shown(start), shown(end));
}

/// Every midnight of two centuries, in zones with odd changes.
#[test]
fn neighbours_touch_across_every_change() {
    for zone in ZONES {
        let every = days(zone);
        let range = (date("1840-01-01T00:00:00Z")..date("2045-01-01T00:00:00Z")).into_time_range();
        let mut behind = None;
        for (start, end) in every.steps(range) {
            assert!(start < end, "{zone}");
            assert!(
                behind.is_none_or(|behind| behind == start),
                "{zone} {}",
                shown(start)
            );
            let last = DateTime::from_millis(end.timestamp_millis() - 1);
            assert_eq!(every.span(last), (start, end), "{zone} {}", shown(start));
            behind = Some(end);
        }
    }
}
