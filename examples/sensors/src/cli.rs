//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use example_kit::cli::{Format, Output};

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; its path names the database, `sensors` where it has none.
               Without it a development server is started and thrown away at the end.

Exit codes: 0 all done, 1 readings were not stored or something failed, 2 wrong usage";

/// Sensor readings in MongoDB buckets of time.
///
/// Without a command: sends 53,060 real readings through a queue into a fresh database, shows what
/// is stored of each device and how much room it takes, and drops it.
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
    Load {
        /// The file
        #[arg(value_name = "FILE.csv")]
        file: PathBuf,
        #[command(flatten)]
        output: Output,
    },
    /// Show what is stored of each device: buckets, readings, and the spread of the values
    Devices {
        #[command(flatten)]
        output: Output,
    },
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        match &self.command {
            None => Format::Text,
            Some(Command::Load { output, .. } | Command::Devices { output }) => output.format(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }
}
