//! Calendar steps in time zones.

use bson::DateTime;
use bucket_core::{Interval, IntervalError, IntoTimeRange as _, TimeRange, Window};
use proptest::prelude::*;

use crate::{any_date, assert_is_step, assert_span, calendar, date};

pub(crate) const ZONES: [&str; 12] = [
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Sitka",
    "America/Toronto",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Asia/Manila",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Pacific/Kwajalein",
];

pub(crate) fn days(zone: &str) -> Interval {
    Interval::day().in_zone(zone).unwrap()
}

#[test]
fn weeks_months_and_years_begin_at_local_midnights() {
    let zone = |every: Interval| every.in_zone("Europe/Berlin").unwrap();
    assert_span(
        &zone(Interval::week()),
        "2026-03-29T21:59:59Z",
        "2026-03-22T23:00:00Z",
        "2026-03-29T22:00:00Z",
    );
    assert_span(
        &zone(Interval::month()),
        "2024-02-29T23:00:00Z",
        "2024-02-29T23:00:00Z",
        "2024-03-31T22:00:00Z",
    );
    assert_span(
        &zone(Interval::quarter()),
        "2026-12-31T23:00:00Z",
        "2026-12-31T23:00:00Z",
        "2027-03-31T22:00:00Z",
    );
    assert_span(
        &zone(Interval::year()),
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:00:00Z",
        "1970-12-31T23:00:00Z",
    );
}

#[test]
fn zones_hold_for_all_time() {
    let berlin = days("Europe/Berlin");
    // Local mean time, 53 minutes and 28 seconds ahead.
    assert_span(
        &berlin,
        "1800-06-01T00:00:00Z",
        "1800-05-31T23:06:32Z",
        "1800-06-01T23:06:32Z",
    );
    // Today's rules continue: summer time.
    assert_span(
        &berlin,
        "9999-07-01T00:00:00Z",
        "9999-06-30T22:00:00Z",
        "9999-07-01T22:00:00Z",
    );
    let cycle = 146_097 * 86_400_000_i64;
    let (start, end) = berlin.span(date("2426-03-29T12:00:00Z"));
    for cycles in [14, 15, 1_000, 700_000] {
        let later = |at: DateTime| DateTime::from_millis(at.timestamp_millis() + cycles * cycle);
        assert_eq!(
            berlin.span(later(start)),
            (later(start), later(end)),
            "{cycles}"
        );
    }
    assert_eq!(berlin.span(DateTime::MAX).1, DateTime::MAX);
    assert_eq!(berlin.span(DateTime::MIN).0, DateTime::MIN);
}

#[test]
fn utc_under_any_name_is_no_zone() {
    for name in ["UTC", "utc", "Etc/UTC", "Etc/GMT"] {
        let every = Interval::month().in_zone(name).unwrap();
        assert_eq!(every, Interval::month(), "{name}");
    }
    assert_eq!(days("europe/berlin"), days("Europe/Berlin"));
    assert_ne!(days("Europe/Berlin"), days("Europe/Vienna"));
    assert_eq!(days("europe/berlin").to_string(), "day in Europe/Berlin");
    // Greenwich had local mean time, and has summer time.
    assert_eq!(days("Europe/London").zone(), Some("Europe/London"));
}

#[test]
fn the_error_for_a_bad_zone_explains_zones() {
    for (name, meant) in [
        ("Berlin", Some("Europe/Berlin")),
        ("new york", Some("America/New_York")),
        ("Europe/Atlantis", None),
        ("", None),
        ("+02:00", None),
        ("Etc/Unknown", None),
    ] {
        let error = Interval::day().in_zone(name).unwrap_err();
        let expected = IntervalError::UnknownZone {
            name: name.into(),
            meant: meant.map(Into::into),
        };
        assert_eq!(error, expected);
        assert!(error.to_string().contains("IANA"), "{error}");
    }
    let error = Interval::hours(24).in_zone("Europe/Berlin").unwrap_err();
    assert!(matches!(error, IntervalError::FixedInZone { .. }));
    assert!(
        error
            .to_string()
            .starts_with("the step `24h` cannot have the zone `Europe/Berlin`: only `day`")
    );
}

#[test]
fn whole_windows_are_inside_the_days_of_zones_if_offsets_allow_it() {
    let year = (date("2026-01-01T00:00:00Z")..date("2027-01-01T00:00:00Z")).into_time_range();
    assert!(days("Europe/Berlin").is_multiple_of(Window::hours(1), year));
    assert!(!days("Europe/Berlin").is_multiple_of(Window::hours(2), year));
    assert!(!days("Europe/Berlin").is_multiple_of(Window::Day, year));
    assert!(!days("Asia/Kolkata").is_multiple_of(Window::hours(1), year));
    assert!(days("Asia/Kolkata").is_multiple_of(Window::minutes(30), year));
    // Unknown for all time, and therefore not certain.
    assert!(!days("Europe/Berlin").is_multiple_of(Window::hours(1), TimeRange::ALL));
    let old = (date("1890-01-01T00:00:00Z")..date("1891-01-01T00:00:00Z")).into_time_range();
    assert!(!days("Europe/Berlin").is_multiple_of(Window::hours(1), old));
}

proptest! {
    #[test]
    fn every_date_is_in_its_step(
        at in any_date(),
        every in prop::sample::select(calendar().to_vec()),
        zone in prop::sample::select(ZONES.to_vec()),
    ) {
        assert_is_step(&every.in_zone(zone).unwrap(), at);
    }

    #[test]
    fn any_name_is_a_zone_or_an_error(name in "\\PC{0,20}") {
        let _ = Interval::day().in_zone(&name);
    }
}
