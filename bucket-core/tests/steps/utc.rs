//! Bounds in UTC, and the steps of a range.

use bson::DateTime;
use bucket_core::{Interval, IntervalError, IntoTimeRange as _, TimeRange, Window};
use proptest::prelude::*;

use crate::{any_date, any_step, assert_is_step, assert_span, date};

#[test]
fn steps_have_the_bounds_of_windows() {
    let pairs = [
        (Interval::seconds(7), Window::seconds(7)),
        (Interval::hours(5), Window::hours(5)),
        (Interval::day(), Window::Day),
        (Interval::week(), Window::Week),
        (Interval::month(), Window::Month),
    ];
    for (every, window) in pairs {
        for at in [i64::MIN, -1, 0, 1, 1_709_208_000_000, i64::MAX] {
            let at = DateTime::from_millis(at);
            assert_eq!(every.span(at), window.span(at), "{every} at {at:?}");
        }
    }
}

#[test]
fn quarters_and_years_begin_in_january() {
    let quarter = Interval::quarter();
    let year = Interval::year();
    for (at, start, end) in [
        (
            "2024-02-29T12:00:00Z",
            "2024-01-01T00:00:00Z",
            "2024-04-01T00:00:00Z",
        ),
        (
            "1969-12-31T23:59:59Z",
            "1969-10-01T00:00:00Z",
            "1970-01-01T00:00:00Z",
        ),
        (
            "2026-06-30T23:59:59Z",
            "2026-04-01T00:00:00Z",
            "2026-07-01T00:00:00Z",
        ),
    ] {
        assert_span(&quarter, at, start, end);
    }
    assert_span(
        &year,
        "2024-12-31T23:59:59Z",
        "2024-01-01T00:00:00Z",
        "2025-01-01T00:00:00Z",
    );
    assert_span(
        &year,
        "1900-01-01T00:00:00Z",
        "1900-01-01T00:00:00Z",
        "1901-01-01T00:00:00Z",
    );
}

#[test]
fn a_range_gives_the_steps_that_it_touches() {
    let (start, end) = (date("2024-02-28T23:59:59Z"), date("2024-03-01T00:00:00Z"));
    let days = Interval::day();
    let found: Vec<_> = days.steps((start..end).into_time_range()).collect();
    let starts = [date("2024-02-28T00:00:00Z"), date("2024-02-29T00:00:00Z")];
    assert_eq!(found, starts.map(|start| days.span(start)));
    assert_eq!(days.count_in((start..end).into_time_range()), 2);
    assert_eq!(days.count_in((start..=end).into_time_range()), 3);

    for range in [start..start, end..start] {
        assert_eq!(days.steps(range.clone().into_time_range()).next(), None);
        assert_eq!(days.count_in(range.into_time_range()), 0);
    }
}

#[test]
fn an_open_range_is_counted_and_ends_with_time() {
    assert!(Interval::year().count_in(TimeRange::ALL) > 584_000_000);
    assert_eq!(
        Interval::seconds(1).count_in(TimeRange::ALL),
        u64::MAX / 1_000 + 1
    );
    let last = DateTime::from_millis(i64::MAX - 100_000);
    let steps: Vec<_> = Interval::minutes(1)
        .steps((last..).into_time_range())
        .collect();
    assert_eq!(steps.last().unwrap().1, DateTime::MAX);
    assert_eq!(
        Interval::minutes(1).count_in((last..).into_time_range()),
        steps.len() as u64
    );
}

#[test]
fn steps_without_length_are_refused_and_never_hang() {
    for none in [
        Interval::seconds(0),
        Interval::minutes(0),
        Interval::hours(0),
    ] {
        assert_eq!(none.check(), Err(IntervalError::Zero));
        assert!(!none.is_multiple_of(Window::seconds(1), TimeRange::ALL));
        let (start, end) = none.span(DateTime::from_millis(500));
        assert_eq!(
            (start.timestamp_millis(), end.timestamp_millis()),
            (0, 1_000)
        );
    }
    assert_eq!(Interval::hours(u32::MAX).check(), Ok(()));
    assert_eq!(Interval::day().check(), Ok(()));
}

proptest! {
    #[test]
    fn every_date_is_in_its_step_and_neighbours_touch(at in any_date(), every in any_step()) {
        assert_is_step(&every, at);
    }

    #[test]
    fn the_number_of_steps_is_the_count(at in any_date(), every in any_step(), millis in 0_i64..4_000_000_000) {
        let end = DateTime::from_millis(at.timestamp_millis().saturating_add(millis));
        let range = (at..end).into_time_range();
        let count = every.count_in(range);
        prop_assume!(count < 10_000);
        prop_assert_eq!(u64::try_from(every.steps(range).count()).unwrap(), count);
    }
}
