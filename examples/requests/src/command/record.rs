//! `requests record`: the same requests into a database that stays.

use std::io::Write;

use bucket_mongo::Bucketed as _;
use example_kit::{Error, Server, cli::Format};

use crate::{APP, endpoint, model::Request, table, writers};

pub(super) async fn run(out: &mut impl Write) -> Result<(), Error> {
    Server::run(APP, async |server| record(server, out).await).await
}

async fn record(server: &Server, out: &mut impl Write) -> Result<(), Error> {
    let requests = Request::buckets(&server.database());
    let ensured = requests.ensure().await?;
    if !ensured.drift.is_empty() {
        Format::Text.note(&ensured.to_string());
    }
    writers::run(&requests).await?;
    write!(
        out,
        "{}",
        table::endpoints(&endpoint::all(&requests).await?)
    )?;
    if !server.is_lasting() {
        Format::Text
            .note("MONGODB_URI is not set: the requests go away with the development server");
    }
    Ok(())
}
