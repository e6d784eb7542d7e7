//! Which server: the user's, or a development server that goes away with the program.

use std::fmt;

use bucket_mongo::{
    Bucketed, Buckets,
    mongodb::Database,
    testing::{DevServer, TestDatabase},
};

use crate::{csv_input, error::Error, model::Trade};

/// The database where `MONGODB_URI` names none.
const DEFAULT_DATABASE: &str = "trades";

/// The server of `MONGODB_URI`, or a development server.
#[derive(Debug)]
pub(crate) struct Server {
    server: DevServer,
}

impl Server {
    pub(crate) async fn start() -> Result<Self, Error> {
        Ok(Self {
            server: DevServer::start().await?,
        })
    }

    /// Whether data stay when this program ends.
    pub(crate) fn is_lasting(&self) -> bool {
        !self.server.is_started()
    }

    /// The database that the path of `MONGODB_URI` names, or `trades`.
    pub(crate) async fn database(&self) -> Result<Database, Error> {
        let client = self.server.client().await?;
        Ok(client
            .default_database()
            .unwrap_or_else(|| client.database(DEFAULT_DATABASE)))
    }

    /// A database that nobody else has.
    pub(crate) async fn fresh_database(&self) -> Result<TestDatabase, Error> {
        Ok(self.server.database("trades").await?)
    }

    /// The trades to read. A development server is empty, so it gets the built-in ones first.
    pub(crate) async fn filled(&self) -> Result<Buckets<Trade>, Error> {
        let buckets = Trade::buckets(&self.database().await?);
        if !self.is_lasting() {
            buckets.ensure().await?;
            buckets
                .insert_many(csv_input::built_in()?)
                .await?
                .into_result()?;
        }
        Ok(buckets)
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
