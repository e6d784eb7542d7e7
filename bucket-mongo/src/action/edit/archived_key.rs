//! The removal of what an archive has of a key.

use bucket_core::{
    Record,
    archive::{copy_of, is_elsewhere, references_of_key},
    read::ReadKey,
};
use mongodb::bson::oid::ObjectId;

use super::editing::Editing;
use crate::{Error, ErrorKind, Result};

/// The copies that the buckets of a key refer to.
pub(super) struct ArchivedKey {
    #[cfg_attr(
        not(feature = "seal"),
        expect(dead_code, reason = "no handle has an archive then")
    )]
    copies: Vec<ObjectId>,
}

impl ArchivedKey {
    /// Finds them.
    ///
    /// # Errors
    ///
    /// If there are some, and the handle does not know the archive; if it does, in a transaction.
    pub(super) async fn find<T: Record>(
        key: &T::Key,
        editing: &mut Editing<'_, T>,
    ) -> Result<Self> {
        let plan = references_of_key(T::SPEC, &ReadKey::of::<T>(key));
        let found = editing.read(plan).await?;
        let has_archive = editing.buckets.store().archived().is_some();
        if let Some(first) = found.first().filter(|_| !has_archive) {
            let kind = ErrorKind::Damaged(is_elsewhere(first));
            return Err(Error::new(kind, editing.context()));
        }
        if has_archive && editing.is_in_transaction().await? {
            let message =
                "a transaction does not reach the archive: call `delete_key` outside of it";
            let message = message.to_owned();
            let kind = ErrorKind::InvalidArgument { message };
            return Err(Error::new(kind, editing.context()));
        }
        let copies = found.iter().filter_map(|stored| copy_of(T::SPEC, stored));
        Ok(Self {
            copies: copies.collect(),
        })
    }

    /// Removes them, and those of the key that no bucket refers to. Returns the number of copies.
    #[cfg(feature = "seal")]
    pub(super) async fn remove<T: Record>(
        self,
        key: &T::Key,
        is_dry: bool,
        editing: &mut Editing<'_, T>,
    ) -> Result<u64> {
        let store = editing.buckets.store();
        let Some(archived) = store.archived() else {
            return Ok(0);
        };
        let copies = crate::action::archive::Copies::new(
            &archived.copies,
            store.deadline(),
            editing.context().clone(),
        );
        let of = store.namespace();
        if is_dry {
            return copies.count_key::<T>(key, &of).await;
        }
        loop {
            let removed = async {
                let referred = copies.remove(self.copies.iter().copied()).await?;
                Ok(referred + copies.remove_key::<T>(key, &of).await?)
            };
            match removed.await {
                Ok(removed) => return Ok(removed),
                Err(error) => editing.passes(error).await?,
            }
        }
    }

    #[cfg(not(feature = "seal"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(super) async fn remove<T: Record>(
        self,
        _: &T::Key,
        _: bool,
        _: &mut Editing<'_, T>,
    ) -> Result<u64> {
        Ok(0)
    }
}
