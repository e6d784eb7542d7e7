//! Records as rows of a table, and as JSON.

use bucket_mongo::{
    Bucketed,
    bson::{self, Bson, Document},
};
use serde_json::Value;

use crate::{
    error::Error,
    json, shell,
    table::{Table, left, number},
};

/// Records in their serde form.
#[derive(Debug)]
pub(crate) struct Rows {
    documents: Vec<Document>,
}

impl Rows {
    pub(crate) fn of<T: Bucketed>(records: &[T]) -> Result<Self, Error> {
        let documents = records.iter().map(document).collect::<Result<_, _>>()?;
        Ok(Self { documents })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(crate) fn json(&self) -> Vec<Value> {
        self.documents.iter().map(json::object).collect()
    }

    /// A column for each field, in the order in which they first appear.
    pub(crate) fn table(&self) -> Table {
        let mut names: Vec<&str> = Vec::new();
        for name in self.documents.iter().flat_map(Document::keys) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let mut table = Table::new(names.iter().copied());
        for document in &self.documents {
            let cell = |name: &&str| match document.get(name) {
                None => left(""),
                Some(value @ (Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_))) => {
                    number(shell::cell(value))
                }
                Some(value) => left(shell::cell(value)),
            };
            table.row(names.iter().map(cell).collect());
        }
        table
    }
}

/// A record as a document.
pub(crate) fn document<T: Bucketed>(record: &T) -> Result<Document, Error> {
    bson::serialize_to_document(record)
        .map_err(|error| Error::Failed(format!("a record cannot be shown: {error}")))
}
