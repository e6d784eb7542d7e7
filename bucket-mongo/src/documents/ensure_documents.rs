//! `ensure` for documents with attributes: creates the index of each array.

use std::fmt;

use bucket_core::{
    attribute::Attributed,
    index::{self, Drift, IndexPlan},
    write::codes::{INDEX_CONFLICTS, NAMESPACE_NOT_FOUND},
};
use mongodb::{
    bson::{Document, doc},
    error::ErrorKind as DriverKind,
};
use tracing::Instrument;

use super::Documents;
use crate::{
    Error, Result, action::ActionFuture, collection::list_indexes, error::Context, trace,
    writer::faults::code,
};

impl<T: Attributed> Documents<T> {
    /// Creates the index of each array of attributes, if it is missing.
    ///
    /// It destroys nothing and may run at every start. The call waits for indexes that are still being built.
    /// An index on the same keys under another name serves as well and is not changed, unless it does not
    /// cover every document or queries cannot use it (partial, sparse, hidden, another collation). An index
    /// that conflicts is reported as drift and not changed: filters are still correct without the model's
    /// index, but slow.
    ///
    /// It takes no session: a transaction cannot build indexes on a collection that exists.
    ///
    /// # Errors
    ///
    /// Errors of the server and of the connection.
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

/// The setup of indexes; see [`Documents::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct EnsureDocuments<'a, T: Attributed> {
    documents: &'a Documents<T>,
}

/// What [`Documents::ensure`] did.
///
/// ```
/// assert_eq!(bucket_mongo::documents::EnsureDocumentsReport::default().to_string(), "no indexes");
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EnsureDocumentsReport {
    /// The names of the indexes that were created.
    pub created_indexes: Vec<String>,
    /// The names of the indexes that already existed.
    pub found_indexes: Vec<String>,
    /// Indexes that conflict with those that the model needs, and were not changed.
    pub drift: Vec<Drift>,
}

impl fmt::Display for EnsureDocumentsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        match (
            self.created_indexes.as_slice(),
            self.found_indexes.as_slice(),
        ) {
            ([], []) if self.drift.is_empty() => f.write_str("no indexes"),
            ([], []) => f.write_str("created none"),
            ([], found) => write!(f, "found {}", named(found)),
            (created, []) => write!(f, "created {}", named(created)),
            (created, found) => write!(f, "created {}, found {}", named(created), named(found)),
        }?;
        for drift in &self.drift {
            write!(f, "\ndrift: {drift}")?;
        }
        Ok(())
    }
}

impl<T: Attributed> EnsureDocuments<'_, T> {
    async fn run(self) -> Result<EnsureDocumentsReport> {
        let context = Context::of_documents::<T>("ensure", None);
        let arrays = T::SPEC.arrays();
        let indexes = index::compare_attributes(arrays, &self.indexes(&context).await?);
        let mut report = EnsureDocumentsReport {
            found_indexes: indexes.found,
            drift: indexes.drift,
            ..EnsureDocumentsReport::default()
        };
        for plan in indexes.missing {
            let Some(conflict) = self.create(&plan, &context).await? else {
                report.created_indexes.push(plan.name);
                continue;
            };
            match index::in_the_way(&plan, &self.indexes(&context).await?) {
                Some(drift) => report.drift.push(drift),
                None => return Err(conflict),
            }
        }
        tracing::debug!(
            target: trace::ADMIN,
            created_indexes = report.created_indexes.len(),
            drift = report.drift.len(),
            "ensure",
        );
        Ok(report)
    }

    /// Creates an index; returns the server's refusal if another index conflicts with it.
    async fn create(&self, plan: &IndexPlan, context: &Context) -> Result<Option<Error>> {
        let command = doc! {
            "createIndexes": T::SPEC.collection(),
            "indexes": [plan.definition()],
        };
        let created = self.documents.database().run_command(command).await;
        let Err(error) = created else {
            return Ok(None);
        };
        let is_conflict = match error.kind.as_ref() {
            DriverKind::Command(refused) => INDEX_CONFLICTS.contains(&refused.code),
            _ => false,
        };
        let error = Error::read(error, context);
        if is_conflict {
            Ok(Some(error))
        } else {
            Err(error)
        }
    }

    async fn indexes(&self, context: &Context) -> Result<Vec<Document>> {
        let listed = list_indexes(self.documents.database(), T::SPEC.collection()).await;
        match listed {
            Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
            listed => listed.map_err(|error| Error::read(error, context)),
        }
    }
}

impl<'a, T: Attributed> IntoFuture for EnsureDocuments<'a, T> {
    type Output = Result<EnsureDocumentsReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
