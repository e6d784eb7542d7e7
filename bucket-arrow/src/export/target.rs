//! Where the files of an export go: a folder, or an object store.

use std::{
    io,
    path::{Path as FilePath, PathBuf},
    sync::Arc,
};

use futures_util::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt, buffered::BufWriter, path::Path};
use tokio::{
    fs::{self, File},
    io::AsyncWriteExt,
};

use crate::{Error, Result};

/// A folder or a path of a store. Paths below it have `/` between their names.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Folder(PathBuf),
    Store(Arc<dyn ObjectStore>, Path),
}

/// A file that appears once it is complete.
pub(crate) struct Writing {
    path: String,
    to: To,
}

enum To {
    File {
        file: File,
        temporary: PathBuf,
        path: PathBuf,
    },
    Object(Box<BufWriter>),
}

impl Target {
    /// Begins a file.
    pub(crate) async fn begin(&self, path: &str) -> Result<Writing> {
        let to = match self {
            Self::Folder(root) => {
                let file = place(root, path);
                // What was left of an earlier try is written over.
                let temporary = temporary(&file);
                let begun = async {
                    if let Some(folder) = file.parent() {
                        fs::create_dir_all(folder).await?;
                    }
                    File::create(&temporary).await
                };
                To::File {
                    file: begun.await.map_err(Error::at(path))?,
                    temporary,
                    path: file,
                }
            }
            Self::Store(store, root) => {
                let object = object(root, path)?;
                To::Object(Box::new(BufWriter::new(Arc::clone(store), object)))
            }
        };
        Ok(Writing {
            path: path.to_owned(),
            to,
        })
    }

    /// Writes a small file.
    pub(crate) async fn put(&self, path: &str, bytes: Vec<u8>) -> Result<()> {
        let mut writing = self.begin(path).await?;
        if let Err(error) = writing.write(&bytes).await {
            writing.abandon().await;
            return Err(error);
        }
        writing.complete().await
    }

    /// A small file; `None` if there is none.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Vec<u8>>> {
        let read = match self {
            Self::Folder(root) => fs::read(place(root, path)).await,
            Self::Store(store, root) => {
                let object = object(root, path)?;
                let read = async { store.get(&object).await?.bytes().await };
                read.await.map(Into::into).map_err(io_error)
            }
        };
        some(read).map_err(Error::at(path))
    }

    /// The size of a file; `None` if there is none.
    pub(crate) async fn size(&self, path: &str) -> Result<Option<u64>> {
        let size = match self {
            Self::Folder(root) => {
                let found = fs::metadata(place(root, path)).await;
                found.map(|found| found.len())
            }
            Self::Store(store, root) => {
                let found = store.head(&object(root, path)?).await;
                found.map(|found| found.size).map_err(io_error)
            }
        };
        some(size).map_err(Error::at(path))
    }

    /// Removes a file, if there is one, and what was left of an earlier try to write it.
    pub(crate) async fn remove(&self, path: &str) -> Result<()> {
        let removed = match self {
            Self::Folder(root) => {
                let file = place(root, path);
                // Nobody reads it: what cannot be removed is only in the way.
                let _ = fs::remove_file(temporary(&file)).await;
                let removed = async {
                    fs::remove_file(&file).await?;
                    synced(&file).await
                };
                removed.await
            }
            Self::Store(store, root) => store.delete(&object(root, path)?).await.map_err(io_error),
        };
        some(removed).map(|_| ()).map_err(Error::at(path))
    }

    /// The paths of the files in a folder, without those of folders in it.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let names = match self {
            Self::Folder(root) => {
                some(file_names(&place(root, folder)).await).map(Option::unwrap_or_default)
            }
            Self::Store(store, root) => {
                let object = object(root, folder)?;
                let listed = store.list(Some(&object)).map_ok(|found| found.location);
                let below = listed.try_filter_map(|found| {
                    let mut parts = found.prefix_match(&object).into_iter().flatten();
                    let name = parts.next().map(|name| name.as_ref().to_owned());
                    let is_file = parts.next().is_none();
                    async move { Ok(name.filter(|_| is_file)) }
                });
                below.try_collect().await.map_err(io_error)
            }
        };
        let names: Vec<String> = names.map_err(Error::at(folder))?;
        Ok(names
            .iter()
            .map(|name| format!("{folder}/{name}"))
            .collect())
    }
}

impl Writing {
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.to {
            To::File { file, .. } => file.write_all(bytes).await,
            To::Object(object) => object.write_all(bytes).await,
        };
        written.map_err(Error::at(self.path.as_str()))
    }

    /// The file is there, with all of its bytes, also after a loss of power. What was written is given up if that fails.
    pub(crate) async fn complete(self) -> Result<()> {
        let Self { path: shown, to } = self;
        let completed = async {
            match to {
                To::File {
                    mut file,
                    temporary,
                    path,
                } => {
                    let renamed = async {
                        file.flush().await?;
                        file.sync_all().await?;
                        drop(file);
                        fs::rename(&temporary, &path).await
                    };
                    if let Err(error) = renamed.await {
                        let _ = fs::remove_file(&temporary).await;
                        return Err(error);
                    }
                    synced(&path).await
                }
                To::Object(mut object) => {
                    // It waits for the pieces that are under way: `shutdown` would not abort the upload if one of them failed,
                    // and after it nobody can.
                    if let Err(error) = object.flush().await {
                        let _ = object.abort().await;
                        return Err(error);
                    }
                    object.shutdown().await
                }
            }
        };
        completed.await.map_err(Error::at(shown))
    }

    /// Gives up what was written.
    pub(crate) async fn abandon(self) {
        // Nobody reads it: what cannot be removed is only in the way.
        match self.to {
            To::File { temporary, .. } => {
                let _ = fs::remove_file(temporary).await;
            }
            To::Object(mut object) => {
                let _ = object.abort().await;
            }
        }
    }
}

/// Writes the names in the folder of this file to the disk.
#[cfg(unix)]
async fn synced(path: &FilePath) -> io::Result<()> {
    match path.parent() {
        Some(folder) => File::open(folder).await?.sync_all().await,
        None => Ok(()),
    }
}

/// Other systems do not open folders.
#[cfg(not(unix))]
async fn synced(_: &FilePath) -> io::Result<()> {
    Ok(())
}

async fn file_names(folder: &FilePath) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut entries = fs::read_dir(folder).await?;
    while let Some(entry) = entries.next_entry().await? {
        if entry.file_type().await?.is_file() {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

fn place(root: &FilePath, path: &str) -> PathBuf {
    let mut place = root.to_owned();
    place.extend(path.split('/'));
    place
}

/// A name that readers of folders leave out.
fn temporary(path: &FilePath) -> PathBuf {
    let name = path.file_name().unwrap_or_default();
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(".part");
    path.with_file_name(temporary)
}

/// `Path::from` would escape what is escaped.
fn object(root: &Path, path: &str) -> Result<Path> {
    let whole = if root.as_ref().is_empty() {
        path.to_owned()
    } else {
        format!("{root}/{path}")
    };
    Path::parse(whole).map_err(|error| Error::at(path)(io::Error::other(error)))
}

fn io_error(error: object_store::Error) -> io::Error {
    match error {
        object_store::Error::NotFound { .. } => io::Error::new(io::ErrorKind::NotFound, error),
        error => io::Error::other(error),
    }
}

/// `None` if there is no file.
fn some<R>(result: io::Result<R>) -> io::Result<Option<R>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
