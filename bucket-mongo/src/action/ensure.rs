//! `ensure`: the collection and its indexes, and how they differ from the model.

use std::fmt;

use bucket_core::{
    Record,
    index::{self, Drift, IndexPlan},
    size,
};
use futures_util::TryStreamExt;
use mongodb::bson::{Document, doc};
use tracing::Instrument;

use super::{ActionFuture, number};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, trace};

/// Buckets that are looked at to learn how large a record is.
const SAMPLE: i64 = 100;
/// Another client created the collection first.
const NAMESPACE_EXISTS: i32 = 48;

impl<T: Record> Buckets<T> {
    /// Creates the collection and the indexes that the model needs, where they are missing.
    ///
    /// It destroys nothing and may run at every start, in every process at once: what is there
    /// and differs from the model is reported as drift and left alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BucketTooLarge`] if a full bucket would pass 16 MB with records of the size
    /// found in the collection, [`ErrorKind::IndexBuild`] if the collection holds two open buckets
    /// of one key.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn start<T: Bucketed>(buckets: &Buckets<T>) -> Result<()> {
    ///     let report = buckets.ensure().await?;
    ///     if !report.drift.is_empty() {
    ///         eprintln!("{report}");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn ensure(&self) -> Ensure<'_, T> {
        Ensure { buckets: self }
    }
}

/// A collection to be set up; see [`Buckets::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct Ensure<'a, T: Record> {
    buckets: &'a Buckets<T>,
}

/// What [`Buckets::ensure`] created, found and would change.
///
/// It prints as a short text, a line for each entry.
///
/// ```
/// fn is_as_modelled(report: &bucket_mongo::EnsureReport) -> bool {
///     report.drift.is_empty()
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EnsureReport {
    /// Whether the collection was created.
    pub created_collection: bool,
    /// The names of the indexes that were created.
    pub created_indexes: Vec<String>,
    /// The names of the model's indexes that were there.
    pub found_indexes: Vec<String>,
    /// What differs from the model and was left alone.
    pub drift: Vec<Drift>,
    /// Full buckets would be larger than recommended.
    pub size_warning: Option<SizeWarning>,
}

/// Full buckets pass the recommended size.
///
/// ```
/// fn print(warning: &bucket_mongo::action::SizeWarning) {
///     println!("{warning}");
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeWarning {
    /// The size of a record, in bytes: the average of stored ones, or the tutorial's estimate.
    pub record_bytes: usize,
    /// The size of a full bucket of such records, in bytes.
    pub bucket_bytes: usize,
}

