//! Starts a binary until it takes writes: ports, arguments, starts, replica set.

use std::{
    env,
    hash::{BuildHasher as _, RandomState},
    io, iter,
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    path::Path,
    process::Command,
};

use bson::oid::ObjectId;
use futures_util::future::try_join_all;

use super::{
    error::Error,
    member::Member,
    options::{Options, Topology},
    replica_set,
    startup::{listening, watched},
    supervisor::Supervisor,
};

/// Only a process that binds the port in the same few milliseconds can take it.
const PORT_ATTEMPTS: usize = 8;
/// Linux assigns ports from 32,768 up, other systems from 49,152 up.
const LASTING_PORTS: Range<u16> = 20_000..32_000;
const LASTING_PORT_ATTEMPTS: usize = 64;

/// A server that was started and takes writes.
#[derive(Debug)]
pub(super) struct Launched {
    pub(super) members: Vec<Member>,
    pub(super) uri: String,
    pub(super) version: String,
}

/// Starts `binary` once per member, and waits until the set takes writes.
pub(super) async fn launch(binary: &Path, options: &Options) -> Result<Launched, Error> {
    let number = match options.topology {
        Topology::ReplicaSet => options.members,
        Topology::Standalone => 1,
    };
    let starts = (0..number).map(|_| listening_process(binary, options, free_port));
    let started = try_join_all(starts).await?.into_iter();
    let members: Vec<Member> = started
        .map(|(process, port)| Member::new(process, port))
        .collect();
    let addresses: Vec<String> = members.iter().map(Member::address).collect();
    let ready = replica_set::make_ready(&addresses, options.topology);
    // There is at least one member; if another one ends, this waits for the full limit.
    let version = watched(members[0].supervisor(), ready).await?;
    let query = match options.topology {
        Topology::ReplicaSet => format!("replicaSet={}", replica_set::NAME),
        Topology::Standalone => "directConnection=true".to_owned(),
    };
    Ok(Launched {
        uri: format!("mongodb://{}/?{query}", addresses.join(",")),
        members,
        version,
    })
}

/// Starts a process that listens on a free port; tries the next port if another process takes it first.
async fn listening_process(
    binary: &Path,
    options: &Options,
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

/// A free port below those that the system assigns to outgoing connections. Otherwise a client that looks for
/// a killed server could take its port before the server is started again.
fn free_port() -> io::Result<u16> {
    let listens = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let drawn = || LASTING_PORTS.start + drawn_number() % (LASTING_PORTS.end - LASTING_PORTS.start);
    let mut ports = iter::repeat_with(drawn).take(LASTING_PORT_ATTEMPTS);
    match ports.find(listens) {
        Some(port) => Ok(port),
        None => Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
            .local_addr()?
            .port()),
    }
}

/// A number that differs from process to process, so that they do not try the same ports.
fn drawn_number() -> u16 {
    let [high, low, ..] = RandomState::new().hash_one(0).to_be_bytes();
    u16::from_be_bytes([high, low])
}

/// `mongod` takes it only once.
const OPLOG_SIZE: &str = "--oplogSize";

fn command(binary: &Path, folder: &Path, port: u16, options: &Options) -> Command {
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
        command.args(["--replSet", replica_set::NAME]);
        if !options.arguments.iter().any(|it| it == OPLOG_SIZE) {
            // Without a size the oplog may grow to 5 % of the disk.
            command.args([OPLOG_SIZE, "1024"]);
        }
    }
    command.args(&options.arguments);
    command
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::testing::find_binary::Environment;

    /// Needs a `mongod`.
    #[tokio::test]
    #[ignore = "starts a server"]
    async fn a_port_taken_in_the_meantime_is_replaced() {
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
        let options = Options {
            topology: Topology::Standalone,
            ..Options::default()
        };
        let (_server, port) = listening_process(&binary, &options, choose).await.unwrap();
        assert_ne!(port, taken);
        assert!(!first.get());
    }
}
