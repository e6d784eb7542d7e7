//! Copies in files of an object store.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use bucket_core::{
    Record,
    archive::files::{FileName, NewFile, NewFiles, Owner, folder_of_key},
    write::{Listing, Look, collection_uuid},
};
use mongodb::bson::{DateTime, RawDocumentBuf, doc, oid::ObjectId};
use tokio::{sync::OnceCell, time::timeout};

use crate::{
    Error, Result,
    archive::{Files, Found},
    error::{Context, ReadFault},
    store::Store,
};

/// Copies in files of an object store.
pub(in crate::action) struct InFiles {
    files: Files,
    store: Store,
    /// The collection that these belong to. It is asked for once.
    owner: OnceCell<Owner>,
    /// The longest time for what is done together.
    patience: Duration,
    context: Context,
    /// Copies that no bucket refers to, of files that have others.
    unneeded: HashMap<FileName, Unneeded>,
}

/// Copies of a file that no bucket refers to.
struct Unneeded {
    ids: HashSet<ObjectId>,
    /// The number of its copies.
    of: u64,
}

impl InFiles {
    pub(super) fn new(files: Files, store: &Store, patience: Duration, context: Context) -> Self {
        Self {
            files,
            store: store.clone(),
            owner: OnceCell::new(),
            patience,
            context,
            unneeded: HashMap::new(),
        }
    }

    /// Begins with files of copies.
    pub(super) async fn begin(&self) -> Result<NewFiles> {
        let owner = self.in_time(self.owner()).await?;
        Ok(NewFiles::new(owner.clone(), self.now().await?))
    }

    /// The time of the server, by which files are dated.
    pub(in super::super) async fn now(&self) -> Result<DateTime> {
        let asked = self.store.database().run_command(doc! { "hello": 1 });
        let hello = self.in_time(async { asked.await.map_err(ReadFault::Driver) });
        let hello = hello.await?;
        let now = hello.get_datetime("localTime");
        Ok(now.map_or_else(|_| DateTime::now(), |now| *now))
    }

    /// The collection that these belong to.
    async fn owner(&self) -> Result<&Owner, ReadFault> {
        let ask = async || {
            let spec = self.store.spec();
            let look = Look::Collection.command(spec);
            let listing = match self.store.database().run_command(look).await {
                Ok(reply) => Listing::of_reply(&reply),
                // Whoever may not list them does not know which files are theirs.
                Err(error) => return Err(ReadFault::Driver(error)),
            };
            let uuid = match listing {
                Listing::Found(found) => found.first().and_then(collection_uuid),
                _ => None,
            };
            let of = format!("{}.{}", self.store.database().name(), spec.collection());
            Ok(Owner::new(of, uuid))
        };
        self.owner.get_or_try_init(ask).await
    }

    pub(super) async fn insert(&self, files: Vec<NewFile>) -> Result<()> {
        self.in_time(self.files.write(files)).await
    }

    pub(super) async fn of(
        &self,
        ids: impl Iterator<Item = ObjectId>,
    ) -> Result<HashMap<ObjectId, RawDocumentBuf>> {
        let copies = self.in_time(self.files.copies(ids)).await?.into_iter();
        let with_id = |copy: RawDocumentBuf| Some((copy.get_object_id("_id").ok()?, copy));
        Ok(copies.filter_map(with_id).collect())
    }

    pub(super) async fn are_there<T: Record>(
        &self,
        key: &T::Key,
        ids: &[ObjectId],
    ) -> Result<bool> {
        let names: HashSet<FileName> = ids.iter().copied().map(FileName::of).collect();
        let of = names.len();
        // All copies of a file are removed together.
        let there = self.in_time(self.own_of_key::<T>(key, names)).await?;
        Ok(there.len() == of)
    }

