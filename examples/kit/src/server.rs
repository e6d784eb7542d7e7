//! Which server: the user's, or a development server that goes away with the program.

use std::fmt;

use bucket_mongo::{
    mongodb::Database,
    testing::{DevServer, DevServerBuilder, TestDatabase},
};

use crate::{cli::Format, error::Error, text};

/// The server of `MONGODB_URI`, or a development server.
#[derive(Debug)]
pub struct Server {
    server: DevServer,
    app: &'static str,
}

impl Server {
    /// Finds or starts the server of an app.
    pub async fn start(app: &'static str) -> Result<Self, Error> {
        Self::with(app, DevServer::builder()).await
    }

    /// The same; a server that is started gets these options.
    pub async fn with(app: &'static str, options: DevServerBuilder) -> Result<Self, Error> {
        Ok(Self {
            server: options.await?,
            app,
        })
    }

    /// Whether data stay when this program ends.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !self.server.is_started()
    }

    /// The server's version, such as `6.0.5`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.server.version()
    }

    /// The database that the path of `MONGODB_URI` names, or the one called as the app.
    pub async fn database(&self) -> Result<Database, Error> {
        let client = self.server.client().await?;
        Ok(client
            .default_database()
            .unwrap_or_else(|| client.database(self.app)))
    }

    /// A database that nobody else has.
    pub async fn fresh_database(&self) -> Result<TestDatabase, Error> {
        Ok(self.server.database(self.app).await?)
    }

    /// Says whose records a reading command shows, where they are not the user's.
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
        write!(
            f,
            "MongoDB {}: {}",
            self.server.version(),
            self.server.origin()
        )
    }
}
