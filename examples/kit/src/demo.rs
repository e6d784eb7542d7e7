//! The main job: a story that is told in a database of its own.

use std::{fmt, io::Write, time::Duration};

use bucket_mongo::mongodb::{self, Database};

use crate::{
    error::Error,
    server::{self, Server},
    signal::Signals,
};

/// How often a database is removed that comes back.
const ATTEMPTS: usize = 50;
/// How often in a row nothing has come back before it is over.
const QUIET: usize = 5;
/// The time in which what was sent to the server has begun to be carried out.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the database of a story that broke off is tried to be removed: the server may be gone.
const LIMIT: Duration = Duration::from_secs(15);

/// Tells the story and removes the database, however the story ends.
pub async fn run<W: Write>(
    app: &'static str,
    out: &mut W,
    story: impl AsyncFnOnce(&Database, &mut W) -> Result<(), Error>,
) -> Result<(), Error> {
    Server::run(app, async |server| on(server, out, story).await).await
}

/// The same on a server that was chosen by the app.
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

/// Removes the database of a story that broke off. What it had sent before is still carried out,
/// and makes the database anew.
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
