//! The removal of what an archive has of a key.

use std::collections::HashSet;

use bucket_core::{
    Record,
    archive::{
        copy_of, is_archived, is_elsewhere, may_be_gone, move_of, references_of_key, was_archived,
    },
    read::ReadKey,
};
use mongodb::bson::{DateTime, RawDocumentBuf, oid::ObjectId};

use super::{copies::Copies, editing::Editing};
use crate::{Error, ErrorKind, Result};

/// The copies that the buckets of a key refer to.
#[derive(PartialEq)]
pub(super) struct ArchivedKey {
    copies: Vec<ObjectId>,
    /// What tells the buckets apart: those that have lost their references, or are in the quarantine, do not say which copies theirs
    /// are.
    buckets: HashSet<Vec<u8>>,
}

impl ArchivedKey {
    /// Finds them. A repair may have moved buckets that refer to some into the quarantine; why that cannot be read comes with
    /// them.
    ///
    /// # Errors
    ///
    /// If there are some, and the handle does not know the archive, or that does not have them all; in a transaction, if it
    /// knows an archive.
    pub(super) async fn find<'a, T: Record>(
        quarantine: Copies<'a, T>,
        editing: &mut Editing<'a, T>,
    ) -> Result<(Self, Option<Error>)> {
        let mut before = None;
        loop {
            let (in_quarantine, unread) = match quarantine.archived(editing).await {
                Ok(found) => (found, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            let found = Self::look(quarantine.key, in_quarantine, editing).await?;
            if !found.are_there(quarantine.key, editing).await? {
                // Another erasure removes a copy after the bucket that refers to it.
                if before.as_ref() != Some(&found) {
                    before = Some(found);
                    continue;
                }
                let message = "the archive does not have all copies that the key's buckets refer to, or has them of another \
                               collection, or an erasure ran while they were archived: give the handle the archive that has \
                               them, or call `without_copies()`, which leaves them where they are";
                return Err(invalid(message, editing));
            }
            return Ok((found, unread));
        }
    }

    async fn look<T: Record>(
        key: &T::Key,
        in_quarantine: Vec<RawDocumentBuf>,
        editing: &mut Editing<'_, T>,
    ) -> Result<Self> {
        let plan = references_of_key(T::SPEC, &ReadKey::of::<T>(key));
        let mut found = editing.read(plan).await?;
        found.retain(|stored| is_archived(T::SPEC, stored) || was_archived(stored));
        let has_archive = editing.buckets.store().archived().is_some();
        let first = found.first().or(in_quarantine.first());
        if let Some(first) = first.filter(|_| !has_archive) {
            let kind = ErrorKind::Damaged(is_elsewhere(first));
            return Err(Error::new(kind, editing.context()));
        }
        if has_archive && editing.is_in_transaction().await? {
            let message =
                "a transaction does not reach the archive: call `delete_key` outside of it";
            return Err(invalid(message, editing));
        }
        let now = DateTime::now();
        // Once its records have expired, a bucket does not say which copy is its own, and an archive may have removed it.
        found.retain(|stored| is_archived(T::SPEC, stored) && !may_be_gone(T::SPEC, stored, now));
        let copies = found.iter().filter_map(|stored| copy_of(T::SPEC, stored));
        let copies = copies.collect();
        let moved = in_quarantine
            .iter()
            .filter(|stored| !may_be_gone(T::SPEC, stored, now));
        let buckets: HashSet<Vec<u8>> = found
            .iter()
            .chain(moved)
            .map(|stored| move_of(stored))
            .collect();
        Ok(Self { copies, buckets })
    }

    #[cfg(feature = "seal")]
    async fn are_there<T: Record>(
        &self,
        key: &T::Key,
        editing: &mut Editing<'_, T>,
    ) -> Result<bool> {
        let Some(copies) = copies(editing) else {
            return Ok(true);
        };
        let there = async || {
            if !copies.are_there::<T>(key, &self.copies).await? {
                return Ok(false);
            }
            if self.copies.len() == self.buckets.len() {
                return Ok(true);
            }
            let of_key = copies.count_key::<T>(key).await?;
            Ok(usize::try_from(of_key).is_ok_and(|of_key| of_key >= self.buckets.len()))
        };
        loop {
            match there().await {
                Ok(all) => return Ok(all),
                Err(error) => editing.passes(error).await?,
            }
        }
    }

    #[cfg(not(feature = "seal"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    async fn are_there<T: Record>(&self, _: &T::Key, _: &mut Editing<'_, T>) -> Result<bool> {
        Ok(true)
    }

    /// Removes them, and unless buckets are left, those of the key that none of these refers to. Returns the number of copies.
    #[cfg(feature = "seal")]
    pub(super) async fn remove<T: Record>(
        self,
        key: &T::Key,
        (is_dry, are_left): (bool, bool),
        editing: &mut Editing<'_, T>,
    ) -> Result<u64> {
        let Some(copies) = copies(editing) else {
            return Ok(0);
        };
        if is_dry {
            return copies.count_key::<T>(key).await;
        }
        if are_left && copies.are_files() {
            // A file that has some of these may have others, too.
            return Ok(0);
        }
        let (mut removed, mut of_ids) = (0, false);
        loop {
            let more = if of_ids {
                copies.remove_key::<T>(key).await
            } else {
                copies.remove::<T>(key, &self.copies).await
            };
            match more {
                Ok(more) => {
                    removed += editing.removed(more);
                    if of_ids || are_left {
                        return Ok(removed);
                    }
                    of_ids = true;
                }
                Err(error) => editing.passes(error).await?,
            }
        }
    }

    #[cfg(not(feature = "seal"))]
    #[expect(clippy::unused_async, reason = "as with the feature")]
    pub(super) async fn remove<T: Record>(
        self,
        _: &T::Key,
        _: (bool, bool),
        _: &mut Editing<'_, T>,
    ) -> Result<u64> {
        Ok(0)
    }
}

fn invalid<T: Record>(message: &str, editing: &Editing<'_, T>) -> Error {
    let message = message.to_owned();
    Error::new(ErrorKind::InvalidArgument { message }, editing.context())
}

/// The archive of the handle.
#[cfg(feature = "seal")]
fn copies<T: Record>(editing: &Editing<'_, T>) -> Option<crate::action::archive::Copies> {
    let store = editing.buckets.store();
    let archived = store.archived()?;
    Some(crate::action::archive::Copies::new(
        &archived.copies,
        store,
        editing.left(),
        editing.context().clone(),
    ))
}
