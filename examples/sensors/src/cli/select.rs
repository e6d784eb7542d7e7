//! The subject of a reading command: a sensor, a span of time, and the steps of a rollup.

use std::path::PathBuf;

use bucket_mongo::{Fill, Interval, IntervalError, TimeRange, bson::DateTime};
use clap::{Args, ValueEnum};
use example_kit::{cli::Output, csv_input::field, text::short_date};

use super::checked::checked;
use crate::sensor::Sensor;

/// The readings of a sensor in a span of time.
#[derive(Debug)]
pub(crate) struct Select {
    pub(crate) sensor: Sensor,
    /// Never a span that ends before it starts.
    pub(crate) range: TimeRange,
    pub(crate) output: Output,
}

/// `Select` as options.
#[derive(Debug, Args)]
struct SelectOptions {
    #[command(flatten)]
    sensor: Sensor,
    /// From this time on, such as 2014-02-14T14:30:00Z
    #[arg(long, value_name = "RFC3339", value_parser = field::date)]
    from: Option<DateTime>,
    /// Before this time
    #[arg(long, value_name = "RFC3339", value_parser = field::date)]
    to: Option<DateTime>,
    #[command(flatten)]
    output: Output,
}

checked!(SelectOptions => Select);

impl TryFrom<SelectOptions> for Select {
    type Error = String;

    fn try_from(options: SelectOptions) -> Result<Self, String> {
        let SelectOptions {
            sensor,
            from,
            to,
            output,
        } = options;
        match (from, to) {
            (Some(from), Some(to)) if to < from => Err(format!(
                "the span of time ends (--to {}) before it starts (--from {})",
                short_date(to),
                short_date(from),
            )),
            _ => Ok(Self {
                sensor,
                range: TimeRange::new(from, to),
                output,
            }),
        }
    }
}

/// What `rollup` draws.
#[derive(Debug, Args)]
pub(crate) struct Rollup {
    #[command(flatten)]
    pub(crate) select: Select,
    #[command(flatten)]
    pub(crate) steps: Steps,
    /// What happens to steps without readings
    #[arg(long, value_name = "FILL", value_enum, default_value_t = Gaps::Skip)]
    pub(crate) fill: Gaps,
    /// Write the picture to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// The steps of a rollup.
#[derive(Debug)]
pub(crate) struct Steps(pub(crate) Interval);

/// `Steps` as options.
#[derive(Debug, Args)]
struct StepOptions {
    /// The length of a step: `15m`, `1h`, `1h30m`, `7d`, `day`, `week`, `month`, `quarter`, `year`
    #[arg(long, value_name = "STEP")]
    every: Interval,
    /// The time zone of days and longer steps, such as Europe/Berlin; UTC without it
    #[arg(long, value_name = "ZONE", value_parser = zone)]
    zone: Option<String>,
}

checked!(StepOptions => Steps);

impl TryFrom<StepOptions> for Steps {
    type Error = IntervalError;

    fn try_from(options: StepOptions) -> Result<Self, IntervalError> {
        let StepOptions { every, zone } = options;
        match zone {
            Some(zone) => every.in_zone(&zone).map(Self),
            None => Ok(Self(every)),
        }
    }
}

/// The name of a known time zone.
fn zone(name: &str) -> Result<String, IntervalError> {
    Interval::day().in_zone(name).map(|_| name.to_owned())
}

/// What happens to steps without readings.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Gaps {
    /// They are left out
    Skip,
    /// They are shown without values
    Null,
    /// They get the average of the step before, from before the span too
    Previous,
    /// They get an average on the straight line between their neighbours
    Linear,
}

impl From<Gaps> for Fill {
    fn from(gaps: Gaps) -> Self {
        match gaps {
            Gaps::Skip => Self::Skip,
            Gaps::Null => Self::Null,
            Gaps::Previous => Self::Previous,
            Gaps::Linear => Self::Linear,
        }
    }
}
