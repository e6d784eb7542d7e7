//! The options of a development server, and its start.

use std::{ffi::OsString, pin::Pin};

use super::{
    dev_server::DevServer,
    error::Error,
    find_binary::Environment,
    launch,
    options::{Options, SMALLEST_CACHE, Topology},
};

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
    options: Options,
    choice: Choice,
}

/// Which servers may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Any,
    Own,
}

impl Default for DevServerBuilder {
    fn default() -> Self {
        Self {
            options: Options::default(),
            choice: Choice::Any,
        }
    }
}

impl DevServerBuilder {
    /// Adds one argument to the command line of `mongod`, after the fixed arguments.
    ///
    /// The server must stay in the foreground and write its log to the standard output, so no
    /// `--fork`, `--logpath` or `--syslog`. `--oplogSize`, with its value as the next argument, replaces the size of
    /// 1,024 MB.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().argument("--notablescan").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.options.arguments.push(argument.into());
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
        let arguments = arguments.into_iter().map(Into::into);
        self.options.arguments.extend(arguments);
        self
    }

    /// Sets the size of the `WiredTiger` cache in MiB: 256 if not set, which is the minimum.
    ///
    /// What one write changes must fit in a seventh of it: the documents, their keys in indexes, and their entries
    /// in the oplog. In 256 MiB a document of nearly 16 MB does not, and its write is broken off or takes minutes.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().cache_mib(1024).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cache_mib(mut self, size: u32) -> Self {
        self.options.cache_mib = size.max(SMALLEST_CACHE);
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
        self.options.topology = Topology::Standalone;
        self
    }

    /// Starts a replica set with this number of members, for failover tests: 1 if not set, 7 at most.
    ///
    /// Each member is a process with a folder and a cache of its own. A lost primary is replaced within a few
    /// seconds. [`DevServer::members`] lets a test kill or pause them one by one.
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
        self.options.members = number.clamp(1, MOST_MEMBERS);
        self
    }

    /// Starts a server even if `MONGODB_URI` is set, for tests that disturb or kill it.
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
            (_, Choice::Own) => "not used: this test asks for a server of its own",
            (None, Choice::Any) => "it is not set",
        };
        let (origin, binary) = environment.binary(uri_reason).await?;
        let launched = launch::launch(&binary, &self.options).await?;
        tracing::debug!(%origin, uri = launched.uri, "started a development server");
        Ok(DevServer::of_process(origin, launched))
    }
}

impl DevServer {
    /// Finds or starts a server and waits until it takes writes.
    ///
    /// That takes 1 to 2 seconds if a binary is available; the first start also downloads 42 MB. The future
    /// must run in a Tokio runtime with I/O and time enabled.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is neither a server nor a binary, [`Error::Uri`] and [`Error::NotUsable`]
    /// for an invalid `MONGODB_URI` or `MONGOD`; [`Error::Exited`], [`Error::Timeout`] (60 s),
    /// [`Error::Port`], [`Error::Supervisor`] or [`Error::Command`] if the start failed.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// let server = bucket_mongo::testing::DevServer::start().await?;
    /// println!("{} at {}", server.origin(), server.uri());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn start() -> Result<Self, Error> {
        Self::builder().await
    }

    /// Returns options for a server; awaiting them is [`start`](Self::start) with these options.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// # use bucket_mongo::testing::DevServer;
    /// let server = DevServer::builder().own().standalone().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder() -> DevServerBuilder {
        DevServerBuilder::default()
    }
}

impl IntoFuture for DevServerBuilder {
    type Output = Result<DevServer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}
