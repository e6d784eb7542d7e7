//! The main job: the real trades and the manual's own, loaded into a fresh database and shown.

mod manual;
mod story;

use std::io::Write;

use bucket_mongo::Bucketed as _;

use crate::{error::Error, model::Trade, server::Server};

/// Tells the story and removes the database, however the story ends.
pub(super) async fn run(out: &mut impl Write) -> Result<(), Error> {
    let server = Server::start().await?;
    let database = server.fresh_database().await?;
    let trades = Trade::buckets(&database);
    let told = tokio::select! {
        told = story::tell(&server, &trades, out) => told,
        _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
    };
    let dropped = database.drop_database().await;
    told?;
    Ok(dropped?)
}
