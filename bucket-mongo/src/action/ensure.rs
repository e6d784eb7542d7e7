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
/// Another client dropped the index first.
const INDEX_NOT_FOUND: i32 = 27;
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
        Ensure {
            buckets: self,
            replace: false,
        }
    }
}

/// A collection to be set up; see [`Buckets::ensure`].
#[must_use = "nothing is created until this is awaited"]
#[derive(Debug)]
pub struct Ensure<'a, T: Record> {
    buckets: &'a Buckets<T>,
    replace: bool,
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
    /// The names of indexes of another capacity or definition that were dropped.
    pub dropped_indexes: Vec<String>,
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
    /// Drops this library's indexes that are in the way of the model's: those on open buckets of
    /// another capacity, and those of the model's names with another definition.
    ///
    /// Meant for the moment in which a capacity is changed: from then on writers of the old model
    /// open no bucket any more ([`ErrorKind::MissingIndex`]); they may still fill one that they
    /// remember, up to their own capacity.
    pub fn replace_indexes(mut self) -> Self {
        self.replace = true;
        self
    }

    async fn run(self) -> Result<EnsureReport> {
        let context = Context {
            operation: "ensure",
            spec: T::SPEC,
            key: None,
        };
        let mut report = EnsureReport::default();
        let driver = |error| Error::read(error, &context);
        if let Some(found) = self.collection_info().await.map_err(driver)? {
            report.drift.extend(compression_drift::<T>(&found));
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
        let mut command = doc! { "create": T::SPEC.collection() };
        if let Some(compressor) = T::SPEC.compression() {
            let options = format!("block_compressor={compressor}");
            command.insert(
                "storageEngine",
                doc! { "wiredTiger": { "configString": options } },
            );
        }
        let created = self.buckets.database().run_command(command).await;
        match created {
            Ok(_) => Ok(true),
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
        let (mut missing, mut drift) = index::compare(T::SPEC, &found);
        if self.replace {
            let same_name = |drift: &Drift| match drift {
                Drift::Index { name, .. } => Some(name.clone()),
                _ => None,
            };
            let replaced: Vec<String> = drift.iter().filter_map(same_name).collect();
            self.drop_indexes(&replaced, report, context).await?;
            missing.extend(
                index::plan(T::SPEC)
                    .into_iter()
                    .filter(|plan| replaced.contains(&plan.name)),
            );
            drift.retain(|drift| same_name(drift).is_none());
        }
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
        if self.replace {
            let other = |drift: &Drift| match drift {
                Drift::Capacity { name, .. } => Some(name.clone()),
                _ => None,
            };
            let others: Vec<String> = drift.iter().filter_map(other).collect();
            // Only now: until the new index is there, the old one keeps a key from a second open
            // bucket.
            self.drop_indexes(&others, report, context).await?;
            drift.retain(|drift| other(drift).is_none());
        }
        report.drift.extend(drift);
        Ok(())
    }

    async fn drop_indexes(
        &self,
        names: &[String],
        report: &mut EnsureReport,
        context: &Context,
    ) -> Result<()> {
        for name in names {
            let command = doc! { "dropIndexes": T::SPEC.collection(), "index": name };
            let dropped = self.buckets.database().run_command(command).await;
            match dropped {
                Ok(_) => report.dropped_indexes.push(name.clone()),
                // Another client was faster.
                Err(error) if code(&error) == Some(INDEX_NOT_FOUND) => {}
                Err(error) => return Err(Error::read(error, context)),
            }
        }
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

/// The storage options of a collection that are not the model's.
fn compression_drift<T: Record>(found: &Document) -> Option<Drift> {
    let expected = T::SPEC.compression()?;
    let engine = |found: &Document| {
        let options = found.get_document("options").ok()?;
        let engine = options.get_document("storageEngine").ok()?;
        let config = engine.get_document("wiredTiger").ok()?;
        config.get_str("configString").ok().map(ToOwned::to_owned)
    };
    let config = engine(found).unwrap_or_default();
    let same = config
        .split(',')
        .any(|option| option.trim() == format!("block_compressor={expected}"));
    (!same).then(|| Drift::Compression {
        expected: expected.to_owned(),
        found: config,
    })
}

/// Refuses buckets that cannot be stored, warns of those that should not.
fn check_size<T: Record>(record_bytes: usize, context: &Context) -> Result<Option<SizeWarning>> {
    let (Some(capacity), None) = (T::SPEC.capacity(), T::SPEC.max_bytes()) else {
        // Such buckets are closed by bytes.
        return Ok(None);
    };
    let bytes = size::full_bucket_bytes(capacity, record_bytes);
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
        for name in &self.dropped_indexes {
            write!(f, "\nindex `{name}` dropped")?;
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
