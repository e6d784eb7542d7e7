//! The choice of the server: the user's, or a development server that ends with the program.

use std::{fmt, time::Duration};

use bucket_mongo::{
    mongodb::{Client, Database},
    testing::{DevServer, DevServerBuilder, TestDatabase},
};

use crate::{cli::Format, error::Error, text};

/// How long operations that began on the server may take to end.
const GRACE: Duration = Duration::from_secs(5);

/// The server of `MONGODB_URI`, or a development server.
#[derive(Debug)]
pub struct Server {
    dev: DevServer,
    client: Client,
    app: &'static str,
}

impl Server {
    /// Finds or starts the server of an app and runs a job on it.
    pub async fn run<R>(
        app: &'static str,
        job: impl AsyncFnOnce(&Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        Self::run_with(app, DevServer::builder(), job).await
    }

    /// Does the same; a server that is started gets these options.
    pub async fn run_with<R, E: From<Error>>(
        app: &'static str,
        options: DevServerBuilder,
        job: impl AsyncFnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let dev = options.await.map_err(Error::from)?;
        let client = dev.client().await.map_err(Error::from)?;
        let server = Self { dev, client, app };
        let done = job(&server).await;
        end(&server.client).await;
        done
    }

    /// Whether data survive the end of this program.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !self.dev.is_started()
    }

    /// The server's version, such as `6.0.5`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.dev.version()
    }

    /// The database that the path of `MONGODB_URI` names, or one with the name of the app.
    #[must_use]
    pub fn database(&self) -> Database {
        self.client
            .default_database()
            .unwrap_or_else(|| self.client.database(self.app))
    }

    /// A new database with a unique name, on a client of its own that must be [ended](end).
    pub(crate) async fn fresh_database(&self) -> Result<TestDatabase, Error> {
        Ok(self.dev.database(self.app).await?)
    }

    /// Says whose records a reading command shows, if they are not the user's.
    pub fn tell_if_built_in(&self, records: &str, format: Format) {
        if !self.is_lasting() && format == Format::Text {
            text::complain(&format!(
                "MONGODB_URI is not set: these are the built-in {records}\n"
            ));
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MongoDB {}: {}", self.dev.version(), self.dev.origin())
    }
}

/// Ends a client. Otherwise the driver ends its sessions in a task of its own, which sometimes
/// panics when the program ends.
pub(crate) async fn end(client: &Client) {
    // Work that is still running after that, such as an interrupted demonstration, is aborted.
    let _ = tokio::time::timeout(GRACE, client.clone().shutdown()).await;
}
