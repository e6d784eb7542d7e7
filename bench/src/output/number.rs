//! Numbers as people read them.

use crate::goal::{Goal, Unit};

/// `1,234,567`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A figure: throughputs with three significant digits, others with one decimal.
pub(crate) fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::RecordsPerSecond => grouped(three_digits(value)),
        Unit::Microseconds | Unit::BytesPerRecord | Unit::Mebibytes => format!("{value:.1}"),
    }
}

/// Digits after the third differ from run to run.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures are positive and far below 2^53"
)]
fn three_digits(value: f64) -> usize {
    let digits = value.max(1.0).log10().floor();
    let unit = 10_f64.powf((digits - 2.0).max(0.0));
    ((value / unit).round() * unit) as usize
}

/// A ratio: `12.3`, `1.23`, `0.52`, and `1/9.5` for small ones.
pub(crate) fn ratio(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 0.3 || value <= 0.0 => format!("{value:.2}"),
        _ => format!("1/{:.1}", 1.0 / value),
    }
}

/// A goal for a ratio or, with a unit, for a figure.
pub(crate) fn goal(goal: Goal, unit: Option<Unit>) -> String {
    let text = |value| unit.map_or_else(|| short_ratio(value), |unit| figure(value, unit));
    match goal {
        Goal::AtLeast(least) => format!("at least {}", text(least)),
        Goal::AtMost(most) => format!("at most {}", text(most)),
    }
}

/// A chosen ratio: `8`, `1.3`, `1/9`.
fn short_ratio(value: f64) -> String {
    let upright = |value: f64| format!("{}", (value * 100.0).round() / 100.0);
    if value < 0.4 {
        format!("1/{}", upright(1.0 / value))
    } else {
        upright(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_in_groups_of_three() {
        assert_eq!(
            [0, 12, 999, 1_000, 1_234_567].map(grouped),
            ["0", "12", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn figures_have_only_significant_digits() {
        assert_eq!(figure(1_234_567.8, Unit::RecordsPerSecond), "1,230,000");
        assert_eq!(figure(987.6, Unit::RecordsPerSecond), "988");
        assert_eq!(figure(12.34, Unit::Microseconds), "12.3");
    }

    #[test]
    fn small_ratios_are_fractions() {
        assert_eq!(
            [312.4, 12.34, 1.234, 0.52, 0.105].map(ratio),
            ["312", "12.3", "1.23", "0.52", "1/9.5"]
        );
    }

    #[test]
    fn goals_show_what_was_requested() {
        assert_eq!(goal(Goal::AtLeast(1.3), None), "at least 1.3");
        assert_eq!(goal(Goal::AtMost(1.0 / 9.0), None), "at most 1/9");
        let throughput = Some(Unit::RecordsPerSecond);
        assert_eq!(goal(Goal::AtLeast(5e6), throughput), "at least 5,000,000");
    }
}
