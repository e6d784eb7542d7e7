//! Reads the outcome of each statement from a reply.

use bson::{Bson, Document};

use super::{
    Step,
    codes::{
        BAD_VALUE, CONVERSION_FAILURE, DUPLICATE_KEY, IMMUTABLE_FIELD, NO_ARRAYS, OTHER_COLLECTION,
        RESULT_TOO_LARGE, SET_TWICE, TOO_LARGE, is_transient, names_no_index, other_kind,
    },
};
use crate::model::{
    form::OrderedBy,
    spec::{BucketSpec, ID_INDEX, UNIQUE_INDEX},
    whole,
};
/// The outcome of one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Its records are stored.
    Applied,
    /// The bucket was not as last seen; nothing was changed.
    Missed,
    /// The bucket could not be opened because another one of its key is open; nothing was changed.
    OtherOpen,
    /// A bucket of the key already has the id of one of its records; nothing was changed.
    Repeated,
    /// The collection is no longer the same one, or is gone; nothing was changed.
    OtherCollection,
    /// The name belongs to what is no plain collection, as `listCollections` calls it; nothing was changed.
    OtherKind(&'static str),
    /// The server refused it; nothing was changed.
    Failed(WriteFailure),
    /// An ordered command stopped before it.
    NotTried,
}

/// The server's error for a statement that it refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteFailure {
    /// The server's error code.
    pub code: i32,
    /// The server's message.
    pub message: String,
}

impl WriteFailure {
    /// Makes the error of a whole command.
    ///
    /// ```
    /// use bucket_core::write::WriteFailure;
    ///
    /// let failure = WriteFailure::new(15, "nested too deep".to_owned());
    /// assert_eq!(failure.code, 15);
    /// ```
    #[must_use]
    pub fn new(code: i32, message: String) -> Self {
        Self { code, message }
    }
}

/// The reply to an `update` command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply {
    /// One for each statement.
    pub outcomes: Vec<Outcome>,
    /// The statements that opened a bucket, in order.
    pub opened: Vec<usize>,
    /// The write concern was not met: what was applied may be rolled back.
    pub write_concern_error: Option<WriteFailure>,
}

impl Reply {
    /// Reads the reply to a command of these steps.
    ///
    /// ```
    /// use bson::doc;
    /// # use bucket_core::{BucketSpec, write::{Reply, Step}};
    /// fn stored(spec: &BucketSpec, steps: &[&Step]) -> usize {
    ///     let reply = Reply::read(spec, steps, true, &doc! { "ok": 1, "n": 1 });
    ///     reply.outcomes.len()
    /// }
    /// ```
    #[must_use]
    pub fn read(spec: &BucketSpec, steps: &[&Step], ordered: bool, reply: &Document) -> Self {
        let mut outcomes = vec![Outcome::Applied; steps.len()];
        let errors = reply
            .get_array("writeErrors")
            .map(Vec::as_slice)
            .unwrap_or_default();
        for error in errors.iter().filter_map(Bson::as_document) {
            let index = whole::field(error, "index").and_then(|index| usize::try_from(index).ok());
            let Some(at) = index.filter(|index| *index < outcomes.len()) else {
                continue;
            };
            let failure = WriteFailure::read(error);
            outcomes[at] = if steps[at].action().opens_last() && failure.meets_packed_items() {
                Outcome::Missed
            } else {
                refused(spec, failure)
            };
            if ordered {
                outcomes[at + 1..].fill(Outcome::NotTried);
            }
        }
        // Without upsert only `n` shows that no bucket with room matched.
        if let [step] = steps {
            let untouched = whole::field(reply, "n") == Some(0);
            if step.action().is_lone() && untouched && outcomes[0] == Outcome::Applied {
                outcomes[0] = Outcome::Missed;
            }
        }
        let write_concern_error = reply.get_document("writeConcernError").ok();
        let upserted = reply.get_array("upserted").map(Vec::as_slice);
        let upserted = upserted.unwrap_or_default().iter();
        let place = |entry: &Bson| whole::field(entry.as_document()?, "index");
        let opened = upserted.filter_map(place).map(usize::try_from);
        let mut opened: Vec<usize> = opened.filter_map(Result::ok).collect();
        opened.sort_unstable();
        Self {
            outcomes,
            opened,
            write_concern_error: write_concern_error.map(WriteFailure::read),
        }
    }
}

fn refused(spec: &BucketSpec, failure: WriteFailure) -> Outcome {
    if let Some(kind) = failure.other_kind() {
        return Outcome::OtherKind(kind);
    }
    match (failure.code, failure.index()) {
        (IMMUTABLE_FIELD | SET_TWICE, _) => Outcome::Missed,
        (OTHER_COLLECTION, _) => Outcome::OtherCollection,
        (DUPLICATE_KEY, Some(index)) if is_open(spec, index) => Outcome::OtherOpen,
        (DUPLICATE_KEY, Some(UNIQUE_INDEX)) if spec.unique().is_some() => Outcome::Repeated,
        (DUPLICATE_KEY, Some(index)) if is_own(spec, index) => Outcome::Missed,
        _ => Outcome::Failed(failure),
    }
}

