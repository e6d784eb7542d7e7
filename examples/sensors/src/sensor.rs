//! A sensor of a device, as named on the command line.

use std::fmt;

use bucket_mongo::{TimeRange, bson::DateTime};
use clap::Args;
use example_kit::text::short_date;

use crate::model::ReadingKey;

/// A device, and one of its sensors.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sensor {
    /// The device
    #[arg(value_name = "DEVICE")]
    pub(crate) device_id: String,
    /// The type of its sensor
    #[arg(value_name = "TYPE")]
    pub(crate) sensor_type: String,
}

impl Sensor {
    pub(crate) fn key(&self) -> ReadingKey {
        (self.device_id.clone(), self.sensor_type.clone()).into()
    }

    /// The message that it has no readings in a span of time.
    pub(crate) fn has_none(&self, range: TimeRange) -> String {
        format!("no readings of {self}{}", span(range))
    }
}

/// `machine_1 temperature`, on one line whatever the names hold.
impl fmt::Display for Sensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [device, kind] = [&self.device_id, &self.sensor_type].map(|name| printable(name));
        write!(f, "{device} {kind}")
    }
}

/// A name without characters that would break its line.
pub(crate) fn printable(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}

/// ` from 2014-02-14 00:00:00 to 2014-02-15 00:00:00 UTC`, with the bounds that exist.
pub(crate) fn span(range: TimeRange) -> String {
    let bound = |name: &str, date: Option<DateTime>| {
        date.map_or_else(String::new, |date| format!(" {name} {}", short_date(date)))
    };
    let text = bound("from", range.start()) + &bound("to", range.end());
    match text.as_str() {
        "" => text,
        _ => text + " UTC",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_show_the_bounds_that_exist() {
        let (start, end) = (DateTime::from_millis(0), DateTime::from_millis(86_400_000));
        for (range, expected) in [
            (TimeRange::ALL, ""),
            (
                TimeRange::new(Some(start), None),
                " from 1970-01-01 00:00:00 UTC",
            ),
            (
                TimeRange::new(None, Some(end)),
                " to 1970-01-02 00:00:00 UTC",
            ),
            (
                TimeRange::new(Some(start), Some(end)),
                " from 1970-01-01 00:00:00 to 1970-01-02 00:00:00 UTC",
            ),
        ] {
            assert_eq!(span(range), expected);
        }
    }

    #[test]
    fn names_stay_on_their_line() {
        let sensor = Sensor {
            device_id: "a\n\u{1b}[2J".to_owned(),
            sensor_type: "co2".to_owned(),
        };
        assert_eq!(sensor.to_string(), "a\u{fffd}\u{fffd}[2J co2");
    }
}
