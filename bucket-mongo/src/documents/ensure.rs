//! `ensure` of documents with attributes: the index of each array.

use std::fmt;

use bucket_core::attribute::Attributed;
use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use tracing::Instrument;

use super::Documents;
use crate::{Error, Result, action::ActionFuture, error::Context, trace};

/// The collection is not there.
const NAMESPACE_NOT_FOUND: i32 = 26;

impl<T: Attributed> Documents<T> {
    /// Creates the index of each array of attributes, where it is missing.
    ///
    /// It destroys nothing and may run at every start. An index of the same keys under another name is
    /// left as it is, and serves as well.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn start<T: Attributed>(documents: &Documents<T>) -> Result<()> {
    ///     println!("{}", documents.ensure().await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn ensure(&self) -> EnsureDocuments<'_, T> {
        EnsureDocuments { documents: self }
    }
}

/// Indexes to be created; see [`Documents::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct EnsureDocuments<'a, T: Attributed> {
    documents: &'a Documents<T>,
}

/// What [`Documents::ensure`] did.
///
/// ```
/// assert_eq!(bucket_mongo::documents::DocumentsReport::default().to_string(), "no indexes");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DocumentsReport {
    /// The names of the indexes that were created.
    pub created_indexes: Vec<String>,
    /// The names of those that were there.
    pub found_indexes: Vec<String>,
}

impl fmt::Display for DocumentsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        match (
            self.created_indexes.as_slice(),
            self.found_indexes.as_slice(),
        ) {
            ([], []) => f.write_str("no indexes"),
            ([], found) => write!(f, "found {}", named(found)),
            (created, []) => write!(f, "created {}", named(created)),
            (created, found) => write!(f, "created {}, found {}", named(created), named(found)),
        }
    }
}

impl<T: Attributed> EnsureDocuments<'_, T> {
    async fn run(self) -> Result<DocumentsReport> {
        let context = Context::of_documents::<T>("ensure", None);
        let found = self.indexes().await;
        let found = found.map_err(|error| Error::read(error, &context))?;
        let mut report = DocumentsReport::default();
        for array in T::SPEC.arrays() {
            let Some(keys) = array.index_keys().pop() else {
                continue;
            };
            let same = |index: &&Document| index.get_document("key").is_ok_and(|key| *key == keys);
            if let Some(same) = found.iter().find(same) {
                let name = same.get_str("name").unwrap_or_default();
                report.found_indexes.push(name.to_owned());
                continue;
            }
            let name = format!("attributes_{}", array.name);
            let command = doc! {
                "createIndexes": T::SPEC.collection(),
                "indexes": [{ "key": keys, "name": &name }],
            };
            let created = self.documents.database().run_command(command).await;
            created.map_err(|error| Error::read(error, &context))?;
            report.created_indexes.push(name);
        }
        tracing::debug!(
            target: trace::ADMIN,
            created_indexes = report.created_indexes.len(),
            "ensure",
        );
        Ok(report)
    }

    async fn indexes(&self) -> mongodb::error::Result<Vec<Document>> {
        let command = doc! { "listIndexes": T::SPEC.collection() };
        let cursor = self.documents.database().run_cursor_command(command).await;
        match cursor {
            Ok(cursor) => cursor.try_collect().await,
            Err(error) => match error.kind.as_ref() {
                mongodb::error::ErrorKind::Command(refused)
                    if refused.code == NAMESPACE_NOT_FOUND =>
                {
                    Ok(Vec::new())
                }
                _ => Err(error),
            },
        }
    }
}

impl<'a, T: Attributed> IntoFuture for EnsureDocuments<'a, T> {
    type Output = Result<DocumentsReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
