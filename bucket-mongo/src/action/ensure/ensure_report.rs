//! What `ensure` did and found.

use std::fmt;

use bucket_core::{index::Drift, size};

/// What [`Buckets::ensure`](crate::Buckets::ensure) created, found and would change.
///
/// It prints as a short text, one line per entry.
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
    /// The names of the indexes that this call created, or that it waited for another call to build.
    pub created_indexes: Vec<String>,
    /// The names of the dropped indexes, which had another capacity, definition or form; or the model's own on
    /// open buckets, which gave way to a smaller capacity.
    pub dropped_indexes: Vec<String>,
    /// The names of the expiry indexes whose limit was changed, and of hidden indexes that are shown again.
    pub changed_indexes: Vec<String>,
    /// The validator of the collection.
    pub validator: Validated,
    /// The description of the collection.
    pub description: Described,
    /// The number of buckets from before the model had a limit that received the date from which their age
    /// counts.
    pub dated_buckets: u64,
    /// The names of the model's indexes that already existed.
    pub found_indexes: Vec<String>,
    /// What differs from the model and was not changed.
    pub drift: Vec<Drift>,
    /// Set if full buckets would be larger than recommended.
    pub size_warning: Option<SizeWarning>,
}

/// The validator of a collection after an [`ensure`](crate::Buckets::ensure).
///
/// ```
/// use bucket_mongo::action::Validated;
///
/// assert_eq!(Validated::Installed.to_string(), "validator installed");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Validated {
    /// The call did not ask for one.
    #[default]
    NotAsked,
    /// The collection had the model's already.
    Found,
    /// This call installed it where there was none.
    Installed,
    /// This call installed it in place of another one.
    Replaced,
    /// The collection keeps another one, as the drift says.
    Differs,
}

impl fmt::Display for Validated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAsked => "validator not asked for",
            Self::Found => "validator found",
            Self::Installed => "validator installed",
            Self::Replaced => "validator replaced",
            Self::Differs => "validator differs from the model",
        })
    }
}

/// The description of a collection after an [`ensure`](crate::Buckets::ensure).
///
/// ```
/// use bucket_mongo::action::Described;
///
/// assert_eq!(Described::NotPermitted.to_string(), "the user may not describe the collection");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Described {
    /// It was not looked at, because the collection is another model's or no plain one.
    #[default]
    NotLooked,
    /// It fits the model.
    Found,
    /// This call stored it, or what the model adds to it.
    Written,
    /// It differs from the model as the drift says, and was not changed.
    Differs,
    /// The user may not read or write the collection `bucket_models`. Nothing else needs that right.
    NotPermitted,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotLooked => "description not looked at",
            Self::Found => "description found",
            Self::Written => "description written",
            Self::Differs => "description differs from the model",
            Self::NotPermitted => "the user may not describe the collection",
        })
    }
}

/// A warning that full buckets would exceed the recommended size.
///
/// ```
/// fn print(warning: &bucket_mongo::action::SizeWarning) {
///     println!("{warning}");
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SizeWarning {
    /// The size of a record, in bytes: the average of stored records, or the tutorial's estimate.
    pub record_bytes: usize,
    /// The size of a full bucket of such records, in bytes.
    pub bucket_bytes: usize,
}

impl EnsureReport {
    /// Keeps what was done, and leaves out what was found: that is looked at again.
    pub(super) fn looks_again(&mut self) {
        self.found_indexes.clear();
        if self.validator == Validated::Found || self.validator == Validated::Differs {
            self.validator = Validated::NotAsked;
        }
        self.description = Described::NotLooked;
        self.drift.clear();
        self.size_warning = None;
    }

    /// Only what was done.
    pub(super) fn done(&self) -> Self {
        let mut done = self.clone();
        done.looks_again();
        done
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
        for name in &self.changed_indexes {
            write!(f, "\nindex `{name}` changed")?;
        }
        if self.dated_buckets > 0 {
            write!(f, "\n{} buckets dated", self.dated_buckets)?;
        }
        for name in &self.found_indexes {
            write!(f, "\nindex `{name}` found")?;
        }
        if self.validator != Validated::NotAsked {
            write!(f, "\n{}", self.validator)?;
        }
        // The others are what happens at every start.
        if let Described::Differs | Described::NotPermitted = self.description {
            write!(f, "\n{}", self.description)?;
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
            "with records of {} bytes a full bucket takes {} bytes, but at most {} are recommended: lower the capacity",
            self.record_bytes,
            self.bucket_bytes,
            size::RECOMMENDED_DOCUMENT_BYTES
        )
    }
}
