//! The removal of what a quarantine has of a key.

use bucket_core::{
    Record,
    read::ReadLevel,
    repair::{copied_archived, copies_of_key, is_copy_of_key, remove_copies},
};
use mongodb::bson::RawDocumentBuf;

use super::editing::Editing;
use crate::Result;

/// The most copies that one command removes.
const MOST: usize = 1_000;

/// The copies of a key's buckets in a quarantine.
pub(super) struct Copies<'a, T: Record> {
    pub(super) key: &'a T::Key,
    pub(super) quarantine: &'a str,
    pub(super) is_dry: bool,
}

impl<'a, T: Record> Copies<'a, T> {
    /// The buckets among them whose items are in the archive: nothing else may know of the copies there.
    pub(super) async fn archived(
        &self,
        editing: &mut Editing<'a, T>,
    ) -> Result<Vec<RawDocumentBuf>> {
        editing.goes_on_in(self.quarantine);
        let found = editing.read(copies_of_key::<T>(self.key)).await;
        editing.comes_back();
        let mut found = found?;
        found.retain(|copy| is_copy_of_key::<T>(copy, self.key));
        let archived = found.iter().filter_map(|copy| copied_archived(copy));
        Ok(archived.map(ToOwned::to_owned).collect())
    }

    /// Removes them, and returns their number. The session of the edits reads only the quarantine from now on.
    pub(super) async fn run(self, editing: &mut Editing<'a, T>) -> Result<u64> {
        editing.goes_on_in(self.quarantine);
        let is_certain = !self.is_dry && editing.is_certain().await?;
        let (mut removed, mut level) = (0, ReadLevel::Local);
        loop {
            let mut plan = copies_of_key::<T>(self.key);
            plan.level = level;
            let mut found = match level {
                ReadLevel::Local => editing.read(plan).await?,
                _ => editing.certain(plan).await?,
            };
            found.retain(|copy| is_copy_of_key::<T>(copy, self.key));
            if self.is_dry {
                return Ok(u64::try_from(found.len()).unwrap_or(u64::MAX));
            }
            if found.is_empty() {
                if !is_certain || level != ReadLevel::Local {
                    return Ok(removed);
                }
                // The primary may show the work of another removal that a failover takes back.
                level = ReadLevel::CausalMajority;
                continue;
            }
            level = ReadLevel::Local;
            for some in found.chunks(MOST) {
                let command = remove_copies(self.quarantine, some);
                let made = editing.send(command, some.len()).await?.made();
                removed += editing.removed(made);
            }
        }
    }
}
