//! What a program branches on.

use bucket_core::Damage;

use super::{Error, ErrorKind};

/// Questions with yes or no. An interrupted move of a collection, or a backfill, answers as its cause does.
impl Error {
    /// Whether the same call can be made again without storing anything twice, and may succeed.
    ///
    /// ```
    /// # use bucket_mongo::{Bucketed, Buckets, Error};
    /// # use std::time::Duration;
    /// async fn store<T: Bucketed>(buckets: &Buckets<T>, record: &T) -> Result<(), Error> {
    ///     for _ in 0..5 {
    ///         match buckets.insert(record).await {
    ///             Err(error) if error.is_retryable() => tokio::time::sleep(Duration::from_secs(1)).await,
    ///             done => return done.map(|_| ()),
    ///         }
    ///     }
    ///     buckets.insert(record).await.map(|_| ())
    /// }
    /// ```
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind().is_retryable()
    }

    /// Whether it is not known if the records were stored. In every other error they were not.
    ///
    /// ```
    /// fn status(error: &bucket_mongo::Error) -> &'static str {
    ///     if error.is_outcome_unknown() { "look before you send it again" } else { "not stored" }
    /// }
    /// ```
    #[must_use]
    pub fn is_outcome_unknown(&self) -> bool {
        self.kind().is_outcome_unknown()
    }

    /// Whether the call itself is at fault: an argument, a cursor token, a record or document that cannot be
    /// stored, or a range whose sum passes 64 bits. The same call fails again.
    ///
    /// ```
    /// fn status(error: &bucket_mongo::Error) -> u16 {
    ///     match error {
    ///         error if error.is_invalid_input() => 400,
    ///         error if error.is_conflict() || error.is_duplicate_key() => 409,
    ///         error if error.is_overloaded() => 429,
    ///         error if error.is_retryable() => 503,
    ///         _ => 500,
    ///     }
    /// }
    /// # let _ = status;
    /// ```
    #[must_use]
    pub fn is_invalid_input(&self) -> bool {
        match self.cause() {
            ErrorKind::InvalidArgument { .. }
            | ErrorKind::InvalidToken(_)
            | ErrorKind::Encode(_)
            | ErrorKind::Moves { .. }
            | ErrorKind::UnknownField { .. }
            | ErrorKind::Overflow(_) => true,
            ErrorKind::Document(error) => !error.is_stored(),
            _ => false,
        }
    }

    /// Whether a unique index of your own refused the record.
    ///
    /// ```
    /// fn is_taken(error: &bucket_mongo::Error) -> bool {
    ///     error.is_duplicate_key() // its `kind()` names the index
    /// }
    /// ```
    #[must_use]
    pub fn is_duplicate_key(&self) -> bool {
        matches!(self.cause(), ErrorKind::DuplicateKey { .. })
    }

    /// Whether the id of the record (`#[bucket(unique)]`) is stored with other data.
    ///
    /// ```
    /// fn goes_to_the_dead_letters(error: &bucket_mongo::Error) -> bool {
    ///     error.is_conflict() || error.is_invalid_input()
    /// }
    /// ```
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(self.cause(), ErrorKind::Conflict { .. })
    }

    /// Whether the record of an edit is no longer the one that was read.
    ///
    /// ```
    /// fn status(error: &bucket_mongo::Error) -> u16 {
    ///     if error.is_changed() { 409 } else { 500 }
    /// }
    /// ```
    #[must_use]
    pub fn is_changed(&self) -> bool {
        matches!(self.cause(), ErrorKind::Changed)
    }

    /// Whether something that is stored cannot be read or appended to: a bucket or a document that does not fit
    /// the model. A walk can go on after it: [`continue_after`](Self::continue_after).
    ///
    /// ```
    /// fn alert(error: &bucket_mongo::Error) -> Option<String> {
    ///     error.is_damaged().then(|| format!("repair it: {error}"))
    /// }
    /// ```
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        match self.cause() {
            ErrorKind::Damaged(_) => !self.is_archived() && !self.is_partial(),
            ErrorKind::Document(error) => error.is_stored(),
            _ => false,
        }
    }

    /// Whether a bucket is archived, and the handle does not know the archive (`with_archive`), or the operation does not
    /// go there (`restore_from` first). Nothing is wrong with the bucket.
    ///
    /// ```
    /// fn hint(error: &bucket_mongo::Error) -> Option<&'static str> {
    ///     error.is_archived().then_some("its items are in the archive")
    /// }
    /// ```
    #[must_use]
    pub fn is_archived(&self) -> bool {
        match self.cause() {
            ErrorKind::Damaged(bucket) => matches!(bucket.damage(), Damage::Archived),
            _ => false,
        }
    }

    /// Whether a read needs records that have expired, of a bucket of which only the statistics are kept: a bound of a range or
    /// of a step cuts the bucket. Nothing is wrong with it.
    ///
    /// ```
    /// fn hint(error: &bucket_mongo::Error) -> Option<&'static str> {
    ///     error.is_partial().then_some("ask for whole days")
    /// }
    /// ```
    #[must_use]
    pub fn is_partial(&self) -> bool {
        match self.cause() {
            ErrorKind::Partial { .. } => true,
            ErrorKind::Damaged(bucket) => matches!(
                bucket.damage(),
                Damage::Expired { .. } | Damage::NeverStored { .. }
            ),
            _ => false,
        }
    }

    /// Whether `ensure()` creates what is missing, or waits for it: an index that the model needs.
    ///
    /// ```
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn insert<T: Bucketed>(buckets: &Buckets<T>, record: &T) -> Result<()> {
    ///     match buckets.insert(record).await {
    ///         Err(error) if error.needs_ensure() => {
    ///             buckets.ensure().await?;
    ///             buckets.insert(record).await.map(|_| ())
    ///         }
    ///         done => done.map(|_| ()),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn needs_ensure(&self) -> bool {
        matches!(
            self.cause(),
            ErrorKind::MissingIndex { .. } | ErrorKind::UnfinishedIndex { .. }
        )
    }

    /// Whether the model and the collection do not go together, so that somebody has to decide: another kind
    /// of collection, an index in the way, or full buckets that are too large. `ensure()` without options
    /// cannot mend it.
    ///
    /// ```
    /// # use bucket_mongo::{Bucketed, Buckets, Error};
    /// async fn start<T: Bucketed>(buckets: &Buckets<T>) -> Result<(), Error> {
    ///     match buckets.ensure().await {
    ///         Err(error) if error.is_drift() => panic!("do not deploy: {error}"),
    ///         done => done.map(|_| ()),
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn is_drift(&self) -> bool {
        matches!(
            self.cause(),
            ErrorKind::Drift(_)
                | ErrorKind::OtherCapacity { .. }
                | ErrorKind::IndexBuild { .. }
                | ErrorKind::BucketTooLarge { .. }
        )
    }

    /// Whether no server could be reached in time; nothing was stored.
    ///
    /// ```
    /// fn is_healthy(last: &bucket_mongo::Error) -> bool {
    ///     !last.is_unreachable()
    /// }
    /// ```
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self.cause(), ErrorKind::Unreachable { .. })
    }

    /// Whether a read took longer than its deadline or its `max_time`.
    ///
    /// ```
    /// fn status(error: &bucket_mongo::Error) -> u16 {
    ///     if error.is_timed_out() { 504 } else { 500 }
    /// }
    /// ```
    #[must_use]
    pub fn is_timed_out(&self) -> bool {
        matches!(self.cause(), ErrorKind::TimedOut { .. })
    }

    /// Whether the server does not accept the credentials or does not permit the operation.
    ///
    /// ```
    /// fn stop_the_service(error: &bucket_mongo::Error) -> bool {
    ///     error.is_unauthorized() || error.is_drift()
    /// }
    /// ```
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        matches!(self.cause(), ErrorKind::Unauthorized { .. })
    }

    /// Whether the buffer of an ingestor is full: take less, or wait.
    ///
    /// ```
    /// fn status(error: &bucket_mongo::Error) -> u16 {
    ///     if error.is_overloaded() { 429 } else { 500 }
    /// }
    /// ```
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        matches!(self.cause(), ErrorKind::Overloaded { .. })
    }

    /// Whether the ingestor takes nothing more. The record is not stored.
    ///
    /// ```
    /// fn leave_in_the_queue(error: &bucket_mongo::Error) -> bool {
    ///     error.is_shut_down() || error.is_retryable()
    /// }
    /// ```
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        matches!(self.cause(), ErrorKind::ShutDown)
    }

    /// The kind, or that of what interrupted it.
    fn cause(&self) -> &ErrorKind {
        let mut kind = self.kind();
        while let ErrorKind::Interrupted { cause, .. }
        | ErrorKind::RemovedInPart { cause }
        | ErrorKind::BackfilledInPart { cause, .. } = kind
        {
            kind = cause;
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;
    use crate::error::{
        Context, DamagedBucket,
        samples::{NAMES, kinds, place},
    };

    type Predicate = (&'static str, fn(&Error) -> bool);

    const PREDICATES: [Predicate; 16] = [
        ("is_retryable", Error::is_retryable),
        ("is_outcome_unknown", Error::is_outcome_unknown),
        ("is_invalid_input", Error::is_invalid_input),
        ("is_duplicate_key", Error::is_duplicate_key),
        ("is_conflict", Error::is_conflict),
        ("is_changed", Error::is_changed),
        ("is_damaged", Error::is_damaged),
        ("is_archived", Error::is_archived),
        ("is_partial", Error::is_partial),
        ("needs_ensure", Error::needs_ensure),
        ("is_drift", Error::is_drift),
        ("is_unreachable", Error::is_unreachable),
        ("is_timed_out", Error::is_timed_out),
        ("is_unauthorized", Error::is_unauthorized),
        ("is_overloaded", Error::is_overloaded),
        ("is_shut_down", Error::is_shut_down),
    ];

    fn error(kind: ErrorKind) -> Error {
        let context = Context {
            operation: "insert",
            collection: "trades",
            spec: None,
            key: None,
        };
        Error::new(kind, &context)
    }

    /// The rows of the book's table, as the name of a kind and the predicates that hold for it. Where they depend
    /// on something, the page names them all.
    fn rows() -> Vec<(String, BTreeSet<String>)> {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src/errors.md");
        let page = fs::read_to_string(page).unwrap();
        let (_, table) = page.split_once("| kind | cause |").unwrap();
        let rows = table.lines().skip(2).take_while(|row| row.starts_with('|'));
        let quoted = |cell: &str| -> BTreeSet<String> {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        rows.map(|row| {
            let cells: Vec<&str> = row.split(" | ").collect();
            let name = quoted(cells[0]).pop_first().unwrap();
            (name, quoted(cells[2]))
        })
        .collect()
    }

    #[test]
    fn the_page_on_errors_names_what_holds_for_each_kind() {
        let rows = rows();
        for (at, name) in NAMES.iter().enumerate() {
            let (_, named) = rows.iter().find(|(kind, _)| kind == name).expect(name);
            let mut holds = BTreeSet::new();
            let mut samples: Vec<ErrorKind> = kinds("")
                .into_iter()
                .filter(|kind| place(kind) == at)
                .collect();
            if *name == "Server" {
                // A statement that a failover interrupts.
                samples.push(ErrorKind::Server {
                    code: 11_602,
                    message: String::new(),
                });
            }
            if *name == "Damaged" {
                let archived = DamagedBucket::new("", Damage::Archived);
                samples.push(ErrorKind::Damaged(archived));
            }
            for kind in samples {
                let error = error(kind);
                let held = PREDICATES.iter().filter(|(_, holds)| holds(&error));
                holds.extend(held.map(|(name, _)| (*name).to_owned()));
            }
            assert_eq!(&holds, named, "{name}");
        }
        assert_eq!(rows.len(), NAMES.len());
    }

    #[test]
    fn what_was_interrupted_answers_as_its_cause() {
        for cause in kinds("") {
            let alone = error(cause.clone());
            let cause = Box::new(cause);
            let moving = ErrorKind::Interrupted {
                after: None,
                cause: cause.clone(),
            };
            let backfilling = ErrorKind::BackfilledInPart {
                read: 0,
                cause: cause.clone(),
            };
            for interrupted in [moving, backfilling, ErrorKind::RemovedInPart { cause }] {
                let interrupted = error(interrupted);
                for (name, holds) in PREDICATES {
                    // Neither does anything twice.
                    let expected =
                        holds(&alone) || name == "is_retryable" && alone.is_outcome_unknown();
                    assert_eq!(holds(&interrupted), expected, "{name}: {interrupted:?}");
                }
            }
        }
    }
}
