//! The main job: a demonstration in a database of its own.

use std::{fmt, io::Write, time::Duration};

use bucket_mongo::mongodb::{self, Database};

use crate::{
    error::Error,
    server::{self, Server},
    signal::Signals,
};

/// How often a database that reappears is dropped.
const ATTEMPTS: usize = 50;
/// How many checks in a row must find no database before the job is done.
const QUIET: usize = 5;
/// After this time, the server has started all requests that were sent to it.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to try to drop the database of an interrupted demonstration: the server may be gone.
const LIMIT: Duration = Duration::from_secs(15);

/// Runs the demonstration and drops the database, whether it succeeds or fails.
pub async fn run<W: Write>(
    app: &'static str,
    out: &mut W,
    story: impl AsyncFnOnce(&Database, &mut W) -> Result<(), Error>,
) -> Result<(), Error> {
    Server::run(app, async |server| on(server, out, story).await).await
}

/// Does the same on a server that the app chose.
pub async fn on<W: Write, E: From<Error> + fmt::Display>(
    server: &Server,
    out: &mut W,
    story: impl AsyncFnOnce(&Database, &mut W) -> Result<(), E>,
) -> Result<(), E> {
    let mut signals = Signals::listen();
    let database = server.fresh_database().await?;
    writeln!(out, "{server}").map_err(Error::Output)?;
    let name = database.name();
    writeln!(out, "database `{name}`, dropped at the end\n").map_err(Error::Output)?;
    let told = tokio::select! {
        told = story(&database, out) => told,
        signal = signals.first() => Err(Error::Interrupted(signal).into()),
    };
    let removed = match &told {
        Ok(()) => database.drop().await.map_err(Error::from),
        // It goes away with the server.
        Err(_) if !server.is_lasting() => Ok(()),
        Err(_) => remove_in_time(&database).await,
    };
    server::end(database.client()).await;
    match (told, removed) {
        (told, Ok(())) => told,
        (told, Err(reason)) => Err(Error::NotRemoved {
            database: name.to_owned(),
            reason: Box::new(reason),
            cause: told.err().map(|cause| cause.to_string()),
        }
        .into()),
    }
}

async fn remove_in_time(database: &Database) -> Result<(), Error> {
    match tokio::time::timeout(LIMIT, remove_for_good(database)).await {
        Ok(removed) => Ok(removed?),
        Err(_) => Err(Error::Unexpected("the server does not answer".to_owned())),
    }
}

/// Drops the database of an interrupted demonstration. Requests that it sent before are still
/// executed, and create the database again.
async fn remove_for_good(database: &Database) -> mongodb::error::Result<()> {
    let mut empty = 0;
    for _ in 0..ATTEMPTS {
        database.drop().await?;
        tokio::time::sleep(PAUSE).await;
        if database.list_collection_names().await?.is_empty() {
            empty += 1;
        } else {
            empty = 0;
        }
        if empty == QUIET {
            break;
        }
    }
    Ok(())
}
