//! `migrate_to_attributes` and `migrate_to_fields`: move a collection from one form to the other.

mod batch;
mod migration_report;
mod patience;
mod samples;
mod walk;

use std::fmt;

use bucket_core::attribute::{Attributed, DocumentForm, Migration};
use mongodb::bson::Bson;
use tracing::Instrument;

pub use self::migration_report::{MigrationProgress, MigrationReport, RefusedDocument};
use self::{samples::Samples, walk::Walk};
use super::Documents;
use crate::{Error, ErrorKind, Result, action::ActionFuture, error::Context, trace};

/// The default number of documents in a batch.
const BATCH_SIZE: u32 = 1_000;
/// The default number of documents that are compared.
const SAMPLES: u32 = 100;

impl<T: Attributed> Documents<T> {
    /// Moves the collection from many fields (`{volume_ml: 500}`, as serde writes the struct) to arrays of
    /// attributes (`{specs: [{k: "volume", v: 500, u: "ml"}]}`).
    ///
    /// The migration reads all documents by `_id` and changes those that have one of the fields; other fields
    /// are not touched. It changes a document only if the document still is as it was read, and otherwise
    /// reads it again, so nothing that others write in the meantime is lost. An error or a drop can stop it
    /// anywhere, and it can be started again: migrated documents stay migrated and are not changed twice.
    /// During the migration [`find`](Self::find) reads every document correctly, but a filter on attributes
    /// finds only migrated documents.
    ///
    /// A document that cannot be migrated is not changed and is named in the report
    /// ([`refused`](MigrationReport::refused)). Documents that others store in the old form after the walk
    /// has passed are counted ([`left`](MigrationReport::left)): run the migration again once no such writer
    /// runs.
    ///
    /// It takes no session: it may run for longer than a transaction may live, and it is resumed instead of rolled back.
    ///
    /// Settings: `batch_size`, `after`, `samples`, `dry_run`, `on_progress`.
    ///
    /// # Errors
    ///
    /// Errors of the server and of the connection that last for half a minute. Once anything may have been
    /// changed they are [`ErrorKind::Interrupted`], with the `_id` to continue from.
    /// [`ErrorKind::InvalidArgument`] for a batch of 0, or if a field of the struct has the name of an array.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn move_all<T: Attributed>(documents: &Documents<T>) -> Result<()> {
    ///     let report = documents
    ///         .migrate_to_attributes()
    ///         .on_progress(|done| eprint!("\r{} of about {}", done.looked_at, done.expected))
    ///         .await?;
    ///     println!("{report}");
    ///     for refused in &report.refusals {
    ///         println!("{}", refused.error);
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn migrate_to_attributes(&self) -> MigrateDocuments<'_, T> {
        self.migrate(DocumentForm::Attributes)
    }

    /// Moves the collection from arrays of attributes back to many fields, as serde writes the struct: the
    /// reverse of [`migrate_to_attributes`](Self::migrate_to_attributes), with the same settings and
    /// guarantees.
    ///
    /// A document with an entry that the struct has no field for is refused, and keeps its array. It takes no session
    /// either.
    ///
    /// # Errors
    ///
    /// As [`migrate_to_attributes`](Self::migrate_to_attributes).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Attributed, Documents, Result};
    /// async fn would_be_refused<T: Attributed>(documents: &Documents<T>) -> Result<u64> {
    ///     Ok(documents.migrate_to_fields().dry_run().await?.refused)
    /// }
    /// ```
    pub fn migrate_to_fields(&self) -> MigrateDocuments<'_, T> {
        self.migrate(DocumentForm::Fields)
    }

    fn migrate(&self, to: DocumentForm) -> MigrateDocuments<'_, T> {
        MigrateDocuments {
            documents: self,
            to,
            settings: Settings {
                batch_size: BATCH_SIZE,
                samples: SAMPLES,
                after: None,
                dry_run: false,
            },
            on_progress: Box::new(|_| {}),
        }
    }
}

