//! The flat collection of `backfill` and `compare`, and what is said of its documents.

use bucket_mongo::{Bucketed, action::RejectedDocument, bson::Document, mongodb::Collection};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    at::At,
    connect::{OF_SOURCE, connect},
    error::Error,
    json,
    out::{Out, Tone},
    shell,
    table::{Table, left},
    text::printable,
};

/// The options that name it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Flat {
    /// The flat collection, which has a document for each record
    #[arg(value_name = "COLLECTION")]
    collection: String,
    /// The database of that collection, if it is not the one of the buckets
    #[arg(long, value_name = "NAME")]
    source_database: Option<String>,
    /// The connection string of its servers, if they are not those of the buckets
    #[arg(
        long,
        value_name = "URI",
        env = "SOURCE_MONGODB_URI",
        hide_env_values = true
    )]
    source_uri: Option<String>,
    /// A field of its documents that the records do not keep, such as `__v`; may be given several times
    #[arg(long = "ignore", value_name = "FIELD")]
    pub(crate) ignored: Vec<String>,
}

impl Flat {
    pub(crate) async fn open<T: Bucketed>(
        &self,
        at: &At<'_, T>,
    ) -> Result<Collection<Document>, Error> {
        let of_buckets = at.buckets.collection::<Document>().namespace().db;
        let (client, named) = match &self.source_uri {
            Some(uri) => connect(uri, OF_SOURCE).await?,
            None => (at.client.clone(), None),
        };
        let database = self.source_database.clone().or(named);
        let database = client.database(&database.unwrap_or(of_buckets));
        Ok(database.collection(&self.collection))
    }
}

/// The JSON of documents that are no records.
pub(crate) fn rejects(rejects: &[RejectedDocument]) -> Value {
    let line = |one: &RejectedDocument| json!({ "id": json::value(&one.id), "reason": one.reason });
    rejects.iter().map(line).collect()
}

/// Shows documents that are no records, a line each.
pub(crate) fn show_rejects(out: &mut Out, rejects: &[RejectedDocument]) -> Result<(), Error> {
    for one in rejects {
        let line = format!("{}: {}", shell::line(&one.id), one.reason);
        out.toned(Tone::Bad, &printable(&line))?;
    }
    Ok(())
}

/// The same as a table.
pub(crate) fn rejects_table(rejects: &[RejectedDocument]) -> Table {
    let mut table = Table::new(["id", "reason"]);
    for one in rejects {
        table.row(vec![left(shell::cell(&one.id)), left(one.reason.as_str())]);
    }
    table
}
