//! The connection, and texts without its password.

use std::time::Duration;

use bucket_mongo::mongodb::{Client, error::ErrorKind, options::ClientOptions};

use crate::error::Error;

/// How long to look for a server, if the connection string does not say.
const SELECTION: Duration = Duration::from_secs(10);

/// A client, and the database that the connection string names.
pub(crate) async fn connect(uri: &str) -> Result<(Client, Option<String>), Error> {
    let doing = "the connection string (MONGODB_URI or --uri)";
    let parsed = ClientOptions::parse(uri).await;
    let mut options = parsed.map_err(|error| match &*error.kind {
        // The text of the driver may have a part of the password.
        ErrorKind::InvalidArgument { .. } => Error::Failed(format!(
            "{doing} is malformed: it is mongodb://USER:PASSWORD@HOST/DATABASE, and the characters `:/?#[]@%` of a user or a \
             password are percent-encoded"
        )),
        _ => Error::driver(doing)(error),
    })?;
    options.server_selection_timeout.get_or_insert(SELECTION);
    options.app_name.get_or_insert_with(|| "bucket-cli".into());
    let database = options.default_database.clone();
    let client = Client::with_options(options).map_err(Error::driver(doing))?;
    Ok((client, database))
}

const HIDDEN: &str = "***";
/// Options of a connection string that hold secrets.
const SECRET: [&str; 2] = ["tlscertificatekeyfilepassword=", "authmechanismproperties="];

/// The text with `***` for the user and the password of each connection string in it.
pub(crate) fn redacted(text: &str) -> String {
    // A password that is not encoded may hold a blank, `/` or `@`: all goes up to the last `@`. Of several connection strings, what is
    // between them goes too.
    let mut shown = match text.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, hosts)) => format!("{scheme}://{HIDDEN}@{hosts}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    for option in SECRET {
        let mut begin = 0;
        // ASCII letters have the same place in both cases.
        while let Some(at) = shown[begin..].to_ascii_lowercase().find(option) {
            let from = begin + at + option.len();
            let end = shown[from..].find(['&', ' ', '`', '"']);
            let to = end.map_or(shown.len(), |end| from + end);
            shown.replace_range(from..to, HIDDEN);
            begin = from + HIDDEN.len();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_connection_string_keeps_its_password() {
        for (text, shown) in [
            (
                "error: `mongodb://me:s3cret@db:27017/shop?tls=true` failed",
                "error: `mongodb://***@db:27017/shop?tls=true` failed",
            ),
            ("mongodb+srv://u:a/b@c@host", "mongodb+srv://***@host"),
            ("mongodb://host/shop", "mongodb://host/shop"),
            (
                "mongodb://h/?tlsCertificateKeyFilePassword=x&w=1",
                "mongodb://h/?tlsCertificateKeyFilePassword=***&w=1",
            ),
            ("me@example.org", "me@example.org"),
            (
                "`mongodb://me:pa ss@h` is unknown",
                "`mongodb://***@h` is unknown",
            ),
            ("MONGODB://me:pw@h", "MONGODB://***@h"),
            ("mongdb://me:pw@h", "mongdb://***@h"),
            (
                "mongodb://me:pw@h and mongodb://you:pw@h",
                "mongodb://***@h",
            ),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }
}