/// A migration of a collection to another form; see [`Documents::migrate_to_attributes`].
#[must_use = "nothing is changed until this is awaited"]
pub struct MigrateDocuments<'a, T: Attributed> {
    documents: &'a Documents<T>,
    to: DocumentForm,
    settings: Settings,
    on_progress: Box<dyn FnMut(&MigrationProgress) + Send + 'a>,
}

#[derive(Debug)]
struct Settings {
    batch_size: u32,
    samples: u32,
    after: Option<Bson>,
    dry_run: bool,
}

impl<T: Attributed> fmt::Debug for MigrateDocuments<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MigrateDocuments")
            .field("documents", self.documents)
            .field("to", &self.to)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Attributed> MigrateDocuments<'a, T> {
    /// Sets how many documents form a batch, 1,000 by default; fewer if they are large.
    pub fn batch_size(mut self, documents: u32) -> Self {
        self.settings.batch_size = documents;
        self
    }

    /// Starts after this `_id`, such as the [`last_id`](MigrationProgress::last_id) of a run that was stopped.
    ///
    /// It saves time but is never required: a run from the beginning changes the same documents.
    pub fn after(mut self, id: impl Into<Bson>) -> Self {
        self.settings.after = Some(id.into());
        self
    }

    /// Sets about how many documents are compared, 100 by default and evenly spread: each is read again after
    /// its change and compared with what it was. 0 compares none.
    pub fn samples(mut self, documents: u32) -> Self {
        self.settings.samples = documents;
        self
    }

    /// Changes nothing: the report counts what would be changed, and what the model refuses. What the server
    /// would refuse is not known in advance.
    pub fn dry_run(mut self) -> Self {
        self.settings.dry_run = true;
        self
    }

    /// Calls `call` after each batch, with what a progress bar and a restart need.
    pub fn on_progress(mut self, call: impl FnMut(&MigrationProgress) + Send + 'a) -> Self {
        self.on_progress = Box::new(call);
        self
    }

    fn operation(&self) -> &'static str {
        match self.to {
            DocumentForm::Attributes => "migrate_to_attributes",
            DocumentForm::Fields => "migrate_to_fields",
        }
    }

    async fn run(mut self) -> Result<MigrationReport> {
        let operation = self.operation();
        let context = Context::of_documents::<T>(operation, None);
        let invalid = |message| Error::new(ErrorKind::InvalidArgument { message }, &context);
        if self.settings.batch_size == 0 {
            return Err(invalid(
                "a batch must hold at least one document".to_owned(),
            ));
        }
        let migration = Migration::new(T::SPEC, self.to);
        let migration = migration.map_err(|error| invalid(error.to_string()))?;
        let mut walk = Walk {
            database: self.documents.database(),
            documents: self.documents.stored(),
            migration,
            context: &context,
            batch_size: self.settings.batch_size,
            dry_run: self.settings.dry_run,
            samples: Samples::none(),
            last_id: self.settings.after.take(),
            has_begun: false,
            report: MigrationReport::new(self.settings.dry_run),
        };
        let expected = walk.expected().await?;
        walk.samples = Samples::new(self.settings.samples, expected);
        while walk.step().await? {
            (self.on_progress)(&walk.progress(expected));
        }
        walk.report.left = walk.left().await?;
        let report = walk.report;
        tracing::debug!(
            target: trace::ADMIN,
            documents = report.looked_at,
            changed = report.changed,
            refused = report.refused,
            left = report.left,
            "{operation}",
        );
        Ok(report)
    }
}

impl<'a, T: Attributed> IntoFuture for MigrateDocuments<'a, T> {
    type Output = Result<MigrationReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = match self.to {
            DocumentForm::Attributes => {
                tracing::debug_span!(target: trace::ADMIN, "migrate_to_attributes", collection)
            }
            DocumentForm::Fields => {
                tracing::debug_span!(target: trace::ADMIN, "migrate_to_fields", collection)
            }
        };
        Box::pin(self.run().instrument(span))
    }
}
