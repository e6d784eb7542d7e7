//! From a binary to a server that takes writes: port, arguments, start, replica set.

use std::{
    env, io,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    pin::pin,
    process::Command,
    time::{Duration, Instant},
};

use bson::{Document, doc, oid::ObjectId};
use mongodb::Client;
use tokio::time;

use super::{
    builder::{DevServerBuilder, Topology},
    error::{Error, last_lines},
    supervisor::Supervisor,
};

const START_LIMIT: Duration = Duration::from_secs(60);
const POLL_PAUSE: Duration = Duration::from_millis(20);
/// A free port is lost only to a process that binds it in the same few milliseconds.
const PORT_ATTEMPTS: usize = 8;
const LOG_LINES: usize = 10;
const REPLICA_SET: &str = "rs0";

/// A server that was started and takes writes.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) supervisor: Supervisor,
    pub(super) uri: String,
    pub(super) version: String,
}

/// Starts `binary` and waits until it takes writes.
pub(super) async fn launch(binary: &Path, options: &DevServerBuilder) -> Result<Launched, Error> {
    let (supervisor, port) = listening_process(binary, options, free_port).await?;
    let made_ready = make_ready(port, options.topology);
    let version = watched(&supervisor, made_ready).await?;
    let query = match options.topology {
        Topology::ReplicaSet => format!("replicaSet={REPLICA_SET}"),
        Topology::Standalone => "directConnection=true".to_owned(),
    };
    Ok(Launched {
        supervisor,
        uri: format!("mongodb://127.0.0.1:{port}/?{query}"),
        version,
    })
}

/// A process that listens on its port; if another was faster to take the port, the next one.
async fn listening_process(
    binary: &Path,
    options: &DevServerBuilder,
    choose_port: impl Fn() -> io::Result<u16>,
) -> Result<(Supervisor, u16), Error> {
    for _ in 0..PORT_ATTEMPTS {
        let port = choose_port().map_err(|source| Error::Port { source })?;
        let folder = format!("bucket-mongo-{}-{}", std::process::id(), ObjectId::new());
        let folder = std::path::absolute(env::temp_dir().join(folder))
            .map_err(|source| Error::Supervisor { source })?;
        let command = command(binary, &folder, port, options);
        let supervisor = Supervisor::start(folder, &command).await?;
        match watched(&supervisor, listening(&supervisor)).await {
            Ok(()) => return Ok((supervisor, port)),
            Err(Error::Exited { log, .. }) if log.contains("Address already in use") => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::Port {
        source: io::ErrorKind::AddrInUse.into(),
    })
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn command(binary: &Path, folder: &Path, port: u16, options: &DevServerBuilder) -> Command {
    let mut command = Command::new(binary);
    command.arg("--dbpath").arg(folder);
    command.args(["--bind_ip", "127.0.0.1", "--port", &port.to_string()]);
    command.args([
        "--nounixsocket",
        "--setParameter",
        "diagnosticDataCollectionEnabled=false",
    ]);
    let cache_gib = f64::from(options.cache_mib) / 1024.0;
    command.args(["--wiredTigerCacheSizeGB", &cache_gib.to_string()]);
    if options.topology == Topology::ReplicaSet {
        // Without a size the oplog may grow to 5 % of the disk.
        command.args(["--replSet", REPLICA_SET, "--oplogSize", "1024"]);
    }
    command.args(&options.arguments);
    command
}

/// The result of `step`, or an error as soon as the process has ended or is too slow.
async fn watched<T>(
    supervisor: &Supervisor,
    step: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let start = Instant::now();
    let mut step = pin!(step);
    loop {
        if let Ok(result) = time::timeout(POLL_PAUSE, &mut step).await {
            return result;
        }
        if supervisor.has_ended() {
            let log = telling_lines(&supervisor.last_words().await);
            return Err(Error::Exited {
                binary: supervisor.program(),
                log,
            });
        }
        if start.elapsed() > START_LIMIT {
            let log = telling_lines(&read_log(supervisor).await);
            return Err(Error::Timeout {
                binary: supervisor.program(),
                limit: START_LIMIT,
                log,
            });
        }
    }
}

/// The lines of a server's log that are no routine messages; without any, the last ones.
///
/// The cause of an end is followed by twenty routine messages about the shutdown.
fn telling_lines(log: &str) -> String {
    let routine = |line: &&str| line.contains(r#""s":"I""#) || line.contains(r#""s":"W""#);
    let telling: Vec<&str> = log.lines().filter(|line| !routine(line)).collect();
    let log = if telling.is_empty() {
        log.to_owned()
    } else {
        telling.join("\n")
    };
    last_lines(&log, LOG_LINES)
}

async fn read_log(supervisor: &Supervisor) -> String {
    let log = tokio::fs::read(supervisor.log()).await.unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}

/// Waits until the process itself says so: an answer on the port could be another server's.
async fn listening(supervisor: &Supervisor) -> Result<(), Error> {
    loop {
        // "Waiting for connections" since 4.4, "waiting for connections" before.
        if read_log(supervisor)
            .await
            .contains("aiting for connections")
        {
            return Ok(());
        }
        time::sleep(POLL_PAUSE).await;
    }
}

/// Makes the server a primary if it is to be one, and returns its version.
async fn make_ready(port: u16, topology: Topology) -> Result<String, Error> {
    let failed = |doing| move |source| Error::Command { doing, source };
    let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
    let client = Client::with_uri_str(uri)
        .await
        .map_err(failed("connecting to the server"))?;
    let admin = client.database("admin");
    if topology == Topology::ReplicaSet {
        let host = format!("127.0.0.1:{port}");
        let config = doc! { "_id": REPLICA_SET, "members": [{ "_id": 0, "host": host }] };
        let initiate = admin.run_command(doc! { "replSetInitiate": config });
        initiate.await.map_err(failed("starting the replica set"))?;
    }
    loop {
        let hello = admin.run_command(doc! { "hello": 1 }).await;
        let hello = hello.map_err(failed("asking the server for its role"))?;
        if hello.get_bool("isWritablePrimary").unwrap_or(false) {
            break;
        }
        time::sleep(POLL_PAUSE).await;
    }
    let version = version(&client)
        .await
        .map_err(failed("asking the server for its version"))?;
    client.shutdown().immediate(true).await;
    Ok(version)
}

/// The server's version, such as `6.0.5`.
pub(super) async fn version(client: &Client) -> mongodb::error::Result<String> {
    let info: Document = client
        .database("admin")
        .run_command(doc! { "buildInfo": 1 })
        .await?;
    Ok(info.get_str("version").unwrap_or("unknown").to_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::testing::find::Environment;

    /// Needs a `mongod`.
    #[tokio::test]
    #[ignore = "starts a server"]
    async fn a_port_that_was_taken_meanwhile_is_replaced() {
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let taken = other.local_addr().unwrap().port();
        let first = Cell::new(true);
        let choose = || {
            if first.replace(false) {
                Ok(taken)
            } else {
                free_port()
            }
        };
        let (_, binary) = Environment::read().binary("").await.unwrap();
        let options = DevServerBuilder::default().standalone();
        let (_server, port) = listening_process(&binary, &options, choose).await.unwrap();
        assert_ne!(port, taken);
        assert!(!first.get());
    }
}
