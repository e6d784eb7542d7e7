//! A database of its own for each test, on any server.

use std::ops::Deref;

use bson::oid::ObjectId;
use mongodb::{Client, Database, options::WriteConcern};

use super::error::Error;

/// The server's limit on names of databases, in bytes.
const NAME_BYTES: usize = 63;

/// A database with a unique name. Made by [`DevServer::database`](super::DevServer::database).
///
/// It stays until [`drop_database`](Self::drop_database); on a started server it disappears with the server.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use bucket_mongo::testing::DevServer;
///
/// let server = DevServer::start().await?;
/// let database = server.database("orders").await?;
/// database.create_collection("orders").await?; // derefs to `mongodb::Database`
/// database.drop_database().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct TestDatabase {
    database: Database,
}

impl TestDatabase {
    pub(super) fn new(client: &Client, prefix: &str) -> Self {
        Self {
            database: client.database(&unique_name(prefix)),
        }
    }

    /// The driver's database.
    ///
    /// ```no_run
    /// # fn example(database: &bucket_mongo::testing::TestDatabase) {
    /// let database: &mongodb::Database = database.database();
    /// # }
    /// ```
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Removes the database and everything in it.
    ///
    /// # Errors
    /// [`Error::Command`] if the server cannot be reached or refuses the command.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     database: bucket_mongo::testing::TestDatabase,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// database.drop_database().await
    /// # }
    /// ```
    pub async fn drop_database(self) -> Result<(), Error> {
        let doing = "dropping the database";
        self.database
            .drop()
            .write_concern(WriteConcern::majority())
            .await
            .map_err(|source| Error::Command { doing, source })
    }
}

impl Deref for TestDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

/// `<prefix>_<process id>_<object id>`: the object id has the time, a random part of this process and a
/// counter. The process id shows which process created a forgotten database.
fn unique_name(prefix: &str) -> String {
    let suffix = format!("_{}_{}", std::process::id(), ObjectId::new());
    let valid = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    // One byte per character, so that the number of characters is the length in bytes.
    let mut name: String = prefix
        .chars()
        .map(valid)
        .take(NAME_BYTES - suffix.len())
        .collect();
    name.push_str(&suffix);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique_whatever_the_prefix() {
        for prefix in [
            "",
            "orders",
            "a.b/c$d e\\f\"g\0h",
            "\u{e9}t\u{e9}",
            &"long".repeat(50),
        ] {
            let name = unique_name(prefix);
            assert!(name.len() <= NAME_BYTES, "{name}");
            assert!(
                name.bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
            );
            assert_ne!(name, unique_name(prefix));
        }
        assert!(unique_name("orders").starts_with("orders_"));
    }
}
