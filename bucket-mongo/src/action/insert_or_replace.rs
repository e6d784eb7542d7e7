//! Stores a record, or replaces the one that is stored under its id.

use bucket_core::{
    EncodeError, Record, Which,
    edit::{Change, Corrected},
};
use mongodb::ClientSession;
use tokio::time::Instant;

use super::{
    RecordOutcome,
    edit::{Correction, deadline},
    insert_one::{Inserted, insert_one},
    replaces::Replaces,
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    writer::{Settings, is_in_transaction, not_sent_in_time},
};

/// How often a record may conflict with one that a look does not find.
const ATTEMPTS: u32 = 4;

fn is_late(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Encode(EncodeError::Late { .. }))
}

/// What comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// The insert, which is one statement if the id is new.
    WithAnInsert,
    /// The look for the id, because an insert was refused.
    WithALook,
}

pub(super) struct InsertOrReplace<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) operation: &'static str,
    pub(super) record: &'a T,
    pub(super) replaces: &'a Replaces<'a, T>,
    pub(super) session: Option<&'a mut ClientSession>,
    pub(super) settings: Settings,
}

impl<T: Record> InsertOrReplace<'_, T> {
    pub(super) async fn run(mut self, begins: Begins) -> Result<Inserted> {
        let context = Context::of::<T>(self.operation, &self.record.key());
        Replaces::<T>::check(&context)?;
        let deadline = deadline(self.buckets, &self.settings);
        // In a transaction a refused insert ends the transaction.
        let in_transaction = match self.session.as_deref_mut() {
            None => false,
            Some(session) => is_in_transaction(session, deadline)
                .await
                .map_err(|_| not_sent_in_time(&context))?,
        };
        let mut looks = in_transaction || begins == Begins::WithALook;
        let mut attempts = 0;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            self.settings.deadline = Some(left);
            if looks && let Some(outcome) = self.replace(&context).await? {
                return Ok(Inserted {
                    opened_bucket: false,
                    outcome,
                });
            }
            let session = self.session.as_deref_mut();
            let inserted = insert_one(
                self.buckets,
                self.record,
                session,
                &self.settings,
                context.clone(),
            )
            .await;
            attempts += 1;
            match inserted {
                Err(error) if error.is_conflict() && attempts < ATTEMPTS && !in_transaction => {
                    looks = true;
                }
                // Too late for a record that is new, not for a version of one that is stored.
                Err(error) if is_late(&error) && !looks => looks = true,
                inserted => return inserted,
            }
        }
    }

    /// Replaces the record that is stored under the id; `None` if there is none.
    async fn replace(&mut self, context: &Context) -> Result<Option<RecordOutcome>> {
        let which = Which::of(self.record);
        let which = which.map_err(|source| Error::new(ErrorKind::Encode(source), context))?;
        let correction = Correction {
            buckets: self.buckets,
            context: context.clone(),
            key: self.record.key(),
            which,
            change: Change::Replace {
                record: self.record,
                replaces: self.replaces.function(),
            },
            is_dry: false,
        };
        let session = self.session.as_deref_mut();
        let edited = correction.make(session, &self.settings).await?;
        Ok(match edited.corrected {
            Corrected::InPlace | Corrected::TakenOut { .. } => Some(RecordOutcome::Replaced),
            Corrected::Superseded => Some(RecordOutcome::Superseded),
            Corrected::Nothing => edited.record.map(|_| RecordOutcome::Duplicate),
        })
    }
}
