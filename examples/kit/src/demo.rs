//! The main job: a story that is told in a database of its own.

use std::{io::Write, time::Duration};

use bucket_mongo::mongodb::{self, Database};

use crate::{
    error::Error,
    server::{self, Server},
};

/// How often a database is removed that comes back.
const ATTEMPTS: usize = 50;
/// How often in a row nothing has come back before it is over.
const QUIET: usize = 5;
/// The time in which what was sent to the server has begun to be carried out.
const PAUSE: Duration = Duration::from_millis(100);

/// Tells the story and removes the database, however the story ends.
pub async fn run<W: Write>(
    app: &'static str,
    out: &mut W,
    story: impl AsyncFnOnce(&Database, &mut W) -> Result<(), Error>,
) -> Result<(), Error> {
    Server::run(app, async |server| on(server, out, story).await).await
}

/// The same on a server that was chosen by the app.
pub async fn on<W: Write, E: From<Error>>(
    server: &Server,
    out: &mut W,
    story: impl AsyncFnOnce(&Database, &mut W) -> Result<(), E>,
) -> Result<(), E> {
    let database = server.fresh_database().await?;
    writeln!(out, "{server}").map_err(Error::Output)?;
    let name = database.name();
    writeln!(out, "database `{name}`, dropped at the end\n").map_err(Error::Output)?;
    let told = tokio::select! {
        told = story(&database, out) => told,
        _ = tokio::signal::ctrl_c() => Err(Error::Interrupted.into()),
    };
    let removed = match &told {
        Ok(()) => database.drop().await,
        Err(_) => remove_for_good(&database).await,
    };
    server::end(database.client()).await;
    told?;
    removed.map_err(Error::Driver)?;
    Ok(())
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
