//! One stored record becomes another one, in its place or in another bucket.

use bucket_core::{
    Record, Which,
    edit::{Change, Corrected, Edit, EditFailure, Edited},
};
use mongodb::ClientSession;

use super::{
    editing::{Editing, deadline},
    transaction::Transaction,
};
use crate::{
    Buckets, Error, ErrorKind, RecordOutcome, Result, error::Context, trace, writer::Settings,
};

/// A correction, as often as it is tried.
pub(crate) struct Correction<'a, T: Record> {
    pub(crate) buckets: &'a Buckets<T>,
    pub(crate) context: Context,
    pub(crate) key: T::Key,
    pub(crate) which: Which,
    pub(crate) change: Change<'a, T>,
    pub(crate) is_dry: bool,
}

/// What one try has done.
enum Tried<T> {
    Done(Edited<T>),
    /// Nothing: it moves the record to another bucket, which takes a transaction.
    Moves(Error),
}

impl<T: Record> Correction<'_, T> {
    pub(crate) async fn make(
        self,
        session: Option<&mut ClientSession>,
        settings: &Settings,
    ) -> Result<Edited<T>> {
        let operation = self.context.operation;
        let edited = self.made(session, settings).await?;
        // Not with `Debug`, which shows record ids.
        let corrected = name_of(&edited.corrected);
        tracing::debug!(target: trace::WRITE, corrected, "{operation}");
        Ok(edited)
    }

    async fn made(
        mut self,
        session: Option<&mut ClientSession>,
        settings: &Settings,
    ) -> Result<Edited<T>> {
        let (buckets, context) = (self.buckets, self.context.clone());
        let deadline = deadline(buckets, settings);
        let in_place = Editing::new(buckets, session, settings, context.clone())?;
        let refused = match self.attempt(in_place.until(deadline)).await? {
            Tried::Done(done) => return Ok(done),
            Tried::Moves(refused) => refused,
        };
        let store = buckets.store();
        let concern = settings.write_concern.as_ref();
        let concern = Some(concern.unwrap_or(store.write_concern()));
        let place = (store.database(), T::SPEC.collection());
        let transaction = Transaction::new(place, concern, deadline, context.clone()).await?;
        let Some(mut transaction) = transaction else {
            return Err(refused);
        };
        loop {
            transaction.begin().await?;
            let session = transaction.session();
            let moving = Editing::new(buckets, session, &Settings::default(), context.clone())?;
            let tried = self.attempt(moving.until(deadline)).await;
            match transaction.end(tried).await? {
                Some(Tried::Done(done)) => return Ok(done),
                Some(Tried::Moves(refused)) => return Err(refused),
                None => {}
            }
        }
    }

    async fn attempt(&mut self, mut editing: Editing<'_, T>) -> Result<Tried<T>> {
        let limits = self.buckets.limits_of(&self.key);
        let change = self.change.again();
        let mut edit = Edit::update(self.key.clone(), &self.which, limits, change);
        if editing.is_in_transaction().await? {
            edit = edit.may_move();
        }
        let edited = match editing.attempt(edit, self.is_dry).await? {
            Ok(edited) => edited,
            Err(EditFailure::Edit(error)) if error.is_move() => {
                return Ok(Tried::Moves(editing.failed(EditFailure::Edit(error))));
            }
            Err(failure) => return Err(editing.failed(failure)),
        };
        if let Corrected::TakenOut { released } = &edited.corrected
            && !self.is_dry
            && let Some(record) = self.new_record(&edited)
        {
            let stored = store(&mut editing, record, released.as_ref()).await;
            if let Err(error) = stored {
                // Otherwise the caller could commit the first half.
                editing.abort().await;
                return Err(error);
            }
        }
        Ok(Tried::Done(edited))
    }

    fn new_record<'r>(&'r self, edited: &'r Edited<T>) -> Option<&'r T> {
        match &self.change {
            Change::Update(_) => edited.record.as_ref(),
            Change::Replace { record, .. } => Some(record),
        }
    }
}

/// Stores a record in its new bucket, and lets the key have its id again before that.
async fn store<T: Record>(
    editing: &mut Editing<'_, T>,
    record: &T,
    released: Option<&Which>,
) -> Result<()> {
    if let Some(which) = released {
        let release = Edit::release(record.key(), which);
        editing.run(release, false).await?;
    }
    if editing.insert(record).await? == RecordOutcome::Duplicate {
        return Err(already_there::<T>(editing.context()));
    }
    Ok(())
}

/// The error of a record whose new key has a record of its id.
const fn name_of(corrected: &Corrected) -> &'static str {
    match corrected {
        Corrected::Nothing => "nothing",
        Corrected::Superseded => "superseded",
        Corrected::InPlace => "in place",
        Corrected::TakenOut { .. } => "moved",
    }
}

fn already_there<T: Record>(context: &Context) -> Error {
    let index = T::SPEC.unique_index_name().unwrap_or_default();
    let message = "the new key has a record of this id already".to_owned();
    Error::new(ErrorKind::DuplicateKey { index, message }, context)
}