/// Whether a unique index is the model's index on open buckets.
fn is_open(spec: &BucketSpec, index: &str) -> bool {
    spec.open_index_name().is_some_and(|own| own == index)
}

/// Whether a unique index is another index of the model.
fn is_own(spec: &BucketSpec, index: &str) -> bool {
    spec.identity_index_name() == index
        || (spec.ordered_by() == OrderedBy::Number && spec.pages_index_name() == index)
}

impl WriteFailure {
    pub(crate) fn read(error: &Document) -> Self {
        let code = whole::field(error, "code").and_then(|code| i32::try_from(code).ok());
        let message = error.get_str("errmsg").unwrap_or_default().to_owned();
        Self {
            code: code.unwrap_or_default(),
            message,
        }
    }

    /// Whether the server only says that it cannot take the write at the moment, as in a failover.
    ///
    /// ```
    /// # use bucket_core::write::WriteFailure;
    /// fn worth_another_try(failure: &WriteFailure) -> bool {
    ///     failure.is_transient()
    /// }
    /// ```
    #[must_use]
    pub fn is_transient(&self) -> bool {
        is_transient(self.code)
    }

    /// Whether the server lets the document grow no further: it would exceed the size of a document, or a sum
    /// in it would exceed 64 bits.
    pub(super) fn is_outgrown(&self) -> bool {
        match self.code {
            TOO_LARGE | RESULT_TOO_LARGE | CONVERSION_FAILURE => true,
            BAD_VALUE => self.message.contains("Failed to apply $inc"),
            _ => false,
        }
    }

    /// Whether the statement matched a sealed bucket: the server found binary data in the place of the array, before
    /// it came to what else refuses the statement.
    fn meets_packed_items(&self) -> bool {
        match self.code {
            NO_ARRAYS => true,
            BAD_VALUE => self.message.contains("must be an array but"),
            _ => false,
        }
    }

    /// Whether the index that the statement names is missing.
    ///
    /// ```
    /// # use bucket_core::write::WriteFailure;
    /// fn is_set_up(failure: &WriteFailure) -> bool {
    ///     !failure.misses_an_index()
    /// }
    /// ```
    #[must_use]
    pub fn misses_an_index(&self) -> bool {
        self.code == BAD_VALUE && names_no_index(&self.message)
    }

    /// What the name belongs to, where the server says that it is no plain collection.
    ///
    /// ```
    /// use bucket_core::write::WriteFailure;
    ///
    /// let refusal = "Time-series updates are not enabled".to_owned();
    /// assert_eq!(WriteFailure::new(72, refusal).other_kind(), Some("timeseries"));
    /// ```
    #[must_use]
    pub fn other_kind(&self) -> Option<&'static str> {
        other_kind(self.code, &self.message)
    }

    /// The unique index that a duplicate key was found in.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        // `.. collection: db.name index: NAME dup key: {..}`, with the index's collation after the name if it
        // has one. Values appear only after `dup key`.
        let (head, key) = self.message.split_once(" dup key")?;
        let Some((_, name)) = head.rsplit_once(" index: ") else {
            // A clustered collection has no index on `_id`, and the server names none.
            return key.starts_with(": { _id: ").then_some(ID_INDEX);
        };
        Some(
            name.split_once(" collation:")
                .map_or(name, |(name, _)| name)
                .trim(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::WriteFailure;
    use crate::write::codes::DUPLICATE_KEY;

    fn index(rest: &str) -> Option<String> {
        let message = format!("E11000 duplicate key error collection: shop.trades{rest}");
        let failure = WriteFailure::new(DUPLICATE_KEY, message);
        failure.index().map(ToOwned::to_owned)
    }

    #[test]
    fn the_refusing_index_is_the_named_one_or_that_of_ids_if_none_is_named() {
        let english = " collation: { locale: \"en\", strength: 2 }";
        for (rest, expected) in [
            (" index: _id_ dup key: { _id: \"a\" }".to_owned(), "_id_"),
            (
                format!(" index: by_hand{english} dup key: {{ k: \"0x29\" }}"),
                "by_hand",
            ),
            (
                " index: of k dup key: { k: \" index: other dup key: \" }".to_owned(),
                "of k",
            ),
            // A clustered collection.
            (
                " dup key: { _id: \"1 index: other dup key: { _id: 2 }\" }".to_owned(),
                "_id_",
            ),
        ] {
            assert_eq!(index(&rest).as_deref(), Some(expected), "{rest}");
        }
        assert_eq!(index(" dup key: { _idx: 1 }"), None);
        assert_eq!(index(""), None);
    }
}
