//! Steps as text.

use bucket_core::{Interval, IntervalError};
use proptest::prelude::*;

use crate::any_step;

#[test]
fn texts_become_steps_and_back() {
    for (text, every) in [
        ("30s", Interval::seconds(30)),
        ("15m", Interval::minutes(15)),
        ("1h", Interval::hours(1)),
        ("1h30m", Interval::minutes(90)),
        ("1h1s", Interval::seconds(3_601)),
        ("24h", Interval::hours(24)),
        ("7d", Interval::hours(168)),
        ("day", Interval::day()),
        ("week", Interval::week()),
        ("month", Interval::month()),
        ("quarter", Interval::quarter()),
        ("year", Interval::year()),
    ] {
        assert_eq!(text.parse(), Ok(every.clone()), "{text}");
        assert_eq!(every.to_string(), text);
    }
    assert_eq!("90m".parse(), Ok(Interval::minutes(90)));
    assert_eq!("1d".parse(), Ok(Interval::hours(24)));
    assert_eq!("0h".parse::<Interval>(), Err(IntervalError::Zero));
}

#[test]
fn the_error_for_a_bad_step_explains_steps() {
    for (text, reason) in [
        ("", "it is empty"),
        ("h", "whole numbers, each with a unit"),
        ("-1h", "whole numbers, each with a unit"),
        ("1.5h", "its units are `s`, `m`, `h` and `d`"),
        ("1", "a number has no unit"),
        ("1w", "write `week` for weeks from Monday"),
        ("1m1h", "each unit appears at most once, the longest first"),
        ("1h1h", "each unit appears at most once, the longest first"),
        ("1h ", "its units are `s`, `m`, `h` and `d`"),
        ("4294967296s", "a number is too large"),
        ("Day", "whole numbers, each with a unit"),
    ] {
        let error = text.parse::<Interval>().unwrap_err().to_string();
        let start = format!("`{text}` is not a step: ");
        assert!(
            error.starts_with(&start) && error.contains(reason),
            "{text}: {error}"
        );
        assert!(
            error.contains("`30s`") && error.contains("`month`"),
            "{error}"
        );
    }
}

proptest! {
    #[test]
    fn texts_of_any_step_are_read_back(every in any_step()) {
        prop_assert_eq!(every.to_string().parse(), Ok(every));
    }

    #[test]
    fn any_text_is_a_step_or_an_error(text in "[0-9smhdwa ]{0,12}|\\PC{0,12}") {
        if let Ok(every) = text.parse::<Interval>() {
            prop_assert_eq!(every.check(), Ok(()));
        }
    }
}
