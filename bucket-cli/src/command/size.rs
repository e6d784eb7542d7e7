//! `size`: from rate, bytes, keys and retention to a form and its figures, with the reasons.

use std::time::Duration;

use bucket_mongo::model::size::{OVERHEAD_BYTES, RECOMMENDED_DOCUMENT_BYTES};
use serde_json::json;

use crate::{
    error::Error,
    exit::Outcome,
    out::{Format, Out},
    span::{duration, shown},
    table::{Table, left, number},
    text,
};

/// The question.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// How many records a key gets: 10/s, 6/m, 20/h, 5/d
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: f64,
    /// The bytes of a record as BSON, without its key
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    bytes: u32,
    /// The number of keys
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    keys: u32,
    /// How long records are kept, such as 30d
    #[arg(long, value_name = "TIME", value_parser = retention)]
    keep: Duration,
    /// How many times smaller the server stores documents than they are; `status` shows both of a collection
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = ratio)]
    ratio: f64,
}

/// Records a second.
fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("`{text}` is no rate such as 10/s, 6/m, 20/h or 5/d");
    let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let is_one = number.is_finite() && number > 0.0 && number <= 1e9;
    is_one.then_some(number / seconds).ok_or_else(wrong)
}

fn retention(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        keep if keep < Duration::from_secs(1) => Err("it is at least one second".to_owned()),
        keep => Ok(keep),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ratio) if (1.0..=1_000.0).contains(&ratio) => Ok(ratio),
        _ => Err("it is a number from 1 to 1000".to_owned()),
    }
}

/// The windows to choose from, in seconds.
const WINDOWS: [(u32, &str); 9] = [
    (60, "1m"),
    (300, "5m"),
    (900, "15m"),
    (1_800, "30m"),
    (3_600, "1h"),
    (7_200, "2h"),
    (21_600, "6h"),
    (43_200, "12h"),
    (86_400, "day"),
];
/// An item has a type, a place in the array and its length.
const ITEM_BYTES: f64 = 8.0;
/// The advice of the book for a bucket.
const GOOD_BYTES: f64 = 65_536.0;
const GOOD_RECORDS: f64 = 1_000.0;
/// Fewer records a day than this make windows that are nearly empty.
const FEW: f64 = 10.0;
/// An entry of an index with a key of about 20 bytes, after prefix compression.
const ENTRY_BYTES: f64 = 40.0;

/// The answer.
#[derive(Debug)]
struct Answer {
    attribute: String,
    window: Option<u32>,
    capacity: u32,
    records_in_bucket: f64,
    bucket_bytes: f64,
    documents: f64,
    data: f64,
    index_entries: f64,
    indexes: u32,
    reasons: Vec<String>,
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive estimate, rounded"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small positive estimates"
)]
fn answer(asked: &Asked) -> Answer {
    let item = f64::from(asked.bytes) + ITEM_BYTES;
    let overhead = OVERHEAD_BYTES as f64;
    // Never above the size that is recommended as the largest one.
    let largest = ((RECOMMENDED_DOCUMENT_BYTES as f64 - overhead) / item).max(1.0);
    let target = (GOOD_BYTES / item).clamp(1.0, GOOD_RECORDS).min(largest);
    let keep = asked.keep.as_secs_f64();
    let mut reasons = vec![format!(
        "about {} records of {} bytes are a good bucket: 64 KB or 1,000 records, whichever comes first",
        whole(target),
        asked.bytes
    )];
    let a_day = asked.rate * 86_400.0;
    // A window longer than a tenth of the retention makes removal lag by much of it.
    let fits = |(seconds, _): &&(u32, &str)| {
        f64::from(*seconds) * asked.rate <= target && f64::from(*seconds) <= keep / 10.0
    };
    let window = WINDOWS.iter().rev().find(fits).unwrap_or(&WINDOWS[0]);
    if a_day < FEW {
        let capacity = target.max(1.0) as u32;
        reasons.push(format!(
            "{a_day:.1} records a day of a key leave the window of a day nearly empty: buckets close by number instead"
        ));
        reasons.push("a bucket goes when its last record is past the retention".to_owned());
        let total = asked.rate * keep;
        let buckets = (total / f64::from(capacity)).ceil() + 1.0;
        let in_bucket = (total / buckets).max(1.0);
        // `_id_`, the one on open buckets, that on pages, that on retention.
        return figures(
            asked,
            format!("capacity = {capacity}"),
            None,
            capacity,
            in_bucket,
            buckets,
            4,
            reasons,
        );
    }
    let (seconds, name) = *window;
    let expected = f64::from(seconds) * asked.rate;
    let capacity = if expected > target {
        reasons.push(format!(
            "even a window of {name} gets {} records: several buckets share one",
            whole(expected)
        ));
        target
    } else {
        reasons.push(format!(
            "a window of {name} gets {} records, which is the longest that is not larger and at most a tenth of {}",
            whole(expected.max(1.0)),
            shown(asked.keep)
        ));
        reasons.push("the capacity leaves room for twice the rate, below 1 MB a bucket".to_owned());
        (expected * 2.0).ceil().clamp(1.0, largest)
    };
    let capacity = capacity.max(1.0) as u32;
    let parts = (expected / f64::from(capacity)).ceil().max(1.0);
    reasons.push(format!("removal by retention lags by one window of {name}"));
    let buckets = ((keep / f64::from(seconds)).ceil() + 1.0) * parts;
    let attribute = format!("window = \"{name}\", capacity = {capacity}");
    // `_id_`, that on pages, that on retention.
    figures(
        asked,
        attribute,
        Some(seconds),
        capacity,
        expected / parts,
        buckets,
        3,
        reasons,
    )
}

