//! Steps: the bounds of fixed and calendar steps, in UTC and in time zones; their text; and whether
//! they consist of whole windows.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod multiples;
mod texts;
mod utc;
#[cfg(feature = "time-zones")]
mod zone_changes;
#[cfg(feature = "time-zones")]
mod zones;

use bson::DateTime;
use bucket_core::Interval;
use proptest::prelude::*;

fn date(text: &str) -> DateTime {
    DateTime::parse_rfc3339_str(text).unwrap()
}

fn shown(date: DateTime) -> String {
    date.try_to_rfc3339_string().unwrap()
}

fn assert_span(every: &Interval, at: &str, start: &str, end: &str) {
    let span = every.span(date(at));
    let expected = (date(start), date(end));
    let found = (shown(span.0), shown(span.1));
    assert_eq!(span, expected, "{every} at {at} is {found:?}");
}

fn calendar() -> [Interval; 5] {
    [
        Interval::day(),
        Interval::week(),
        Interval::month(),
        Interval::quarter(),
        Interval::year(),
    ]
}

fn any_date() -> impl Strategy<Value = DateTime> {
    prop_oneof![
        // 1770 to 2170, with seconds and with milliseconds.
        6 => (-6_311_433_600_i64..6_311_433_600).prop_map(|seconds| seconds * 1_000),
        6 => -6_311_433_600_000_i64..6_311_433_600_000,
        1 => any::<i64>(),
        1 => Just(i64::MIN),
        1 => Just(i64::MAX),
    ]
    .prop_map(DateTime::from_millis)
}

fn any_step() -> impl Strategy<Value = Interval> {
    prop_oneof![
        any::<u32>().prop_map(|n| Interval::seconds(n.max(1))),
        any::<u32>().prop_map(|n| Interval::hours(n.max(1))),
        prop::sample::select(calendar().to_vec()),
    ]
}

/// The date is in its step, its neighbours touch it, and all its moments have the same step.
fn assert_is_step(every: &Interval, at: DateTime) {
    let (start, end) = every.span(at);
    assert!(start <= at, "{every} at {at:?}");
    assert!(at < end || end == DateTime::MAX, "{every} at {at:?}");
    assert_eq!(every.span(start), (start, end), "{every} at {at:?}");
    if end < DateTime::MAX {
        let last = DateTime::from_millis(end.timestamp_millis() - 1);
        assert_eq!(every.span(last), (start, end), "{every} at {at:?}");
        assert_eq!(every.span(end).0, end, "{every} at {at:?}");
    }
}
