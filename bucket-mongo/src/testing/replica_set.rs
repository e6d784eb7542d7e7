//! A replica set of started processes: its initiation, and the roles of its members.

use std::time::Duration;

use bson::{Document, doc, oid::ObjectId};
use futures_util::future::join_all;
use mongodb::{Client, options::ClientOptions};
use tokio::time;

use super::{error::Error, options::Topology};

pub(super) const NAME: &str = "rs0";
const POLL_PAUSE: Duration = Duration::from_millis(20);
/// How long a member has to answer with its role: connecting takes a while on a busy machine.
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
/// How long a command waits for the member to be there.
const SELECTION_LIMIT: Duration = Duration::from_secs(10);
/// For several members: short, because tests wait for every failover, but long enough for a busy machine.
const ELECTION_TIMEOUT_MS: i32 = 2_000;
const HEARTBEAT_INTERVAL_MS: i32 = 500;

/// The role that a server reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// With the id of the election, which grows with each election. A standalone server has none.
    Primary(Option<ObjectId>),
    Secondary,
    Other,
}

/// Makes the servers a replica set if the topology asks for one, waits until each has its role in it, and
/// returns their version.
pub(super) async fn make_ready(addresses: &[String], topology: Topology) -> Result<String, Error> {
    let client = direct_client(&addresses[0]).await?;
    if topology == Topology::ReplicaSet {
        let initiate = doc! { "replSetInitiate": config(addresses) };
        let initiated = client.database("admin").run_command(initiate).await;
        initiated.map_err(failed("starting the replica set"))?;
    }
    loop {
        let roles = join_all(addresses.iter().map(|address| role(address))).await;
        let in_place = roles.iter().all(|role| *role != Role::Other);
        if in_place && roles.iter().any(|role| matches!(role, Role::Primary(_))) {
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

fn config(addresses: &[String]) -> Document {
    let members = (0_i32..).zip(addresses);
    let members: Vec<Document> = members
        .map(|(id, host)| doc! { "_id": id, "host": host })
        .collect();
    let several = members.len() > 1;
    let mut config = doc! { "_id": NAME, "members": members };
    if several {
        config.insert(
            "settings",
            doc! {
                "electionTimeoutMillis": ELECTION_TIMEOUT_MS,
                "heartbeatIntervalMillis": HEARTBEAT_INTERVAL_MS,
            },
        );
    }
    config
}

/// The role of a server; [`Role::Other`] as well if it does not answer soon.
pub(super) async fn role(address: &str) -> Role {
    let ask = async {
        let client = direct_client(address).await.ok()?;
        let admin = client.database("admin");
        let hello = admin.run_command(doc! { "hello": 1 }).await;
        client.shutdown().immediate(true).await;
        hello.ok()
    };
    let Ok(Some(hello)) = time::timeout(ANSWER_LIMIT, ask).await else {
        return Role::Other;
    };
    let is = |role| hello.get_bool(role).unwrap_or(false);
    if is("isWritablePrimary") {
        Role::Primary(hello.get_object_id("electionId").ok())
    } else if is("secondary") {
        Role::Secondary
    } else {
        Role::Other
    }
}

/// Makes the primary at this address step down for some seconds.
pub(super) async fn step_down(address: &str, pause: Duration) -> Result<(), Error> {
    let client = direct_client(address).await?;
    let seconds = i64::try_from(pause.as_secs()).unwrap_or(i64::MAX);
    let step_down = doc! { "replSetStepDown": seconds, "force": true };
    let stepped_down = client.database("admin").run_command(step_down).await;
    client.shutdown().immediate(true).await;
    stepped_down.map_err(failed("making the primary step down"))?;
    Ok(())
}

/// The server's version, such as `6.0.5`.
pub(super) async fn version(client: &Client) -> mongodb::error::Result<String> {
    let info: Document = client
        .database("admin")
        .run_command(doc! { "buildInfo": 1 })
        .await?;
    Ok(info.get_str("version").unwrap_or("unknown").to_owned())
}

async fn direct_client(address: &str) -> Result<Client, Error> {
    let uri = format!("mongodb://{address}/?directConnection=true");
    let connect = async {
        let mut options = ClientOptions::parse(uri).await?;
        options.server_selection_timeout = Some(SELECTION_LIMIT);
        Client::with_options(options)
    };
    connect.await.map_err(failed("connecting to the server"))
}

fn failed(doing: &'static str) -> impl Fn(mongodb::error::Error) -> Error {
    move |source| Error::Command { doing, source }
}
