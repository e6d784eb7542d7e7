//! The connection, and texts without its password.

use std::time::Duration;

use bucket_mongo::mongodb::{Client, options::ClientOptions};

use crate::error::Error;

/// How long to look for a server, if the connection string does not say.
const SELECTION: Duration = Duration::from_secs(10);

/// A client, and the database that the connection string names.
pub(crate) async fn connect(uri: &str) -> Result<(Client, Option<String>), Error> {
    let doing = "the connection string (MONGODB_URI or --uri)";
    let mut options = ClientOptions::parse(uri)
        .await
        .map_err(Error::driver(doing))?;
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
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        words.push(without_secrets(word));
    }
    words.join(" ")
}

fn without_secrets(word: &str) -> String {
    let mut shown = match word.split_once("://") {
        // A password that is not encoded may hold `/` or `@`: what is before the last one goes.
        Some((scheme, rest)) if scheme.contains("mongodb") => match rest.rsplit_once('@') {
            Some((_, hosts)) => format!("{scheme}://{HIDDEN}@{hosts}"),
            None => word.to_owned(),
        },
        _ => word.to_owned(),
    };
    for option in SECRET {
        let Some(at) = shown.to_ascii_lowercase().find(option) else {
            continue;
        };
        let from = at + option.len();
        let to = shown[from..]
            .find('&')
            .map_or(shown.len(), |end| from + end);
        shown.replace_range(from..to, HIDDEN);
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
        ] {
            assert_eq!(redacted(text), shown);
        }
    }
}
