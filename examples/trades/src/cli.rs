//! The command line.

use clap::{Args, Parser, Subcommand};
use example_kit::{
    cli::{Format, Output},
    csv_input::field,
    load::Input,
};

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; its path names the database, `trades` where it has none.
               Without it a development server is started and thrown away at the end.

Exit codes: 0 all done, 1 rows were not loaded or something failed, 2 wrong usage,
128 and more ended by a signal";

/// Stock trades in MongoDB buckets of ten.
///
/// Without a command: loads 998 real trades into a fresh database, shows how they are stored,
/// and drops it.
#[derive(Debug, Parser)]
#[command(version, after_help = ENVIRONMENT)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command besides the main job.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Load trades from a CSV file, after those that are stored
    ///
    /// The first line names the columns `customer_id,ticker,type,qty,price,date`, in any order;
    /// others are not read. `type` is `buy` or `sell`, `qty` a whole number above 0, `price` a
    /// number or empty, `date` like 2010-12-01T08:26:00Z. A row is one line. Wrong rows are
    /// reported, the others are loaded.
    Load(Input),
    /// Show one page of a customer's trades, ten at most
    Page {
        /// The customer's number
        #[arg(allow_negative_numbers = true)]
        customer: i64,
        /// The page, counted from 1
        #[arg(value_name = "N", value_parser = page_number, allow_negative_numbers = true)]
        page: u64,
        #[command(flatten)]
        output: Output,
    },
    /// Show a customer's trades, as many as you like, and what to type for more
    Feed(Feed),
    /// Correct one trade, in its place
    Amend(Amend),
    /// Remove one trade
    Cancel(Cancel),
    /// Show the newest trades, and what happens to trades from then on, until Ctrl-C
    Watch(Watch),
    /// Show a customer's documents as they are stored
    Show {
        /// The customer's number
        #[arg(allow_negative_numbers = true)]
        customer: i64,
        #[command(flatten)]
        output: Output,
    },
}

/// What `feed` shows.
#[derive(Debug, Args)]
pub(crate) struct Feed {
    /// The customer's number
    #[arg(allow_negative_numbers = true)]
    pub(crate) customer: i64,
    /// At most this many trades, up to 10000
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = limit)]
    pub(crate) limit: usize,
    /// Those after the position of this token, which another call has printed
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    pub(crate) after: Option<String>,
    /// Those before the position of this token
    #[arg(
        long,
        value_name = "TOKEN",
        allow_hyphen_values = true,
        conflicts_with = "after"
    )]
    pub(crate) before: Option<String>,
    /// The newest trade first
    #[arg(long)]
    pub(crate) newest_first: bool,
    /// Show the reference of each trade, for `amend` and `cancel`
    #[arg(long)]
    pub(crate) refs: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What `watch` shows.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// The customer's number; all customers if it is missing
    #[arg(allow_negative_numbers = true)]
    pub(crate) customer: Option<i64>,
    /// Begin with this many of the newest trades of each customer, up to 10000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = latest)]
    pub(crate) latest: usize,
    /// End after this many events
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// One trade of a customer.
#[derive(Debug, Args)]
pub(crate) struct OneTrade {
    /// The customer's number
    #[arg(allow_negative_numbers = true)]
    pub(crate) customer: i64,
    /// The trade's reference, which `feed --refs` prints
    #[arg(value_name = "REF", allow_hyphen_values = true)]
    pub(crate) reference: String,
    /// Change nothing: show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What `amend` corrects.
#[derive(Debug, Args)]
pub(crate) struct Amend {
    #[command(flatten)]
    pub(crate) trade: OneTrade,
    #[command(flatten)]
    pub(crate) new: NewValues,
}

/// The corrected values; the others stay.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub(crate) struct NewValues {
    /// The right number of pieces
    #[arg(long, value_parser = clap::value_parser!(i32).range(1..))]
    pub(crate) qty: Option<i32>,
    /// The right price of one piece
    #[arg(long, value_parser = field::number)]
    pub(crate) price: Option<f64>,
}

/// What `cancel` removes.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    #[command(flatten)]
    pub(crate) trade: OneTrade,
}

impl Arguments {
    pub(crate) fn format(&self) -> Format {
        match &self.command {
            None => Format::Text,
            Some(Command::Load(input)) => input.format(),
            Some(
                Command::Page { output, .. }
                | Command::Feed(Feed { output, .. })
                | Command::Amend(Amend {
                    trade: OneTrade { output, .. },
                    ..
                })
                | Command::Cancel(Cancel {
                    trade: OneTrade { output, .. },
                })
                | Command::Watch(Watch { output, .. })
                | Command::Show { output, .. },
            ) => output.format(),
        }
    }
}

fn page_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("pages are counted from 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("a page is a whole number from 1".to_owned()),
    }
}

/// The library's own limit.
const MOST: usize = 10_000;

fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=MOST) => Ok(number),
        _ => Err(format!("a limit is a whole number from 1 to {MOST}")),
    }
}

fn latest(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 0..=MOST) => Ok(number),
        _ => Err(format!(
            "the newest trades are a whole number from 0 to {MOST}"
        )),
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
    fn usage_errors_are_one_line_in_json() {
        let error = Arguments::try_parse_from(["trades", "page", "1", "0", "--json"]).unwrap_err();
        assert_eq!(
            summary(&error),
            "invalid value '0' for '<N>': pages are counted from 1"
        );
        let error = Arguments::try_parse_from(["trades", "load", "--json"]).unwrap_err();
        assert_eq!(
            summary(&error),
            "the following required arguments were not provided: <FILE.csv>"
        );
    }
}
