//! The commands, one a file.

mod demo;
mod feed;
mod load;
mod page;
mod show;

use std::{io::Write, process::ExitCode};

use bucket_mongo::{Bucketed as _, Buckets};
use example_kit::{Error, Server};

use crate::{cli::Command, csv_input, model::Trade};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run(command: Option<Command>, out: &mut impl Write) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Load { file, output }) => {
            return load::run(&file, output.format(), out).await;
        }
        Some(Command::Page {
            customer,
            page,
            output,
        }) => {
            page::run(customer, page, output.format(), out).await?;
        }
        Some(Command::Feed(feed)) => feed::run(feed, out).await?,
        Some(Command::Show { customer, output }) => {
            show::run(customer, output.format(), out).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The trades to read. A development server is empty, so it gets the built-in ones first.
async fn filled(server: &Server) -> Result<Buckets<Trade>, Error> {
    let buckets = Trade::buckets(&server.database().await?);
    if !server.is_lasting() {
        buckets.ensure().await?;
        buckets
            .insert_many(csv_input::built_in()?)
            .await?
            .into_result()?;
    }
    Ok(buckets)
}
