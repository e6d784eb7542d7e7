//! `remove_unused_files`: files of an object store to which no bucket refers.

use std::{collections::HashSet, fmt, time::Duration};

use bucket_core::{
    Record,
    archive::{self, files},
    repair,
};
use mongodb::{
    bson::{DateTime, RawDocument},
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};
use tracing::Instrument;

use super::{Copies, copies::InFiles};
use crate::{
    Archive, Buckets, Error, ErrorKind, Result,
    action::{ActionFuture, edit::Editing, repair::default_quarantine, scan},
    collection::collection,
    error::Context,
    read::{ReadOptions, Rows},
    trace,
    writer::Settings,
};

/// How long a file stays at least. Buckets come to refer to it within an hour; the other one is for the clocks of the servers
/// and for members that lag.
const STAYS: Duration = Duration::from_secs(2 * 60 * 60);

impl<T: Record> Buckets<T> {
    /// Removes the files of an archive in an object store that no bucket of the collection refers to.
    ///
    /// Buckets expire, are restored and are removed, and a call of [`archive_to`](Self::archive_to) may be killed. The files
    /// that this leaves are read by nobody, but their records are there. Call this now and then, and after
    /// [`restore_from`](Self::restore_from) if records were removed since.
    ///
    /// A file stays if it is younger than two hours, if a bucket in the quarantine of [`repair`](Self::repair) refers to it,
    /// or if it may have the copies of a bucket that has lost its reference. Files of other collections below the same path
    /// stay, also of those with the same names in other clusters. A collection that was restored from a dump refers to the
    /// same files as the original: they go as soon as the original needs them no more.
    ///
    /// It reads all archived buckets of the collection, and the begin of each file.
    ///
    /// Settings: `dry_run`, `quarantine`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the archive is a collection; [`ErrorKind::Drift`] if the collection belongs to another model;
    /// [`ErrorKind::Damaged`] if a bucket has lost its reference and its key; [`ErrorKind::Unreachable`] if the object store does
    /// not answer; those of the server. Nothing was removed then, or a part of the files.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Archive, Bucketed, Buckets, Result};
    /// async fn every_week<T: Bucketed>(buckets: &Buckets<T>, files: &Archive) -> Result<()> {
    ///     println!("{}", buckets.remove_unused_files(files.clone()).await?);
    ///     Ok(())
    /// }
    /// ```
    pub fn remove_unused_files(&self, archive: impl Into<Archive>) -> RemoveUnusedFiles<'_, T> {
        RemoveUnusedFiles {
            buckets: self,
            archive: archive.into(),
            quarantine: default_quarantine::<T>(),
            is_dry: false,
        }
    }
}

/// A removal of files that no bucket refers to; see [`Buckets::remove_unused_files`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct RemoveUnusedFiles<'a, T: Record> {
    buckets: &'a Buckets<T>,
    archive: Archive,
    quarantine: String,
    is_dry: bool,
}

/// The files that no bucket refers to, and the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusedFiles {
    /// The number of files that were removed, or would be.
    pub files: u64,
    /// The number of the copies in them. A bucket that was archived again has several.
    pub copies: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// The number of files that stay.
    pub kept: u64,
}

impl fmt::Display for UnusedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            files,
            copies,
            bytes,
            kept,
        } = self;
        write!(
            f,
            "{files} unused files with {copies} copies ({bytes} bytes); {kept} files stay"
        )
    }
}

