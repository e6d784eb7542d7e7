//! The arguments, and the commands: one file for each.
//!
//! A new command is a file with its options and a `run`, a variant of [`Command`] and an arm in [`run`].

#[cfg(feature = "seal")]
mod archive;
mod backfill;
mod compare;
pub(crate) mod completions;
mod ensure;
mod expire;
mod keys;
pub(crate) mod man;
#[cfg(feature = "seal")]
mod merge;
mod page;
mod records;
mod repair;
mod rollup;
#[cfg(feature = "seal")]
mod seal;
mod show;
pub(crate) mod size;
mod stats;
mod status;
mod verify;
mod watch;

use bucket_mongo::Bucketed;
use clap::{Args, Parser, Subcommand};
use serde::de::DeserializeOwned;

use crate::{at::At, error::Error, exit::Outcome};

/// Looks at collections of buckets and looks after them
#[derive(Debug, Parser)]
#[command(name = "bucket-cli")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// The connection string; it may name the database
    #[arg(long, global = true, env = "MONGODB_URI", hide_env_values = true)]
    pub(crate) uri: Option<String>,
    /// The database, instead of that of the connection string
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) database: Option<String>,
    /// The model, by its collection or its struct; a program with one model needs no name
    #[arg(long, short, global = true, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Where archived items are: the database
    #[cfg(feature = "seal")]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) archive_database: Option<String>,
    /// Where archived items are: the collection, if it has another name than the model's
    #[cfg(feature = "seal")]
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) archive_collection: Option<String>,
    /// Print lines of JSON, errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print tables as CSV
    #[arg(long, global = true, conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Print results and errors only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Show collections, differences from the models, sizes, retention
    Status(status::Asked),
    /// Create what is missing of a collection and its indexes
    Ensure(ensure::Asked),
    /// Show what retention removes, and consent to it
    Expire(expire::Asked),
    /// List keys, and how much is stored of each
    Keys(keys::Asked),
    /// Show a bucket as it is stored
    Show(show::Asked),
    /// Show a page of a key: the records of one bucket
    Page(page::Asked),
    /// Show records of a key
    Records(records::Asked),
    /// Show the statistics of a key
    Stats(stats::Asked),
    /// Show the statistics of a key step by step, with a chart
    Rollup(rollup::Asked),
    /// Check that what is stored keeps every promise
    Verify(verify::Asked),
    /// Mend what `verify` finds
    Repair(repair::Asked),
    /// Pack old buckets into a small part of the space
    #[cfg(feature = "seal")]
    Seal(seal::Asked),
    /// Make one bucket of several sealed ones
    #[cfg(feature = "seal")]
    Merge(merge::Asked),
    /// Move sealed items to another collection or database
    #[cfg(feature = "seal")]
    Archive(archive::Asked),
    /// Store the documents of a flat collection as records
    Backfill(backfill::Asked),
    /// Compare the records with the documents of a flat collection
    Compare(compare::Asked),
    /// Follow what is stored, edited and removed
    Watch(watch::Asked),
    /// Choose a form and limits by rate and retention
    Size(size::Asked),
    /// Print the completions for a shell
    Completions(completions::Asked),
    /// Print the manual page
    Man(man::Asked),
}

impl Command {
    /// Whether a signal may end it at any moment. The others end themselves at a safe point.
    pub(crate) fn may_end_anywhere(&self) -> bool {
        match self {
            // An index that is replaced is gone for a moment.
            Self::Ensure(asked) => !asked.yes,
            Self::Status(_)
            | Self::Keys(_)
            | Self::Show(_)
            | Self::Page(_)
            | Self::Records(_)
            | Self::Stats(_)
            | Self::Rollup(_)
            | Self::Compare(_) => true,
            _ => false,
        }
    }

    /// Whether an error of one model says nothing of the others, which it is then to look at, too.
    pub(crate) fn is_for_each(&self) -> bool {
        matches!(self, Self::Status(_))
    }

    /// Whether it runs on every model if none is named.
    pub(crate) fn is_for_all(&self) -> bool {
        matches!(self, Self::Status(_) | Self::Ensure(_))
    }
}

/// Runs a command on the buckets of a model.
pub(crate) async fn run<T: Bucketed + DeserializeOwned>(
    at: At<'_, T>,
    command: Command,
) -> Result<Outcome, Error> {
    match command {
        Command::Status(asked) => status::run(at, asked).await,
        Command::Ensure(asked) => ensure::run(at, asked).await,
        Command::Expire(asked) => expire::run(at, asked).await,
        Command::Keys(asked) => keys::run(at, asked).await,
        Command::Show(asked) => show::run(at, asked).await,
        Command::Page(asked) => page::run(at, asked).await,
        Command::Records(asked) => records::run(at, asked).await,
        Command::Stats(asked) => stats::run(at, asked).await,
        Command::Rollup(asked) => rollup::run(at, asked).await,
        Command::Verify(asked) => verify::run(at, asked).await,
        Command::Repair(asked) => repair::run(at, asked).await,
        #[cfg(feature = "seal")]
        Command::Seal(asked) => seal::run(at, asked).await,
        #[cfg(feature = "seal")]
        Command::Merge(asked) => merge::run(at, asked).await,
        #[cfg(feature = "seal")]
        Command::Archive(asked) => archive::run(at, asked).await,
        Command::Backfill(asked) => backfill::run(at, asked).await,
        Command::Compare(asked) => compare::run(at, asked).await,
        Command::Watch(asked) => watch::run(at, asked).await,
        // The program runs them before it connects.
        Command::Size(_) | Command::Completions(_) | Command::Man(_) => Ok(Outcome::Done),
    }
}
