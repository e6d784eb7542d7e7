//! `delete_key`: removes everything that is stored of a key.

use std::time::Duration;

use bucket_core::{Record, edit::Edit};
use mongodb::{ClientSession, options::WriteConcern};
use tracing::Instrument;

use super::{Removed, archived_key::ArchivedKey, copies::Copies, editing::Editing};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::{ActionFuture, repair::default_quarantine},
    error::Context,
    trace,
    write_concern::durable,
    write_setters::write_setters,
    writer::Settings,
};

impl<T: Record> Buckets<T> {
    /// Removes all buckets of a key, so that no trace of the key or of its records is left in the collection, nor in
    /// the quarantine of [`repair`](Self::repair), nor in the archive that the handle knows. Returns how many records and buckets there were.
    ///
    /// Unlike [`delete`](Self::delete), nothing is left in the place of a record: record ids and positions of
    /// sources are forgotten, and a record that is delivered again is stored again. Stop the writers of the key
    /// first: what they store during the call may stay, and so may an empty key's first bucket.
    ///
    /// A damaged bucket whose key fields cannot be read is not found: [`verify`](Self::verify) and `repair` first. In
    /// the quarantine such a bucket is found by its id.
    ///
    /// The server keeps what was removed for as long as its oplog, its snapshots and your backups go back.
    ///
    /// Settings: `dry_run`, `quarantine`, `without_copies`, `session`, `write_concern`, `deadline`. The deadline is that of the whole
    /// call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Drift`] if the collection belongs to another model; [`ErrorKind::InvalidArgument`] if the quarantine is the collection itself, or in a transaction if the handle has an
    /// archive; the same if the archive does not have all copies that the key's buckets refer to, also those in the
    /// quarantine, and [`ErrorKind::Damaged`] if they refer to some and the handle has no archive, before anything is removed;
    /// [`ErrorKind::OutcomeUnknown`] if some buckets may be removed and there was no reply before the deadline: call it
    /// again. [`ErrorKind::RemovedInPart`] if some of it was removed before the error that it names: call it again. So it
    /// is if the user may not read the quarantine or remove from it ([`is_unauthorized`](Error::is_unauthorized)): then
    /// the collection itself has nothing of the key any more.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn erase<T: Bucketed>(buckets: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     let removed = buckets.delete_key(key).await?;
    ///     println!("{} records of {} buckets erased", removed.records, removed.buckets);
    ///     Ok(())
    /// }
    /// ```
    pub fn delete_key(&self, key: impl Into<T::Key>) -> DeleteKey<'_, T> {
        DeleteKey {
            buckets: self,
            key: key.into(),
            quarantine: default_quarantine::<T>(),
            is_dry: false,
            without_copies: false,
            session: None,
            settings: Settings::default(),
        }
    }
}

/// A removal of everything that is stored of a key; see [`Buckets::delete_key`].
#[must_use = "nothing is removed until this is awaited"]
#[derive(Debug)]
pub struct DeleteKey<'a, T: Record> {
    buckets: &'a Buckets<T>,
    key: T::Key,
    quarantine: String,
    is_dry: bool,
    without_copies: bool,
    session: Option<&'a mut ClientSession>,
    settings: Settings,
}

impl<'a, T: Record> DeleteKey<'a, T> {
    /// Only counts: returns what would be removed.
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        self
    }

    /// The name of the collection that [`repair`](Buckets::repair) moved damaged buckets into, in the same database;
    /// `NAME_quarantine` if not set. It need not exist.
    pub fn quarantine(mut self, name: impl Into<String>) -> Self {
        self.quarantine = name.into();
        self
    }

    /// Leaves what the archive has: for copies that are out of reach, because the archive is gone, or because they
    /// belong to another collection that this one was restored from. The archive is then not asked, and no archive need be known.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn erase_here<T: Bucketed>(restored_from_a_dump: &Buckets<T>, key: T::Key) -> Result<()> {
    ///     restored_from_a_dump.delete_key(key).without_copies().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn without_copies(mut self) -> Self {
        self.without_copies = true;
        self
    }

    write_setters! {
        /// Runs the operation in this session.
        session,
        /// Sets how long the whole call may take, instead of the handle's [deadline](Buckets::with_deadline).
        deadline,
        /// Sets the write concern instead of the handle's. In a session the default is the session's. With an archive it is
        /// always `{w: "majority", j: true}`.
        write_concern,
    }

    async fn run(self) -> Result<Removed> {
        let context = Context::of::<T>("delete_key", &self.key);
        if self.quarantine.is_empty() || self.quarantine == T::SPEC.collection() {
            let message = "the quarantine must be another collection".to_owned();
            return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
        }
        let mut settings = self.settings;
        let has_archive = !self.without_copies && self.buckets.store().archived().is_some();
        if has_archive && !self.is_dry {
            // A failover must not bring back buckets whose copies are gone. Transactions are refused below.
            settings.write_concern = Some(durable());
        }
        let erasure = Erasure {
            key: self.key,
            quarantine: self.quarantine,
            is_dry: self.is_dry,
            without_copies: self.without_copies,
        };
        let mut editing = Editing::new(self.buckets, self.session, &settings, context)?;
        let removed = erasure.run(&mut editing).await;
        removed.map_err(|error| editing.in_part(error))
    }
}

/// What is removed of a key.
struct Erasure<T: Record> {
    key: T::Key,
    quarantine: String,
    is_dry: bool,
    without_copies: bool,
}

impl<T: Record> Erasure<T> {
    fn copies(&self) -> Copies<'_, T> {
        Copies {
            key: &self.key,
            quarantine: &self.quarantine,
            is_dry: self.is_dry,
        }
    }

    async fn run<'a>(&'a self, editing: &mut Editing<'a, T>) -> Result<Removed> {
        editing.check_collection().await?;
        let (archived, unread) = if self.without_copies {
            (None, None)
        } else {
            let (archived, unread) = ArchivedKey::find(self.copies(), editing).await?;
            (Some(archived), unread)
        };
        let edit = Edit::delete_key(self.key.clone());
        let edited = editing.run(edit, self.is_dry).await?;
        let (records, buckets) = (edited.records, edited.buckets);
        // After the collection: a repair copies a bucket before it removes it.
        let quarantined = match unread {
            None => self.copies().run(editing).await?,
            Some(_) => 0,
        };
        // After all that says where the copies are: whoever is interrupted before finds them again.
        let archived = match archived {
            None => 0,
            Some(archived) => {
                let how = (self.is_dry, unread.is_some());
                archived.remove(&self.key, how, editing).await?
            }
        };
        // What cannot be read keeps what it has, and its copies.
        if let Some(error) = unread {
            return Err(error);
        }
        tracing::debug!(target: trace::WRITE, records, buckets, quarantined, archived, "delete_key");
        Ok(Removed {
            records,
            buckets,
            quarantined,
            archived,
        })
    }
}

impl<'a, T: Record> IntoFuture for DeleteKey<'a, T> {
    type Output = Result<Removed>;
    type IntoFuture = ActionFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let collection = T::SPEC.collection();
        let span = tracing::debug_span!(target: trace::WRITE, "delete_key", collection);
        Box::pin(self.run().instrument(span))
    }
}