impl<T: Record> RemoveUnusedFiles<'_, T> {
    /// Only reads: returns what would be removed.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    /// The name of the collection that [`repair`](Buckets::repair) moved damaged buckets into, in the same database;
    /// `NAME_quarantine` if not set. It need not exist.
    pub fn quarantine(mut self, name: impl Into<String>) -> Self {
        self.quarantine = name.into();
        self
    }

    async fn run(self) -> Result<UnusedFiles> {
        let context = Context::of_all::<T>("remove_unused_files");
        let store = self.buckets.store();
        let place = self.archive.place(T::SPEC);
        let copies = Copies::new(&place, store, store.deadline(), context.clone());
        let Copies::InFiles(files) = copies else {
            let message =
                "the archive is a collection, in which no copies are left: give this call files";
            let message = message.to_owned();
            return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
        };
        let settings = Settings::default();
        let mut editing = Editing::new(self.buckets, None, &settings, context.clone())?;
        editing.check_collection().await?;
        let now = files.now().await?;
        let stays = i64::try_from(STAYS.as_millis()).unwrap_or(i64::MAX);
        let until = DateTime::from_millis(now.timestamp_millis().saturating_sub(stays));
        let mut used = Used::<T>::new(store.namespace());
        let plan = archive::references(T::SPEC);
        let options = options(&context).await?;
        let collection = store.collection();
        let rows = scan::open(&collection, plan, None, options, &context).await?;
        used.add_all(rows, |stored| Some(stored), &context).await?;
        // After the collection: a repair copies a bucket before it removes it.
        let rows = self.quarantined(&context).await?;
        used.add_all(rows, repair::copied_document, &context)
            .await?;
        self.remove(&files, used, until).await
    }

    async fn remove(&self, files: &InFiles, used: Used<T>, until: DateTime) -> Result<UnusedFiles> {
        let (unused, kept) = files.unused(until, |name| !used.has(name)).await?;
        if !self.is_dry {
            for some in unused.chunks(TOGETHER) {
                files.remove_files(some).await?;
            }
        }
        let report = UnusedFiles {
            files: u64::try_from(unused.len()).unwrap_or(u64::MAX),
            copies: unused.iter().map(|file| file.header.copies).sum(),
            bytes: unused.iter().map(|file| file.bytes).sum(),
            kept,
        };
        tracing::debug!(target: trace::WRITE, files = report.files, kept, "remove_unused_files");
        Ok(report)
    }

    /// The copies of the collection's buckets in the quarantine.
    async fn quarantined(&self, context: &Context) -> Result<Rows<'static>> {
        let database = self.buckets.store().database();
        let quarantine = collection(database, &self.quarantine);
        let plan = repair::copies_of_collection(T::SPEC);
        let rows = Rows::open(&quarantine, vec![plan], 0, options(context).await?);
        rows.await.map_err(|fault| Error::read(fault, context))
    }
}

/// For what a majority has.
async fn options(context: &Context) -> Result<ReadOptions<'static>> {
    let mut options = ReadOptions::default();
    let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
    options.terms.criteria = Some(primary);
    options.terms.concern = Some(ReadConcern::majority());
    options.begin(context).await?;
    Ok(options)
}

/// The files of a command.
const TOGETHER: usize = 1_000;

/// What buckets refer to, those of other models of the collection as well.
struct Used<T> {
    of: String,
    files: HashSet<files::FileName>,
    /// Those of keys with a bucket that does not say any more which its file is.
    folders: HashSet<String>,
    record: std::marker::PhantomData<fn() -> T>,
}

impl<T: Record> Used<T> {
    fn new(of: String) -> Self {
        Self {
            of,
            files: HashSet::new(),
            folders: HashSet::new(),
            record: std::marker::PhantomData,
        }
    }

    async fn add_all(
        &mut self,
        mut rows: Rows<'_>,
        bucket: fn(&RawDocument) -> Option<&RawDocument>,
        context: &Context,
    ) -> Result<()> {
        let failed = |fault| Error::read(fault, context);
        while let Some(row) = rows.next(&|_| 0).await.map_err(failed)? {
            if let Some(stored) = bucket(row) {
                self.add(stored, context)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, stored: &RawDocument, context: &Context) -> Result<()> {
        if let Some(copy) = archive::copy_of(T::SPEC, stored) {
            self.files.insert(files::FileName::of(copy));
        } else if archive::is_archived(T::SPEC, stored) {
            let folder = files::folder_of::<T>(stored, &self.of);
            let damaged = || ErrorKind::Damaged(archive::without_reference(stored));
            self.folders
                .insert(folder.ok_or_else(|| Error::new(damaged(), context))?);
        }
        Ok(())
    }

    fn has(&self, file: files::FileName) -> bool {
        self.files.contains(&file) || self.folders.contains(&file.folder())
    }
}

impl<'a, T: Record> IntoFuture for RemoveUnusedFiles<'a, T> {
    type Output = Result<UnusedFiles>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "remove_unused_files", collection);
        Box::pin(self.run().instrument(span))
    }
}
