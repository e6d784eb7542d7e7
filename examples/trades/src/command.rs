//! The commands, one per file.

mod amend;
mod cancel;
mod demo;
mod feed;
mod load;
mod page;
mod show;
mod watch;

use std::{io::Write, process::ExitCode};

use bucket_mongo::{Bucketed as _, Buckets};
use example_kit::{Error, Server, cli::Format};

use crate::{APP, cli::Command, csv_input, model::Trade};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run(command: Option<Command>, out: &mut impl Write) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Load(input)) => return load::run(&input, out).await,
        Some(Command::Page {
            customer,
            page,
            output,
        }) => {
            let format = output.format();
            read(format, async |it| {
                page::run(it, customer, page, format, out).await
            })
            .await?;
        }
        Some(Command::Feed(feed)) => {
            let format = feed.output.format();
            read(format, async |it| feed::run(it, feed, out).await).await?;
        }
        Some(Command::Amend(amend)) => {
            let format = amend.trade.output.format();
            read(format, async |it| amend::run(it, amend, out).await).await?;
        }
        Some(Command::Cancel(cancel)) => {
            let format = cancel.trade.output.format();
            read(format, async |it| cancel::run(it, cancel, out).await).await?;
        }
        Some(Command::Watch(watch)) => {
            let format = watch.output.format();
            return read(format, async |it| watch::run(it, watch, out).await).await;
        }
        Some(Command::Show { customer, output }) => {
            let format = output.format();
            read(format, async |it| {
                show::run(it, customer, format, out).await
            })
            .await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads trades, or edits them.
async fn read<R>(
    format: Format,
    read: impl AsyncFnOnce(&Buckets<Trade>) -> Result<R, Error>,
) -> Result<R, Error> {
    Server::run(APP, async |server| {
        server.tell_if_built_in("trades", format);
        read(&filled(server).await?).await
    })
    .await
}

/// The trades to read. A development server is empty, so it first gets the built-in ones.
async fn filled(server: &Server) -> Result<Buckets<Trade>, Error> {
    let buckets = Trade::buckets(&server.database());
    if !server.is_lasting() {
        buckets.ensure().await?;
        buckets
            .insert_many(csv_input::built_in()?)
            .await?
            .into_result()?;
    }
    Ok(buckets)
}
