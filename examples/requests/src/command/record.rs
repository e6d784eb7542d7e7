//! `requests record`: the same requests into a database that stays.

use std::{io::Write, pin::pin, time::Duration};

use bucket_mongo::Bucketed as _;
use example_kit::{Error, Server, cli::Format, signal::Signals};

use crate::{
    APP, endpoint,
    model::Request,
    table,
    writers::{self, Stop},
};

/// How long requests in flight may take to end after a signal.
const GRACE: Duration = Duration::from_secs(5);

pub(super) async fn run(out: &mut impl Write) -> Result<(), Error> {
    Server::run(APP, async |server| record(server, out).await).await
}

async fn record(server: &Server, out: &mut impl Write) -> Result<(), Error> {
    let requests = Request::buckets(&server.database());
    let ensured = requests.ensure().await?;
    if !ensured.drift.is_empty() {
        Format::Text.note(&ensured.to_string());
    }
    let mut signals = Signals::listen();
    let stop = Stop::default();
    let mut writing = pin!(writers::run(&requests, &stop));
    let (written, signal) = tokio::select! {
        written = &mut writing => (written?, None),
        signal = signals.first() => {
            stop.now();
            (tokio::time::timeout(GRACE, writing).await.unwrap_or(Err(Error::Interrupted(signal)))?, Some(signal))
        }
    };
    write!(
        out,
        "{}",
        table::endpoints(&endpoint::all(&requests).await?)
    )?;
    if !server.is_lasting() {
        Format::Text
            .note("MONGODB_URI is not set: the requests go away with the development server");
    }
    let Some(signal) = signal else {
        return Ok(());
    };
    if server.is_lasting() {
        let all = writers::WRITERS * writers::REQUESTS as u64;
        Format::Text.note(&format!(
            "{} of {all} requests were recorded and stay; `{APP} record` records all of them again, \
             behind these",
            written.requests
        ));
    }
    Err(Error::Interrupted(signal))
}
