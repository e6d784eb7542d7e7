//! The options of a development server, and the way from them to the server.

use std::{ffi::OsString, pin::Pin};

use super::{error::Error, find::Environment, launch, server::DevServer};

/// The smallest cache that `mongod` takes, in MiB.
const SMALLEST_CACHE: u32 = 256;
/// The most members of a replica set that may vote.
const MOST_MEMBERS: usize = 7;

/// Options for a [`DevServer`]; `.await` starts it. Made by [`DevServer::builder`].
///
/// All options but [`own`](Self::own) are about a server that is started; they have no effect on
/// the server of `MONGODB_URI`.
///
/// ```no_run
/// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
/// use bucket_mongo::testing::DevServer;
///
/// let server = DevServer::builder().own().cache_mib(512).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it is awaited"]
pub struct DevServerBuilder {
    pub(super) arguments: Vec<OsString>,
    pub(super) cache_mib: u32,
    pub(super) topology: Topology,
    pub(super) members: usize,
    choice: Choice,
}

/// What a started server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topology {
    ReplicaSet,
    Standalone,
}

/// Which servers will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Any,
    Own,
}

impl Default for DevServerBuilder {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            cache_mib: SMALLEST_CACHE,
            topology: Topology::ReplicaSet,
            members: 1,
            choice: Choice::Any,
        }
    }
}

impl DevServerBuilder {
    /// Adds one argument to the command line of `mongod`, after those that are always there.
    ///
    /// The server must stay in the foreground and write its log to the standard output, so no
    /// `--fork`, `--logpath` or `--syslog`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().argument("--notablescan").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments to the command line of `mongod`; see [`argument`](Self::argument).
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let fail_points = ["--setParameter", "enableTestCommands=1"];
    /// let server = DevServer::builder().own().arguments(fail_points).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Sets the size of the `WiredTiger` cache in MiB: 256 if not set, which is the least there is.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().cache_mib(1024).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache_mib(mut self, size: u32) -> Self {
        self.cache_mib = size.max(SMALLEST_CACHE);
        self
    }

    /// Starts one server without a replica set: no transactions, no change streams.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().standalone().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn standalone(mut self) -> Self {
        self.topology = Topology::Standalone;
        self
    }

    /// Starts a replica set of so many members, for tests of failovers: 1 if not set, 7 at most.
    ///
    /// Each is a process with a folder and a cache of its own. A lost primary is replaced within a few
    /// seconds. [`DevServer::members`] disturbs them one by one.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().members(3).await?;
    /// server.primary().await?.kill().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn members(mut self, number: usize) -> Self {
        self.members = number.clamp(1, MOST_MEMBERS);
        self
    }

    /// Starts a server even where `MONGODB_URI` is set, for tests that disturb or kill it.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().await?;
    /// assert!(server.is_started());
    /// # Ok(())
    /// # }
    /// ```
    pub fn own(mut self) -> Self {
        self.choice = Choice::Own;
        self
    }

    async fn start(self) -> Result<DevServer, Error> {
        let environment = Environment::read();
        let uri_reason = match (&environment.uri, self.choice) {
            (Some(uri), Choice::Any) => return DevServer::of_uri(&uri.to_string_lossy()).await,
            (_, Choice::Own) => "not used here: the server must be an own one",
            (None, Choice::Any) => "it is not set",
        };
        let (origin, binary) = environment.binary(uri_reason).await?;
        let launched = launch::launch(&binary, &self).await?;
        tracing::debug!(%origin, uri = launched.uri, "started a development server");
        Ok(DevServer::of_process(origin, launched))
    }
}

impl IntoFuture for DevServerBuilder {
    type Output = Result<DevServer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}
