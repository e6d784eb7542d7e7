//! The files of an archive in an object store: what core says of them, done.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use bucket_core::archive::files::{
    self, FileHeader, FileName, NewFile, copy_in, document_in, parts,
};
use futures_util::{StreamExt, TryStreamExt, stream, stream::FuturesUnordered};
use mongodb::bson::{RawDocument, RawDocumentBuf, oid::ObjectId};
use object_store::{
    Error as StoreError, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, path::Path,
};

use tokio::time::timeout;

use crate::{ErrorKind, error::ReadFault};

/// How many requests of a call are under way at once.
const AT_ONCE: usize = 8;
/// How much is read of a file at first to know its header.
const HEADER: usize = 4 * 1024;

/// A place in an object store.
#[derive(Clone)]
pub(crate) struct Files {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its own form may have credentials.
        let mut debug = f.debug_struct("Files");
        debug.field("prefix", &self.prefix.as_ref());
        debug.finish_non_exhaustive()
    }
}

/// A file that is there.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) name: FileName,
    pub(crate) bytes: u64,
    pub(crate) header: FileHeader,
}

impl Files {
    pub(crate) fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self { store, prefix }
    }

    /// Writes these. Each is there in full or not at all.
    pub(crate) async fn write(&self, new: Vec<NewFile>) -> Result<(), ReadFault> {
        let mut writing = Vec::with_capacity(new.len());
        for file in new {
            writing.push(self.write_one(file));
        }
        let mut writing = stream::iter(writing).buffer_unordered(AT_ONCE);
        while writing.try_next().await?.is_some() {}
        Ok(())
    }

    async fn write_one(&self, file: NewFile) -> Result<(), ReadFault> {
        let path = self.path(&file.name.path());
        let written = self.store.put(&path, file.bytes.into()).await;
        written.map_err(fault)?;
        Ok(())
    }

    /// These copies, as far as they are there.
    pub(crate) async fn copies(
        &self,
        ids: impl IntoIterator<Item = ObjectId>,
    ) -> Result<Vec<RawDocumentBuf>, ReadFault> {
        let mut by_file: HashMap<FileName, Vec<ObjectId>> = HashMap::new();
        for id in ids {
            by_file.entry(FileName::of(id)).or_default().push(id);
        }
        let mut reading = Vec::new();
        for (name, ids) in by_file {
            for (part, ids) in parts(ids) {
                reading.push(self.copies_in(name, part, ids));
            }
        }
        let read = stream::iter(reading).buffer_unordered(AT_ONCE);
        let read: Vec<Vec<RawDocumentBuf>> = read.try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// Those that begin in this part of a file.
    async fn copies_in(
        &self,
        name: FileName,
        part: std::ops::Range<usize>,
        ids: Vec<ObjectId>,
    ) -> Result<Vec<RawDocumentBuf>, ReadFault> {
        let path = self.path(&name.path());
        let begin = part.start;
        let mut bytes = self.read(&path, part).await?;
        let mut copies = Vec::with_capacity(ids.len());
        for id in ids {
            let at = files::begin_of(id);
            let of_copy = |bytes: &[u8]| bytes.get(at - begin..).unwrap_or_default().to_vec();
            match copy_in(&of_copy(&bytes), id) {
                Ok(copy) => copies.extend(copy.map(RawDocument::to_owned)),
                Err(length) => {
                    // It is longer than what was read of it.
                    bytes = [
                        bytes.as_slice(),
                        &self.read(&path, begin + bytes.len()..at + length).await?,
                    ]
                    .concat();
                    let whole = of_copy(&bytes);
                    copies.extend(
                        copy_in(&whole, id)
                            .ok()
                            .flatten()
                            .map(RawDocument::to_owned),
                    );
                }
            }
        }
        Ok(copies)
    }

    /// The files with these names that are files of an archive.
    pub(crate) async fn find(
        &self,
        names: impl IntoIterator<Item = FileName>,
    ) -> Result<Vec<Found>, ReadFault> {
        let mut finding = Vec::new();
        for name in names {
            finding.push(self.find_one(name));
        }
        let finding = stream::iter(finding).buffer_unordered(AT_ONCE);
        let found: Vec<Option<Found>> = finding.try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn find_one(&self, name: FileName) -> Result<Option<Found>, ReadFault> {
        let path = self.path(&name.path());
        match self.store.head(&path).await {
            Ok(meta) => self.found(meta).await,
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(fault(error)),
        }
    }

    /// All files of archives, or those in this folder.
    /// `patience` is how long the store may take for the next one.
    pub(crate) async fn list(
        &self,
        folder: Option<&str>,
        patience: Duration,
    ) -> Result<Vec<Found>, ReadFault> {
        let path = folder.map_or_else(|| self.prefix.clone(), |folder| self.path(folder));
        let mut listed = self.store.list(Some(&path)).fuse();
        let mut found = Vec::new();
        let mut looking = FuturesUnordered::new();
        loop {
            let has_room = looking.len() < AT_ONCE;
            let next = async {
                if has_room {
                    listed.try_next().await.map_err(fault)
                } else {
                    Ok(None)
                }
            };
            if let Some(meta) = in_time(patience, next).await? {
                looking.push(self.found(meta));
                continue;
            }
            match in_time(patience, looking.try_next()).await? {
                Some(one) => found.extend(one),
                None => return Ok(found),
            }
        }
    }

    async fn found(&self, meta: ObjectMeta) -> Result<Option<Found>, ReadFault> {
        let name = meta.location.filename().and_then(FileName::read);
        let Some(name) = name.filter(|name| self.path(&name.path()) == meta.location) else {
            return Ok(None);
        };
        let mut bytes = self.read(&meta.location, 0..HEADER).await?;
        if let Err(length) = document_in(&bytes) {
            bytes = self.read(&meta.location, 0..length).await?;
        }
        let header = document_in(&bytes).ok().flatten();
        Ok(header.and_then(FileHeader::read).map(|header| Found {
            name,
            bytes: meta.size,
            header,
        }))
    }

    /// This part of a file, as far as it is there.
    async fn read(&self, path: &Path, part: std::ops::Range<usize>) -> Result<Vec<u8>, ReadFault> {
        let at = |at: usize| u64::try_from(at).unwrap_or(u64::MAX);
        let range = GetRange::Bounded(at(part.start)..at(part.end));
        let options = GetOptions::new().with_range(Some(range));
        let read = async { self.store.get_opts(path, options).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(bytes.into()),
            Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
            // A store may say that there is no such part as it says anything else.
            Err(error) => match self.store.head(path).await {
                Ok(meta) if meta.size <= at(part.start) => Ok(Vec::new()),
                _ => Err(fault(error)),
            },
        }
    }

    /// Removes these. One that is not there is removed already.
    pub(crate) async fn remove(
        &self,
        names: impl IntoIterator<Item = FileName>,
    ) -> Result<(), ReadFault> {
        let mut removing = Vec::new();
        for name in names {
            removing.push(self.remove_one(name));
        }
        let mut removing = stream::iter(removing).buffer_unordered(AT_ONCE);
        while removing.try_next().await?.is_some() {}
        Ok(())
    }

    async fn remove_one(&self, name: FileName) -> Result<(), ReadFault> {
        match self.store.delete(&self.path(&name.path())).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(fault(error)),
        }
    }

    fn path(&self, below: &str) -> Path {
        let parts = below.split('/');
        parts.fold(self.prefix.clone(), Path::join)
    }
}

async fn in_time<R>(
    patience: Duration,
    done: impl Future<Output = Result<R, ReadFault>>,
) -> Result<R, ReadFault> {
    let done = timeout(patience, done).await;
    done.unwrap_or(Err(ReadFault::Late))
}

/// An error of the object store. It has tried again by itself whatever can be.
#[expect(clippy::needless_pass_by_value, reason = "`map_err` gives it so")]
fn fault(error: StoreError) -> ReadFault {
    let message = format!("the object store of the archive: {error}");
    let kind = match error {
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            ErrorKind::Unauthorized { message }
        }
        StoreError::InvalidPath { .. }
        | StoreError::NotSupported { .. }
        | StoreError::NotImplemented { .. }
        | StoreError::UnknownConfigurationKey { .. } => ErrorKind::InvalidArgument { message },
        _ => ErrorKind::Unreachable { message },
    };
    ReadFault::Files(Box::new(kind))
}
