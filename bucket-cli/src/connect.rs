//! The connection.

use std::time::Duration;

use bucket_mongo::mongodb::{Client, error::ErrorKind, options::ClientOptions};

use crate::{error::Error, secret::without_secrets};

/// How long to look for a server, if the connection string does not say.
const SELECTION: Duration = Duration::from_secs(10);

/// What a connection string looks like.
const FORM: &str = "it is mongodb://USER:PASSWORD@HOST/DATABASE?OPTION=VALUE, and the characters `:/?#[]@%` of a user or a password \
    are percent-encoded";

/// The connection string of the buckets.
pub(crate) const OF_BUCKETS: &str = "the connection string (MONGODB_URI or --uri)";
/// That of a flat collection.
pub(crate) const OF_SOURCE: &str =
    "the connection string of the source (SOURCE_MONGODB_URI or --source-uri)";

/// A client, and the database that the connection string names. Errors say which one it is.
pub(crate) async fn connect(
    uri: &str,
    doing: &'static str,
) -> Result<(Client, Option<String>), Error> {
    let parsed = ClientOptions::parse(uri).await;
    let mut options = match parsed {
        Ok(options) => options,
        Err(error) if matches!(*error.kind, ErrorKind::InvalidArgument { .. }) => {
            let message = match cause(uri).await {
                Some(cause) => format!("{doing} is malformed: {cause}; {FORM}"),
                None => format!("{doing} is malformed: {FORM}"),
            };
            return Err(Error::Failed(message));
        }
        Err(error) => return Err(Error::driver(doing)(error)),
    };
    options.server_selection_timeout.get_or_insert(SELECTION);
    options.app_name.get_or_insert_with(|| "bucket-cli".into());
    let database = options.default_database.clone();
    let client = Client::with_options(options).map_err(Error::driver(doing))?;
    Ok((client, database))
}

/// What is wrong with a connection string. The driver says it of one without secrets: of the other it may quote a part of the
/// password.
async fn cause(uri: &str) -> Option<String> {
    let parsed = ClientOptions::parse(without_secrets(uri)?).await;
    match &*parsed.err()?.kind {
        ErrorKind::InvalidArgument { message, .. } => Some(message.clone()),
        other => Some(other.to_string()),
    }
}