#[allow(clippy::too_many_arguments, reason = "the parts of one answer")]
#[allow(clippy::cast_precision_loss, reason = "an estimate")]
fn figures(
    asked: &Asked,
    attribute: String,
    window: Option<u32>,
    capacity: u32,
    records_in_bucket: f64,
    buckets_of_key: f64,
    indexes: u32,
    mut reasons: Vec<String>,
) -> Answer {
    let item = f64::from(asked.bytes) + ITEM_BYTES;
    let bucket_bytes = records_in_bucket * item + OVERHEAD_BYTES as f64;
    let documents = buckets_of_key * f64::from(asked.keys);
    reasons.push(format!(
        "indexes take about {ENTRY_BYTES:.0} bytes for each bucket and index, and belong in memory together with the newest bucket of each key"
    ));
    Answer {
        attribute,
        window,
        capacity,
        records_in_bucket,
        bucket_bytes,
        documents,
        data: documents * bucket_bytes,
        index_entries: documents * f64::from(indexes),
        indexes,
        reasons,
    }
}

/// The most bytes of a document of the server.
const LARGEST_DOCUMENT: u64 = 16 * 1024 * 1024;

pub(crate) fn run(asked: &Asked, out: &mut Out) -> Result<Outcome, Error> {
    if u64::from(asked.bytes) + OVERHEAD_BYTES as u64 > LARGEST_DOCUMENT {
        return Err(Error::Usage(format!(
            "a bucket with a single record of {} would be larger than 16 MB, which is the most that the server stores: give \
             --bytes of a smaller record, and keep what is large elsewhere",
            text::bytes(asked.bytes.into())
        )));
    }
    let answer = answer(asked);
    let disk = answer.data / asked.ratio;
    let index_bytes = answer.index_entries * ENTRY_BYTES;
    let memory = index_bytes + f64::from(asked.keys) * answer.bucket_bytes;
    if out.format() == Format::Json {
        out.json(&json!({
            "attribute": answer.attribute,
            "window_seconds": answer.window,
            "capacity": answer.capacity,
            "records_in_bucket": whole(answer.records_in_bucket),
            "bucket_bytes": whole(answer.bucket_bytes),
            "documents": whole(answer.documents),
            "data_bytes": whole(answer.data),
            "disk_bytes": whole(disk),
            "indexes": answer.indexes,
            "index_bytes": whole(index_bytes),
            "memory_bytes": whole(memory),
            "reasons": answer.reasons,
        }))?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(["figure", "value"]);
    table.row(vec![left("#[bucket(..)]"), number(&answer.attribute)]);
    for (name, value) in [
        (
            "records in a bucket",
            whole(answer.records_in_bucket).to_string(),
        ),
        ("bytes of a bucket", text::bytes(whole(answer.bucket_bytes))),
        ("documents", whole(answer.documents).to_string()),
        ("data", text::bytes(whole(answer.data))),
        ("disk", text::bytes(whole(disk))),
        ("indexes on disk", text::bytes(whole(index_bytes))),
        ("memory", text::bytes(whole(memory))),
    ] {
        table.row(vec![left(name), number(value)]);
    }
    out.table(&table)?;
    if out.format() == Format::Text {
        out.text("\nwhy:")?;
        for reason in &answer.reasons {
            out.text(&format!("- {reason}"))?;
        }
    }
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rate: &str, bytes: u32, keys: u32, keep: &str) -> Asked {
        Asked {
            rate: super::rate(rate).unwrap(),
            bytes,
            keys,
            keep: retention(keep).unwrap(),
            ratio: 1.0,
        }
    }

    #[test]
    fn the_example_of_the_book_gets_the_window_of_the_book() {
        let answer = answer(&asked("0.1/s", 45, 1_000, "30d"));
        assert_eq!(answer.window, Some(7_200));
        assert_eq!(whole(answer.records_in_bucket), 720);
        assert_eq!(whole(answer.documents), 361_000);
    }

    #[test]
    fn rare_records_close_buckets_by_number() {
        let answer = answer(&asked("1/d", 200, 10, "5y"));
        assert_eq!(answer.window, None);
        assert!(answer.attribute.starts_with("capacity = "));
    }

    #[test]
    fn no_answer_has_a_bucket_above_the_recommended_size() {
        for rate in ["0.5/d", "5/h", "10/m", "3/s", "100000/s"] {
            for bytes in [1, 100, 10_000, 900_000] {
                for keep in ["1h", "30d", "5y"] {
                    let answer = answer(&asked(rate, bytes, 3, keep));
                    let full = f64::from(answer.capacity) * (f64::from(bytes) + ITEM_BYTES);
                    assert!(full <= 1_048_576.0, "{answer:?}");
                    assert!(answer.documents >= 3.0, "{answer:?}");
                }
            }
        }
    }
}
