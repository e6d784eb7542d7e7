//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::{scale::Scale, workload};

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; without it a development server is started and thrown away at the end.
               All data are in a database of its own, which is dropped at the end.

Exit codes: 0 all was measured (whatever the figures are), 1 something failed, 2 wrong usage,
128 and more ended by a signal";

/// Compares buckets with flat and time series collections, the manual's upsert and the server's
/// limit: the same records, the same durability, medians over rounds in alternating order.
#[derive(Debug, Parser)]
#[command(version, after_help = ENVIRONMENT)]
pub(crate) struct Arguments {
    /// Run everything once on few records: a test run, its figures mean nothing
    #[arg(long)]
    quick: bool,
    /// The number of rounds; 5, or 1 with --quick
    #[arg(long, value_name = "N", value_parser = rounds)]
    rounds: Option<usize>,
    /// Run only this workload; can be given several times
    #[arg(long, value_name = "WORKLOAD", value_parser = workload::names())]
    only: Vec<String>,
    /// Write the figures as JSON to this file, or to the standard output instead of the tables
    #[arg(long, value_name = "FILE|-")]
    pub(crate) json: Option<PathBuf>,
    /// Write the page `benchmarks.md` and its charts into this folder
    #[arg(long, value_name = "FOLDER", num_args = 0..=1, default_missing_value = "docs")]
    pub(crate) write_docs: Option<PathBuf>,
    /// Run nothing: show what an earlier run wrote with --json
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "rounds", "only"])]
    pub(crate) from: Option<PathBuf>,
    /// The part of a workload that needs a process of its own
    #[arg(long, value_name = "MIB", hide = true, conflicts_with_all = ["only", "json", "from"])]
    pub(crate) hold_up: Option<usize>,
    /// The same of another workload
    #[arg(long, value_name = "KEYS", hide = true, conflicts_with_all = ["only", "json", "from", "hold_up"])]
    pub(crate) key_load: Option<usize>,
    /// List the workloads and end
    #[arg(long)]
    pub(crate) list: bool,
}

impl Arguments {
    pub(crate) fn scale(&self) -> Scale {
        if self.quick {
            Scale::Quick
        } else {
            Scale::Full
        }
    }

    pub(crate) fn rounds(&self) -> usize {
        self.rounds.unwrap_or_else(|| self.scale().rounds())
    }

    /// Whether a workload must run.
    pub(crate) fn includes(&self, workload: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == workload)
    }

    /// Whether the standard output has only JSON.
    pub(crate) fn prints_json(&self) -> bool {
        self.json
            .as_ref()
            .is_some_and(|file| file.as_os_str() == "-")
    }
}

fn rounds(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("there is at least one round".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("the number of rounds is a whole number from 1".to_owned()),
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

    #[test]
    fn without_a_folder_the_page_goes_to_docs() {
        let arguments = Arguments::parse_from(["bench", "--write-docs"]);
        assert_eq!(arguments.write_docs, Some(PathBuf::from("docs")));
        let arguments = Arguments::parse_from(["bench"]);
        assert_eq!(arguments.write_docs, None);
    }

    #[test]
    fn the_commands_of_the_readme_are_valid() {
        let readme = include_str!("../README.md");
        let lines = readme.lines().filter(|line| line.starts_with("cargo run "));
        let commands: Vec<&str> = lines
            .map(|line| line.split('#').next().unwrap_or_default())
            .collect();
        assert!(commands.len() > 5, "{commands:?}");
        for command in commands {
            let words = command.split_whitespace();
            let arguments = words.skip_while(|word| *word != "--").skip(1);
            let parsed = Arguments::try_parse_from(["bench"].into_iter().chain(arguments));
            assert!(parsed.is_ok(), "{command}: {parsed:?}");
        }
    }

    #[test]
    fn a_workload_that_does_not_exist_is_wrong_usage() {
        assert!(Arguments::try_parse_from(["bench", "--only", "nonsense"]).is_err());
    }
}
