//! The source of records, and how far it has been stored.
//!
//! Each bucket keeps the position of the last record that a source has put into it (`sources.<name>`),
//! written together with the records. A statement requires that its records come after that position, so
//! repeated records are refused. The positions of one key rise with its buckets, so the newest bucket that
//! has the field shows how far the key has got.

use std::{fmt, sync::Arc};

use crate::{
    model::{key::KeyValue, spec::BucketSpec},
    stats::tally,
};

/// The field of a bucket that keeps the positions.
pub const SOURCES: &str = "sources";

/// The longest name of a source, in bytes.
const MAX_NAME: usize = 200;

/// A source of records, by its name.
///
/// ```
/// # use bucket_core::{BucketSpec, write::{Source, SourceError}};
/// fn source(spec: &BucketSpec) -> Result<Source, SourceError> {
///     Source::new(spec, "orders-3")
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    path: Arc<str>,
}

/// Why records of a model cannot come from a source with this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceError {
    message: String,
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SourceError {}

impl Source {
    /// Makes a source of records of this model.
    ///
    /// # Errors
    ///
    /// [`SourceError`] for a name that is empty or longer than 200 bytes, a model with a longest duration,
    /// whose records are taken in time order, and a model with a field `sources` of its own.
    pub fn new(spec: &BucketSpec, name: &str) -> Result<Self, SourceError> {
        let refused = |message: String| Err(SourceError { message });
        if name.is_empty() || name.len() > MAX_NAME {
            return refused(format!(
                "the name of a source must take 1 to {MAX_NAME} bytes"
            ));
        }
        if spec.form().sorts() {
            return refused(
                "buckets with a longest duration take records in order of time, so a source's positions \
                 would not rise in them: use another form"
                    .to_owned(),
            );
        }
        if is_taken(spec) {
            return refused(format!(
                "buckets keep positions under `{SOURCES}`, but `{}` has a field of that name: rename it",
                spec.record()
            ));
        }
        let mut path = format!("{SOURCES}.");
        tally::push_name(&mut path, KeyValue::String(name));
        Ok(Self { path: path.into() })
    }

    /// The position of a record, from the position of the first one and its index; `None` beyond the last
    /// possible position.
    ///
    /// ```
    /// use bucket_core::write::Source;
    ///
    /// assert_eq!(Source::position(7, 2), Some(9));
    /// assert_eq!(Source::position(i64::MAX, 0), Some(i64::MAX));
    /// assert_eq!(Source::position(i64::MAX, 1), None);
    /// ```
    #[must_use]
    pub fn position(first: i64, index: usize) -> Option<i64> {
        first.checked_add(i64::try_from(index).ok()?)
    }

    /// The field of a bucket that keeps the position.
    ///
    /// ```
    /// # use bucket_core::write::Source;
    /// fn is_kept_in(source: &Source) -> &str {
    ///     source.path()
    /// }
    /// ```
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn shared_path(&self) -> Arc<str> {
        Arc::clone(&self.path)
    }
}

fn is_taken(spec: &BucketSpec) -> bool {
    let names = spec.names();
    let own = spec.own_fields().map(|own| own.name(names));
    let own = own.chain([spec.items(), names.count]);
    let keys = spec.keys().iter().map(|key| key.path);
    let aggregates = spec.aggregates().iter();
    let aggregates = aggregates.map(|aggregate| aggregate.path);
    let arrays = spec.shared_arrays().map(|array| array.name);
    let paths = own.chain(keys).chain(aggregates).chain(arrays);
    let mut heads = paths.map(|path| path.split('.').next().unwrap_or_default());
    heads.any(|head| head == SOURCES)
}
