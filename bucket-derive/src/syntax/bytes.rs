//! Sizes in bytes: `max_bytes = 65536`, `max_bytes = "64 KiB"`.

use syn::Lit;

use crate::{
    diagnostics::Diagnostics,
    symbol::MAX_BYTES,
    syntax::{
        entry::Entry,
        value::{literal, wrong_kind},
    },
};

const KIB: u64 = 1_024;
const MIB: u64 = 1_024 * KIB;
/// Half of what the server takes: the largest record and the counters must fit on top.
const MAX: u64 = 8 * MIB;
/// These limits as literals.
const LEAST: &str = "\"1KB\"";
const MOST: &str = "\"8MB\"";

/// The value of `max_bytes = "64 KiB"`.
pub(crate) fn max_bytes(cx: &mut Diagnostics, entry: &Entry) -> Option<u32> {
    let (bytes, shown) = match literal(entry) {
        Some(Lit::Int(number)) if number.suffix().is_empty() => {
            // Whatever does not fit is out of range.
            (
                number.base10_parse().unwrap_or(u64::MAX),
                number.to_string(),
            )
        }
        Some(Lit::Str(text)) if text.suffix().is_empty() => match parse(text.value().trim()) {
            Ok(bytes) => (bytes, text.value()),
            Err((message, instead)) => {
                cx.error(text, message, format_args!("{MAX_BYTES} = {instead}"));
                return None;
            }
        },
        _ => {
            let kind = "a number of bytes or a string such as \"64KB\"";
            wrong_kind(cx, entry, kind, "max_bytes = \"256KB\"");
            return None;
        }
    };
    match u32::try_from(bytes) {
        Ok(small) if (KIB..=MAX).contains(&bytes) => Some(small),
        _ => {
            let (what, instead) = if bytes < KIB {
                ("small", LEAST)
            } else {
                ("large", MOST)
            };
            let shown = shown.escape_debug();
            let message = format!("`{shown}` is too {what}: the range is 1KB to 8MB");
            let help = format!("{MAX_BYTES} = {instead}");
            cx.error(entry.value_or_self(), message, help);
            None
        }
    }
}

/// The bytes of a text; else what is wrong with it and the literal to write instead.
fn parse(text: &str) -> Result<u64, (String, String)> {
    const UNITS: &str = "the units are `KB` or `KiB` (1,024 bytes) and `MB` or `MiB` (1,024 KB)";
    let shown = text.escape_debug();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim_start();
    if number.is_empty() || !unit.chars().all(char::is_alphabetic) {
        let message = format!("`{shown}` is not a size: write a whole number with a unit; {UNITS}");
        return Err((message, "\"256KB\"".to_owned()));
    }
    let factor = match unit.to_lowercase().as_str() {
        "kb" | "kib" => KIB,
        "mb" | "mib" => MIB,
        "" => return Err((format!("`{shown}` has no unit; {UNITS}"), in_range(number))),
        other => {
            let message = format!("unknown unit `{unit}` in `{shown}`; {UNITS}");
            let instead = match other {
                "b" | "byte" | "bytes" => in_range(number),
                _ => "\"256KB\"".to_owned(),
            };
            return Err((message, instead));
        }
    };
    // Whatever does not fit is out of range.
    Ok(number
        .parse()
        .map_or(u64::MAX, |n: u64| n.saturating_mul(factor)))
}

/// The literal for this number of bytes, or for the next one that is allowed.
fn in_range(number: &str) -> String {
    match number.parse().unwrap_or(u64::MAX) {
        ..KIB => LEAST.to_owned(),
        KIB..=MAX => number.to_owned(),
        _ => MOST.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn units_are_powers_of_1024() {
        for (text, bytes) in [
            ("512KB", 524_288),
            ("64 KiB", 65_536),
            ("1MB", 1_048_576),
            ("2mib", 2_097_152),
            ("99999999999999999999MB", u64::MAX),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn each_mistake_is_named_and_corrected() {
        for (text, message, instead) in [
            ("", "not a size", "\"256KB\""),
            ("KB", "not a size", "\"256KB\""),
            ("1.5MB", "not a size", "\"256KB\""),
            ("65536", "has no unit", "65536"),
            ("2GB", "unknown unit `GB`", "\"256KB\""),
            ("65536 bytes", "unknown unit `bytes`", "65536"),
            ("900B", "unknown unit `B`", "\"1KB\""),
            ("9000000", "has no unit", "\"8MB\""),
            ("99999999999999999999", "has no unit", "\"8MB\""),
        ] {
            let (problem, corrected) = parse(text).unwrap_err();
            assert!(problem.contains(message), "{text}: {problem}");
            assert_eq!(corrected, instead);
        }
    }
}
