//! What is known about a part: what it is made of, and whether it is complete. A file always has a marker, so the next export
//! finds it.

use serde::{Deserialize, Serialize};

/// What a part is made of. Two of them are the same if another export would write the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The key as canonical extended JSON.
    pub(crate) key: String,
    /// The time range, as far as it cuts the part: milliseconds.
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    /// The settings of the files.
    pub(crate) format: String,
    /// A hash of the columns.
    pub(crate) columns: String,
    /// A hash of the ids, counts, numbers of edits and aggregates of the buckets.
    pub(crate) buckets: String,
}

impl Origin {
    /// Whether it has a time that the other one, which has the same part, does not have.
    pub(crate) fn has_more_than(&self, other: &Self) -> bool {
        let earlier = other
            .from
            .is_some_and(|from| self.from.is_none_or(|own| own < from));
        let later = other
            .to
            .is_some_and(|to| self.to.is_none_or(|own| own > to));
        earlier || later
    }
}

/// A part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    /// The version of this form.
    pub(crate) version: u32,
    pub(crate) origin: Origin,
    /// `None` from before the file gets its name until it has it.
    pub(crate) complete: Option<Complete>,
}

/// A complete file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Complete {
    pub(crate) records: u64,
    /// The size of the file.
    pub(crate) bytes: u64,
}

impl Marker {
    pub(crate) const VERSION: u32 = 1;

    /// The marker of these bytes; `None` if another version has written it.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let marker: Self = serde_json::from_slice(bytes).ok()?;
        (marker.version == Self::VERSION).then_some(marker)
    }
}

/// An export, at the root of its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OfExport {
    pub(crate) version: u32,
    pub(crate) database: String,
    pub(crate) collection: String,
    /// The UUID of the collection: one that was made anew has another. `None` if there was no collection yet, or if the user
    /// may not see it.
    pub(crate) uuid: Option<String>,
    pub(crate) extension: String,
    pub(crate) partition_by: String,
}

impl OfExport {
    /// Whether both may write into one folder.
    pub(crate) fn goes_with(&self, other: &Self) -> bool {
        let uuids = self.uuid.as_ref().zip(other.uuid.as_ref());
        let same = Self {
            uuid: other.uuid.clone(),
            ..self.clone()
        };
        same == *other && uuids.is_none_or(|(one, other)| one == other)
    }
}

/// The bytes of either.
pub(crate) fn bytes(of: &impl Serialize) -> Vec<u8> {
    // Its fields are texts and numbers, which JSON has.
    serde_json::to_vec_pretty(of).unwrap_or_default()
}
