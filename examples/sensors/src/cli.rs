//! The command line.

mod checked;
mod select;

use bucket_mongo::bson::DateTime;
use clap::{Args, Parser, Subcommand};
use example_kit::{
    cli::{Format, Output},
    csv_input::field,
    load::Input,
};

pub(crate) use self::select::{Rollup, Select};
use crate::sensor::Sensor;

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; its path names the database, `sensors` where it has none.
               Without it a development server is started and thrown away at the end.

Exit codes: 0 all done, 1 readings were not stored or something failed, 2 wrong usage,
128 and more ended by a signal";

/// Sensor readings in MongoDB buckets of time.
///
/// Without a command: sends 53,060 real readings through a queue into a fresh database, shows what
/// is stored for each device and how much space it takes, reads some of it back, and drops it.
#[derive(Debug, Parser)]
#[command(version, after_help = ENVIRONMENT)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command besides the main job.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load readings from a CSV file into the buckets of their times
    ///
    /// The first line names the columns `device_id,sensor_type,timestamp,value` and, if need be,
    /// `quality`, in any order; others are not read. `timestamp` is like 2014-02-14T14:30:00Z,
    /// `value` a finite number, `quality` a finite number, 1 where it is missing or empty. A row is
    /// one line. Rows that are wrong are reported, the others are loaded.
    Load(Input),
    /// Show what is stored for each device: buckets, readings, and the spread of the values
    Devices {
        #[command(flatten)]
        output: Output,
    },
    /// Show how much space the readings take, and how full their buckets are
    Sizes {
        #[command(flatten)]
        output: Output,
    },
    /// Show the newest reading of each device and type
    #[command(mut_arg("json", |json| json.help(LINES)))]
    Latest {
        #[command(flatten)]
        output: Output,
    },
    /// Show the readings of a sensor in time order
    #[command(mut_arg("json", |json| json.help(LINES)))]
    Readings(Select),
    /// Show the statistics of a sensor over any span of time
    Stats(Select),
    /// Correct the value of a reading, in its place
    Correct(Correct),
    /// Remove all readings of a device: shows what would go, and removes it with `--yes`
    Forget(Forget),
    /// Pack the readings of windows that ended a week ago, or give their rows back
    Seal(Seal),
    /// Pack the readings of windows that ended a week ago and move them to the archive, or back
    Archive(Archive),
    /// Draw a sensor's average, smallest and largest value, step by step
    Rollup(Rollup),
}

/// The help of `--json` where that gives more than one object.
const LINES: &str = "Print a JSON object for each reading, one per line, and one for an error";

/// A reading, and what is right.
#[derive(Debug, Args)]
pub(crate) struct Correct {
    #[command(flatten)]
    pub(crate) sensor: Sensor,
    /// The time of the reading, such as 2014-02-14T14:30:00Z
    #[arg(long, value_name = "RFC3339", value_parser = field::date)]
    pub(crate) at: DateTime,
    /// The right value
    #[arg(long, value_parser = field::number, allow_negative_numbers = true)]
    pub(crate) value: f64,
    /// Change nothing: show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// A device to forget.
#[derive(Debug, Args)]
pub(crate) struct Forget {
    /// The device, as `devices` shows it
    pub(crate) device: String,
    /// Remove the readings
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What to pack.
#[derive(Debug, Args)]
pub(crate) struct Seal {
    /// Give packed readings their rows back instead
    #[arg(long)]
    pub(crate) undo: bool,
    /// Change nothing: show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What to move.
#[derive(Debug, Args)]
pub(crate) struct Archive {
    /// Move archived readings back instead
    #[arg(long)]
    pub(crate) undo: bool,
    /// Change nothing: show what would be moved of what is packed
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        match &self.command {
            None => Format::Text,
            Some(Command::Load(input)) => input.format(),
            Some(
                Command::Devices { output }
                | Command::Sizes { output }
                | Command::Correct(Correct { output, .. })
                | Command::Forget(Forget { output, .. })
                | Command::Seal(Seal { output, .. })
                | Command::Archive(Archive { output, .. })
                | Command::Latest { output }
                | Command::Readings(Select { output, .. })
                | Command::Stats(Select { output, .. })
                | Command::Rollup(Rollup {
                    select: Select { output, .. },
                    ..
                }),
            ) => output.format(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use example_kit::cli::summary;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    /// The message for a wrong `sensors rollup a co2` with these options.
    fn refused(options: &str) -> String {
        let line = format!("sensors rollup a co2 {options}");
        summary(&Arguments::try_parse_from(line.split(' ')).unwrap_err())
    }

    #[test]
    fn bad_spans_and_steps_are_refused_on_one_line() {
        for (options, expected) in [
            (
                "--every 1h --from noon",
                "invalid value 'noon' for '--from <RFC3339>': `noon` is not a date such as \
                 2010-12-01T08:26:00Z",
            ),
            (
                "--every 1h --to 2014-02-30T00:00:00Z",
                "invalid value '2014-02-30T00:00:00Z' for '--to <RFC3339>': `2014-02-30T00:00:00Z` \
                 does not exist",
            ),
            (
                "--every 1h --from 2014-02-02T00:00:00Z --to 2014-02-01T00:00:00Z",
                "the span of time ends (--to 2014-02-01 00:00:00) before it starts (--from \
                 2014-02-02 00:00:00)",
            ),
            (
                "--every 0s",
                "invalid value '0s' for '--every <STEP>': a step lasts at least one second",
            ),
            (
                "--every day --zone Europe/Berlim",
                "invalid value 'Europe/Berlim' for '--zone <ZONE>': unknown time zone \
                 `Europe/Berlim`: zones have the names of the IANA database, such as \
                 `Europe/Berlin` or `UTC`",
            ),
            (
                "--every 1h --zone Europe/Berlin",
                "the step `1h` cannot have the zone `Europe/Berlin`: only `day`, `week`, \
                 `month`, `quarter` and `year` depend on the zone",
            ),
            (
                "--every 1h --fill next",
                "invalid value 'next' for '--fill <FILL>' [possible values: skip, null, previous, \
                 linear]",
            ),
        ] {
            assert_eq!(refused(options), expected);
        }
        assert!(refused("--every soon").contains("`soon` is not a step"));
    }

    #[test]
    fn an_empty_span_is_valid() {
        let at = "2014-02-01T00:00:00Z";
        let line = ["sensors", "stats", "a", "co2", "--from", at, "--to", at];
        let arguments = Arguments::try_parse_from(line).unwrap();
        assert!(matches!(
            arguments.command,
            Some(Command::Stats(Select { range, .. })) if range.is_empty()
        ));
    }
}