    pub(super) async fn remove_unneeded(&mut self, ids: &[ObjectId]) -> Result<()> {
        let names: HashSet<FileName> = ids.iter().copied().map(FileName::of).collect();
        let met = names
            .into_iter()
            .filter(|name| !self.unneeded.contains_key(name));
        for file in self.in_time(self.own(met.collect())).await? {
            let of = file.header.copies;
            let ids = HashSet::new();
            self.unneeded.insert(file.name, Unneeded { ids, of });
        }
        for id in ids {
            if let Some(unneeded) = self.unneeded.get_mut(&FileName::of(*id)) {
                unneeded.ids.insert(*id);
            }
        }
        let whole = self.unneeded.iter();
        let whole = whole.filter(|(_, it)| u64::try_from(it.ids.len()) == Ok(it.of));
        let whole: Vec<FileName> = whole.map(|(name, _)| *name).collect();
        self.in_time(self.files.remove(whole.iter().copied()))
            .await?;
        for name in whole {
            self.unneeded.remove(&name);
        }
        Ok(())
    }

    pub(super) async fn remove<T: Record>(&self, key: &T::Key, ids: &[ObjectId]) -> Result<u64> {
        let names: HashSet<FileName> = ids.iter().copied().map(FileName::of).collect();
        let removing = async {
            let found = self.own_of_key::<T>(key, names).await?;
            self.files
                .remove(found.iter().map(|file| file.name))
                .await?;
            Ok(copies_in(&found))
        };
        self.in_time(removing).await
    }

    pub(super) async fn remove_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        let removing = async {
            let found = self.of_key::<T>(key).await?;
            self.files
                .remove(found.iter().map(|file| file.name))
                .await?;
            Ok(copies_in(&found))
        };
        self.in_time(removing).await
    }

    pub(super) async fn count_key<T: Record>(&self, key: &T::Key) -> Result<u64> {
        let found = self.in_time(self.of_key::<T>(key)).await?;
        Ok(copies_in(&found))
    }

    /// The files of this collection to which no bucket can come to refer any more, as far as `is_unused` says so.
    pub(in super::super) async fn unused(
        &self,
        until: DateTime,
        is_unused: impl Fn(FileName) -> bool,
    ) -> Result<(Vec<Found>, u64)> {
        let owner = self.in_time(self.owner()).await?;
        let all = self.files.list(None, self.patience).await;
        let all = all.map_err(|fault| Error::read(fault, &self.context))?;
        let own = all.into_iter().filter(|file| file.header.owner == *owner);
        let (unused, kept): (Vec<Found>, Vec<Found>) =
            own.partition(|file| file.header.at <= until && is_unused(file.name));
        Ok((unused, u64::try_from(kept.len()).unwrap_or(u64::MAX)))
    }

    /// Removes these.
    pub(in super::super) async fn remove_files(&self, files: &[Found]) -> Result<()> {
        let names = files.iter().map(|file| file.name);
        self.in_time(self.files.remove(names)).await
    }

    async fn of_key<T: Record>(&self, key: &T::Key) -> Result<Vec<Found>, ReadFault> {
        let owner = self.owner().await?;
        let folder = folder_of_key::<T>(key, &owner.of);
        let mut found = self.files.list(Some(&folder), self.patience).await?;
        found.retain(|file| file.header.owner == *owner && file.header.is_of_key::<T>(key));
        Ok(found)
    }

    /// Those of these files that have copies of buckets of the collection.
    async fn own(&self, names: HashSet<FileName>) -> Result<Vec<Found>, ReadFault> {
        let owner = self.owner().await?;
        let mut found = self.files.find(names).await?;
        found.retain(|file| file.header.owner == *owner);
        Ok(found)
    }

    /// Those of them that have the key's.
    async fn own_of_key<T: Record>(
        &self,
        key: &T::Key,
        names: HashSet<FileName>,
    ) -> Result<Vec<Found>, ReadFault> {
        let mut found = self.own(names).await?;
        found.retain(|file| file.header.is_of_key::<T>(key));
        Ok(found)
    }

    async fn in_time<R>(&self, done: impl Future<Output = Result<R, ReadFault>>) -> Result<R> {
        let done = timeout(self.patience, done).await;
        let done = done.unwrap_or(Err(ReadFault::Late));
        done.map_err(|fault| Error::read(fault, &self.context))
    }
}

fn copies_in(files: &[Found]) -> u64 {
    files.iter().map(|file| file.header.copies).sum()
}
