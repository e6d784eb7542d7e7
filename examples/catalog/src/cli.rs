//! The command line.

use clap::{Args, Parser, Subcommand};
use example_kit::cli::{Format, Output};

use crate::{condition::Condition, migration::To};

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; its path names the database, `catalog` where it has none.
               Without it a development server is started and thrown away at the end.

Exit codes: 0 all done, 1 something failed, 2 wrong usage,
128 and more ended by a signal";

/// Bottles, movies and products as arrays of attributes in MongoDB.
///
/// Without a command: stores the manual's bottles and movies in a fresh database and queries them.
/// Then it stores made-up products as documents of many fields and as documents with attributes,
/// compares the cost of both, migrates some from one form to the other and back, and drops
/// everything.
#[derive(Debug, Parser)]
#[command(version, after_help = ENVIRONMENT, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) amount: Amount,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command besides the main job.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Store made-up products after those that are stored, and keep them
    Load {
        #[command(flatten)]
        amount: Amount,
        /// The form of the documents
        #[arg(long, value_name = "FORM", value_enum, default_value_t = To::Attributes)]
        form: To,
        #[command(flatten)]
        output: Output,
    },
    /// Show the products that meet all conditions, the filter, and what the server examined
    #[command(mut_arg("json", |json| json.help(LINES)))]
    Find(Find),
    /// Move the stored products from one form to the other, in place
    ///
    /// It can be stopped and started again. Products that cannot be moved are reported and stay as
    /// they are; the exit code is then 1.
    Migrate(Migrate),
    /// Show what products cost as documents of many fields and as documents with attributes
    Compare {
        #[command(flatten)]
        amount: Amount,
        #[command(flatten)]
        output: Output,
    },
}

/// The help of `--json` where that gives more than one object.
const LINES: &str = "Print a JSON object for each product, one per line, and one for an error";

/// How many products.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Amount {
    /// How many products are made up
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = amount)]
    pub(crate) products: i32,
}

/// What `find` shows.
#[derive(Debug, Args)]
pub(crate) struct Find {
    /// Such as `weight_g >= 500` or `color = red`, in quotes; with `=`, `<`, `<=`, `>` and `>=`
    #[arg(value_name = "CONDITION", value_parser = Condition::parse)]
    pub(crate) conditions: Vec<Condition>,
    /// At most this many products
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = limit)]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What `migrate` does.
#[derive(Debug, Args)]
pub(crate) struct Migrate {
    /// The form to migrate to
    #[arg(long, value_name = "FORM", value_enum)]
    pub(crate) to: To,
    /// Change nothing and show what would be changed
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        match &self.command {
            None => Format::Text,
            Some(
                Command::Load { output, .. }
                | Command::Find(Find { output, .. })
                | Command::Migrate(Migrate { output, .. })
                | Command::Compare { output, .. },
            ) => output.format(),
        }
    }
}

fn amount(text: &str) -> Result<i32, String> {
    match text.parse() {
        Ok(number @ 1..=MOST) => Ok(number),
        _ => Err(format!(
            "a number of products is a whole number from 1 to {MOST}"
        )),
    }
}

/// They are made in memory.
const MOST: i32 = 2_000_000;

fn limit(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("a limit is at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err(format!("a limit is a whole number from 1 to {}", u32::MAX)),
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

    #[test]
    fn bad_numbers_and_conditions_are_refused_on_one_line() {
        let amount = "a number of products is a whole number from 1 to 2000000";
        for (line, expected) in [
            (
                "catalog --products 0",
                format!("invalid value '0' for '--products <N>': {amount}"),
            ),
            (
                "catalog load --products many",
                format!("invalid value 'many' for '--products <N>': {amount}"),
            ),
            (
                "catalog find color=red --limit 0",
                "invalid value '0' for '--limit <N>': a limit is at least 1".to_owned(),
            ),
            (
                "catalog find color=red color",
                "invalid value 'color' for '[CONDITION]...': `color` is not a condition such as \
                 `weight_g >= 500` or `color = red`"
                    .to_owned(),
            ),
        ] {
            let error = Arguments::try_parse_from(line.split(' ')).unwrap_err();
            assert_eq!(summary(&error), expected);
        }
    }
}
