//! Numbers of any type as decimal digits, which compare exactly.

use std::cmp::Ordering;

use bson::{Bson, RawBsonRef};

/// A number other than NaN: its sign, and its digits as a fraction times a power of ten.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exact {
    /// -1, 0 or 1.
    sign: i8,
    /// The power of ten; that of infinity is the greatest.
    power: i64,
    /// Without zeros at either end.
    digits: Vec<u8>,
}

impl Exact {
    pub(super) fn of(value: &Bson) -> Option<Self> {
        match value {
            Bson::Int32(number) => Self::parse(&number.to_string()),
            Bson::Int64(number) => Self::parse(&number.to_string()),
            Bson::Double(number) => Self::of_double(*number),
            Bson::Decimal128(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    pub(super) fn of_stored(value: RawBsonRef<'_>) -> Option<Self> {
        match value {
            RawBsonRef::Int32(number) => Self::parse(&number.to_string()),
            RawBsonRef::Int64(number) => Self::parse(&number.to_string()),
            RawBsonRef::Double(number) => Self::of_double(number),
            RawBsonRef::Decimal128(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    fn of_double(number: f64) -> Option<Self> {
        if number.is_infinite() {
            return Some(Self::infinite(number < 0.0));
        }
        // No double has more digits after the point, so nothing is rounded.
        Self::parse(&format!("{number:.1074}"))
    }

    fn infinite(is_negative: bool) -> Self {
        Self {
            sign: if is_negative { -1 } else { 1 },
            power: i64::MAX,
            digits: Vec::new(),
        }
    }

    /// Reads `-12.5`, `1.25E+3` or `-Infinity`.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        if text.starts_with("Inf") {
            return Some(Self::infinite(is_negative));
        }
        let (number, power) = text.split_once('E').unwrap_or((text, "0"));
        let power: i64 = power.parse().ok()?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let (Some(first), Some(last)) = (
            digits.iter().position(|digit| *digit != b'0'),
            digits.iter().rposition(|digit| *digit != b'0'),
        ) else {
            return Some(Self {
                sign: 0,
                power: 0,
                digits: Vec::new(),
            });
        };
        let places = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        Some(Self {
            sign: if is_negative { -1 } else { 1 },
            power: power.saturating_add(places(whole.len())) - places(first),
            digits: digits.get(first..=last).unwrap_or_default().to_vec(),
        })
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_size = || {
            let by_power = self.power.cmp(&other.power);
            by_power.then_with(|| self.digits.cmp(&other.digits))
        };
        self.sign.cmp(&other.sign).then_with(|| {
            if self.sign < 0 {
                by_size().reverse()
            } else {
                by_size()
            }
        })
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