impl<T: Record> Ensure<'_, T> {
    async fn run(self) -> Result<EnsureReport> {
        let context = Context {
            operation: "ensure",
            spec: T::SPEC,
            key: None,
        };
        let mut report = EnsureReport::default();
        let driver = |error| Error::read(error, &context);
        if let Some(found) = self.collection_info().await.map_err(driver)? {
            if let Some(drift) = collection_drift(&found) {
                let is_kind = matches!(drift, Drift::Kind { .. });
                report.drift.push(drift);
                if is_kind {
                    return Ok(report);
                }
            }
        } else {
            report.created_collection = self.create_collection().await.map_err(driver)?;
        }
        let record_bytes = self.record_bytes().await.map_err(driver)?;
        report.size_warning = check_size::<T>(record_bytes, &context)?;
        self.indexes(&mut report, &context).await?;
        tracing::debug!(
            target: trace::ADMIN,
            created_collection = report.created_collection,
            created_indexes = report.created_indexes.len(),
            drift = report.drift.len(),
            "ensure",
        );
        Ok(report)
    }

    async fn collection_info(&self) -> mongodb::error::Result<Option<Document>> {
        let filter = doc! { "name": T::SPEC.collection() };
        let command = doc! { "listCollections": 1, "filter": filter };
        self.buckets
            .database()
            .run_cursor_command(command)
            .await?
            .try_next()
            .await
    }

    /// Whether this call created it: another client may be faster.
    async fn create_collection(&self) -> mongodb::error::Result<bool> {
        let created = self
            .buckets
            .database()
            .create_collection(T::SPEC.collection())
            .await;
        match created {
            Ok(()) => Ok(true),
            Err(error) if code(&error) == Some(NAMESPACE_EXISTS) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The size of a record: the average over a sample of the buckets that exist.
    async fn record_bytes(&self) -> mongodb::error::Result<usize> {
        let items = doc! { "$ifNull": [format!("${}", T::SPEC.items()), []] };
        let length = doc! { "$cond": [{ "$isArray": &items }, { "$size": &items }, 0] };
        let group = doc! {
            "_id": null,
            "bytes": { "$sum": { "$bsonSize": "$$ROOT" } },
            "records": { "$sum": length },
        };
        let pipeline = [doc! { "$limit": SAMPLE }, doc! { "$group": group }];
        let found = self
            .buckets
            .collection::<Document>()
            .aggregate(pipeline)
            .await?
            .try_next()
            .await?;
        let average =
            found.and_then(|found| number(&found, "bytes").checked_div(number(&found, "records")));
        let average = average.and_then(|bytes| usize::try_from(bytes).ok());
        Ok(average.unwrap_or(size::READING_BYTES))
    }

    async fn indexes(&self, report: &mut EnsureReport, context: &Context) -> Result<()> {
        let collection = self.buckets.collection::<Document>();
        let found = self
            .list_indexes()
            .await
            .map_err(|error| Error::read(error, context))?;
        let (missing, drift) = index::compare(T::SPEC, &found);
        let differs = |name: &str| {
            drift
                .iter()
                .any(|drift| matches!(drift, Drift::Index { name: n, .. } if n == name))
        };
        for plan in index::plan(T::SPEC) {
            if !missing.contains(&plan) && !differs(&plan.name) {
                report.found_indexes.push(plan.name);
            }
        }
        for plan in &missing {
            let command = doc! {
                "createIndexes": collection.name(),
                "indexes": [plan.definition()],
            };
            let created = self.buckets.database().run_command(command).await;
            created.map_err(|error| not_built(plan, error, context))?;
            report.created_indexes.push(plan.name.clone());
        }
        report.drift.extend(drift);
        Ok(())
    }

    async fn list_indexes(&self) -> mongodb::error::Result<Vec<Document>> {
        let command = doc! { "listIndexes": T::SPEC.collection() };
        self.buckets
            .database()
            .run_cursor_command(command)
            .await?
            .try_collect()
            .await
    }
}

fn collection_drift(found: &Document) -> Option<Drift> {
    let kind = found.get_str("type").unwrap_or("collection");
    if kind != "collection" {
        return Some(Drift::Kind {
            found: kind.to_owned(),
        });
    }
    let options = found.get_document("options").ok()?;
    if options.get_bool("capped").unwrap_or(false) {
        return Some(Drift::Kind {
            found: "capped collection".to_owned(),
        });
    }
    let locale = options
        .get_document("collation")
        .ok()?
        .get_str("locale")
        .unwrap_or("?");
    (locale != "simple").then(|| Drift::Collation {
        locale: locale.to_owned(),
    })
}

/// Refuses buckets that cannot be stored, warns of those that should not.
fn check_size<T: Record>(record_bytes: usize, context: &Context) -> Result<Option<SizeWarning>> {
    let bytes = size::full_bucket_bytes(T::SPEC.capacity(), record_bytes);
    if bytes > size::MAX_DOCUMENT_BYTES {
        let limit = size::MAX_DOCUMENT_BYTES;
        return Err(Error::new(
            ErrorKind::BucketTooLarge { bytes, limit },
            context,
        ));
    }
    let warning = SizeWarning {
        record_bytes,
        bucket_bytes: bytes,
    };
    Ok((bytes > size::RECOMMENDED_DOCUMENT_BYTES).then_some(warning))
}

fn not_built(plan: &IndexPlan, error: mongodb::error::Error, context: &Context) -> Error {
    let kind = match (code(&error), error.kind.as_ref()) {
        (Some(11_000 | 85 | 86), mongodb::error::ErrorKind::Command(refused)) => {
            ErrorKind::IndexBuild {
                name: plan.name.clone(),
                message: refused.message.clone(),
            }
        }
        _ => return Error::read(error, context),
    };
    Error::with_driver(kind, context, Some(error))
}

fn code(error: &mongodb::error::Error) -> Option<i32> {
    match error.kind.as_ref() {
        mongodb::error::ErrorKind::Command(error) => Some(error.code),
        _ => None,
    }
}

impl fmt::Display for EnsureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let collection = if self.created_collection {
            "created"
        } else {
            "found"
        };
        write!(f, "collection {collection}")?;
        for name in &self.created_indexes {
            write!(f, "\nindex `{name}` created")?;
        }
        for name in &self.found_indexes {
            write!(f, "\nindex `{name}` found")?;
        }
        for drift in &self.drift {
            write!(f, "\ndrift: {drift}")?;
        }
        if let Some(warning) = &self.size_warning {
            write!(f, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

impl fmt::Display for SizeWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a full bucket of records of {} bytes takes {} bytes, at most {} are recommended",
            self.record_bytes,
            self.bucket_bytes,
            size::RECOMMENDED_DOCUMENT_BYTES
        )
    }
}

impl<'a, T: Record> IntoFuture for Ensure<'a, T> {
    type Output = Result<EnsureReport>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span =
            tracing::debug_span!(target: trace::ADMIN, "ensure", collection = T::SPEC.collection());
        Box::pin(self.run().instrument(span))
    }
}
