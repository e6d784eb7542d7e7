//! The command line.

use clap::{Parser, Subcommand};

const ENVIRONMENT: &str = "\
Environment:
  MONGODB_URI  the server; its path names the database, `requests` where it has none.
               Without it a development server is started and thrown away at the end.

Exit codes: 0 all done, 1 something failed, 2 wrong usage,
128 and more ended by a signal";

/// Request metrics in numbered MongoDB buckets of a hundred.
///
/// Without a command: several writers record made-up requests in a fresh database at the same time;
/// then it shows what is stored of each endpoint, and one bucket, and drops the database.
#[derive(Debug, Parser)]
#[command(version, after_help = ENVIRONMENT)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// A command besides the main job.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Record the same requests after those that are stored, and keep them
    Record,
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
