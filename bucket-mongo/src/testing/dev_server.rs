//! The development server: the value that its users hold.

use std::{fmt, time::Duration};

use futures_util::future::try_join_all;
use mongodb::{Client, options::ClientOptions};

use super::{
    database::TestDatabase, error::Error, launch::Launched, member::Member, origin::Origin,
    replica_set,
};

/// How long to look for the server of `MONGODB_URI`, if the URI does not say.
const SELECTION_LIMIT: Duration = Duration::from_secs(10);

/// A `MongoDB` server for tests, examples and development.
///
/// The [module's documentation](super) says where it comes from. Dropping it kills a started server and
/// blocks the thread until its folder is removed, usually for less than 0.2 s, at most for 10 s. The server
/// of `MONGODB_URI` is not touched.
///
/// ```no_run
/// use bucket_mongo::testing::DevServer;
/// use mongodb::bson::doc;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let server = DevServer::start().await?;
/// let database = server.database("orders").await?;
/// database.collection("orders").insert_one(doc! { "_id": 1 }).await?;
/// # Ok(())
/// # }
/// ```
pub struct DevServer {
    origin: Origin,
    uri: String,
    version: String,
    members: Vec<Member>,
}

impl fmt::Debug for DevServer {
    /// Leaves out the connection string, which can hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevServer")
            .field("origin", &self.origin)
            .field("version", &self.version)
            .field("process_id", &self.process_id())
            .finish_non_exhaustive()
    }
}

impl DevServer {
    /// The connection string, with everything that a driver needs to know. It can hold a password
    /// if it comes from `MONGODB_URI`.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_mongo::testing::DevServer) {
    /// println!("mongosh '{}'", server.uri());
    /// # }
    /// ```
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Makes a new client. It belongs to the runtime that it was made in, so each `#[tokio::test]` needs
    /// a client of its own.
    ///
    /// # Errors
    /// [`Error::Command`] if the connection string cannot be resolved. The call makes no connection.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: &bucket_mongo::testing::DevServer,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// let database = server.client().await?.database("shop");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn client(&self) -> Result<Client, Error> {
        let doing = "making a client";
        Client::with_uri_str(self.uri())
            .await
            .map_err(|source| Error::Command { doing, source })
    }

    /// Makes a database handle with a unique name that begins with `prefix`, on a new client.
    ///
    /// # Errors
    /// As [`client`](Self::client). The server creates the database with its first collection.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: &bucket_mongo::testing::DevServer,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// let database = server.database("orders_are_kept").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn database(&self, prefix: &str) -> Result<TestDatabase, Error> {
        Ok(TestDatabase::new(&self.client().await?, prefix))
    }

    /// Whether this value started the server; if not, it is the server of `MONGODB_URI`.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_mongo::testing::DevServer) {
    /// if !server.is_started() {
    ///     println!("the data stay on the server");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn is_started(&self) -> bool {
        !self.members.is_empty()
    }

    /// The server's version, such as `6.0.5`.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_mongo::testing::DevServer) {
    /// println!("MongoDB {}", server.version());
    /// # }
    /// ```
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where the server comes from, for people to read.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_mongo::testing::DevServer) {
    /// println!("using {}", server.origin());
    /// # }
    /// ```
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The process id of a started `mongod`, also after it was killed; the first one if there are several.
    ///
    /// ```no_run
    /// # fn example(server: &bucket_mongo::testing::DevServer) {
    /// if let Some(id) = server.process_id() {
    ///     println!("perf top -p {id}");
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.members.first().map(Member::process_id)
    }

    /// Kills a started server as `kill -9` does and waits until it is gone, for tests of a lost server. Its
    /// data are gone too, and the value cannot start it again. A second call does nothing.
    ///
    /// # Errors
    /// [`Error::NotStarted`] for the server of `MONGODB_URI`; [`Error::NotStopped`] if it takes
    /// more than 10 s.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// let server = bucket_mongo::testing::DevServer::builder().own().await?;
    /// server.kill().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn kill(&self) -> Result<(), Error> {
        if self.members.is_empty() {
            return Err(Error::NotStarted);
        }
        let stops = self.members.iter().map(|member| member.supervisor().stop());
        try_join_all(stops).await?;
        Ok(())
    }

    /// The processes of a started server, one unless it has [more](super::DevServerBuilder::members). A test
    /// can kill and restart, or pause and resume, each of them. Empty for the server of `MONGODB_URI`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
    /// let server = bucket_mongo::testing::DevServer::builder().own().members(3).await?;
    /// for member in server.members() {
    ///     println!("{} is process {}", member.address(), member.process_id());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The user's server, if it answers.
    pub(super) async fn of_uri(uri: &str) -> Result<Self, Error> {
        let ask = async {
            let mut options = ClientOptions::parse(uri).await?;
            options
                .server_selection_timeout
                .get_or_insert(SELECTION_LIMIT);
            let client = Client::with_options(options)?;
            let version = replica_set::version(&client).await?;
            client.shutdown().immediate(true).await;
            Ok(version)
        };
        let version = ask.await.map_err(|source| Error::Uri { source })?;
        Ok(Self {
            origin: Origin::Uri,
            uri: uri.to_owned(),
            version,
            members: Vec::new(),
        })
    }

    /// A server that was started here.
    pub(super) fn of_process(origin: Origin, launched: Launched) -> Self {
        let Launched {
            members,
            uri,
            version,
        } = launched;
        Self {
            origin,
            uri,
            version,
            members,
        }
    }
}
