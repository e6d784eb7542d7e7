//! `insert`: stores one record, with one statement if a bucket of its key is open.

use std::{fmt, time::Duration};

use bucket_core::Record;
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{
    ActionFuture,
    insert_one::{Inserted, insert_one},
    insert_or_replace::InsertOrReplace,
    replacement::Replacement,
};
use crate::{
    Buckets, Result, error::Context, trace, write_setters::write_setters, writer::Settings,
};
#[cfg(doc)]
use crate::{ErrorKind, RecordOutcome};

impl<T: Record> Buckets<T> {
    /// Stores one record in the open bucket of its key, or in a new one.
    ///
    /// If this handle or a clone of it has written to the key's open bucket before, this is one statement and
    /// one round trip, however many buckets the key has. The first record of a key, and each record that
    /// opens a bucket, takes one to three more.
    ///
    /// Many tasks are cheaper together: while four inserts of the handle and its clones are under way, further ones wait
    /// for those, a quarter of a second at most, and share the next commands. Each gets the result of its own record.
    /// Calls with settings of their own do not share.
    ///
    /// Settings: `session`, `write_concern`, `deadline`.
    ///
    /// # Errors
    ///
    /// With [`ErrorKind::OutcomeUnknown`] the record may be stored; with every other error this call did not store it.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn store<T: Bucketed>(buckets: &Buckets<T>, record: &T) -> Result<()> {
    ///     let inserted = buckets.insert(record).await?;
    ///     if inserted.opened_bucket {
    ///         println!("a new page has begun");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    pub fn insert<'a>(&'a self, record: &'a T) -> Insert<'a, T> {
        Insert {
            buckets: self,
            record,
            replacement: Replacement::of_model(),
            session: None,
            settings: Settings::default(),
        }
    }
}

/// An insert of one record; see [`Buckets::insert`].
#[must_use = "nothing is stored until this is awaited"]
pub struct Insert<'a, T: Record> {
    buckets: &'a Buckets<T>,
    record: &'a T,
    replacement: Option<Replacement<'a, T>>,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record> Insert<'a, T> {
    write_setters! {
        /// Runs the operation in this session. In a transaction the first write conflict ends the
        /// transaction, as the server requires; the error then carries the label `TransientTransactionError`.
        session,
        /// Sets how long the write is retried; see [`Buckets::with_deadline`].
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's.
        write_concern,
    }

    /// Replaces a record that is stored under the same id with other data, instead of
    /// [`ErrorKind::Conflict`]. The outcome is then [`Replaced`](RecordOutcome::Replaced).
    ///
    /// The call that comes last wins: if an older version may arrive later, or again, use
    /// [`replace_if`](Self::replace_if). The replacement is an [`update`](Buckets::update): aggregates are
    /// right in the same statement, and a time that the bucket does not take moves the record. A removed
    /// record stays removed, and the outcome is [`Duplicate`](RecordOutcome::Duplicate).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn latest_wins<T: Bucketed>(prices: &Buckets<T>, price: &T) -> Result<()> {
    ///     prices.insert(price).replace().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn replace(self) -> Self {
        self.replace_if(|_, _| true)
    }

    /// Replaces a record that is stored under the same id with other data, if `replaces` says so: it gets the
    /// stored record and the new one. Otherwise the stored record stays, and the outcome is
    /// [`Superseded`](RecordOutcome::Superseded). So with a version in the record, an older version that
    /// arrives late, or again, never overwrites a newer one. See [`replace`](Self::replace).
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, bson::DateTime};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Bucketed)]
    /// # #[bucket(collection = "prices", items = "prices", capacity = 100)]
    /// # struct Price {
    /// #     #[bucket(key)] product: String,
    /// #     #[bucket(time)] at: DateTime,
    /// #     #[bucket(unique)] id: i64,
    /// #     version: i32,
    /// # }
    /// async fn latest_version_wins(prices: &Buckets<Price>, price: &Price) -> Result<()> {
    ///     prices
    ///         .insert(price)
    ///         .replace_if(|stored, new| new.version > stored.version)
    ///         .await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_if(mut self, replaces: impl Fn(&T, &T) -> bool + Send + Sync + 'a) -> Self {
        self.replacement = Some(Replacement::new(replaces));
        self
    }

    async fn run(mut self) -> Result<Inserted> {
        let Some(replacement) = self.replacement.take() else {
            let context = Context::of::<T>("insert", &self.record.key());
            return insert_one(
                self.buckets,
                self.record,
                self.session,
                &self.settings,
                context,
            )
            .await;
        };
        let insert = InsertOrReplace {
            buckets: self.buckets,
            operation: "insert",
            record: self.record,
            replaces: replacement.replaces(),
            session: self.session,
            settings: self.settings,
        };
        replacement.insert(insert).await
    }
}

impl<T: Record> fmt::Debug for Insert<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Insert")
            .field("key", &self.record.key())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

impl<'a, T: Record> IntoFuture for Insert<'a, T> {
    type Output = Result<Inserted>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let span = tracing::debug_span!(
            target: trace::WRITE,
            "insert",
            collection = T::SPEC.collection(),
        );
        Box::pin(self.run().instrument(span))
    }
}
