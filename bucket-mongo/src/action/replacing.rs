//! Records that replace what is stored under their ids, after the batch that they were in.
//!
//! A batch stores what is new and sets aside what conflicts. Those records replace what is stored, one after the
//! other for each key, so that of two records with one id the later one decides last.

use std::collections::{HashMap, HashSet};

use bucket_core::{Record, write::Contested};
use futures_util::{FutureExt, StreamExt, stream};
use mongodb::ClientSession;
use tokio::time::Instant;

use super::{
    RecordOutcome,
    insert_one::Inserted,
    insert_or_replace::{Begins, InsertOrReplace},
    replaces::Replaces,
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    error::Context,
    writer::{Settings, Written, is_in_transaction},
};

/// The number of keys whose records are replaced at the same time.
const KEYS: usize = 8;

/// The contested records of a batch.
pub(crate) struct Replacing<'a, T: Record> {
    pub(crate) buckets: &'a Buckets<T>,
    pub(crate) operation: &'static str,
    pub(crate) replaces: &'a Replaces<'a, T>,
    pub(crate) session: Option<&'a mut ClientSession>,
    pub(crate) settings: &'a Settings,
    pub(crate) deadline: Instant,
}

type Outcomes = Vec<(usize, Result<Inserted>)>;

/// Removes the outcomes that the batch gave these records.
fn forget(written: &mut Written, contested: &[Contested]) {
    let indexes: HashSet<usize> = contested.iter().map(|record| record.index).collect();
    written.failed.retain(|(index, _)| !indexes.contains(index));
    written.duplicates.retain(|index| !indexes.contains(index));
}

impl<T: Record> Replacing<'_, T> {
    /// Settles them, and puts their outcomes in the place of those that the batch gave them.
    pub(crate) async fn settle(self, written: &mut Written) {
        let contested = std::mem::take(&mut written.contested);
        if contested.is_empty() {
            return;
        }
        forget(written, &contested);
        let (outcomes, ended) = match &written.stopped_by {
            Some(error) => (not_sent::<T>(contested, error), None),
            None => self.all(contested).await,
        };
        // Without its transaction the session would store what comes next.
        written.stopped_by = written.stopped_by.take().or(ended);
        for (index, outcome) in outcomes {
            let inserted = match outcome {
                Ok(inserted) => inserted,
                Err(error) => {
                    written.failed.push((index, error));
                    continue;
                }
            };
            if inserted.opened_bucket {
                written.opened.push(index);
            }
            match inserted.outcome {
                RecordOutcome::Replaced => written.replaced.push(index),
                RecordOutcome::Superseded => written.superseded.push(index),
                RecordOutcome::Duplicate => written.duplicates.push(index),
                _ => written.stored += 1,
            }
        }
    }

    /// The outcomes, and the error that ended the transaction.
    async fn all(mut self, contested: Vec<Contested>) -> (Outcomes, Option<Error>) {
        if let Some(session) = self.session.take() {
            let in_transaction = is_in_transaction(session, self.deadline).await;
            // Without an answer there is no time left either.
            let in_transaction = in_transaction.unwrap_or(true);
            let of_session = self.one_after_the_other(contested, Some(session), in_transaction);
            return of_session.await;
        }
        let mut places: HashMap<Box<[u8]>, usize> = HashMap::new();
        let mut keys: Vec<Vec<Contested>> = Vec::new();
        for record in contested {
            let place = *places.entry(record.key().into()).or_insert(keys.len());
            match keys.get_mut(place) {
                Some(of_key) => of_key.push(record),
                None => keys.push(vec![record]),
            }
        }
        let lanes: Vec<_> = keys
            .into_iter()
            // One type for all models: what runs them side by side is compiled once.
            .map(|of_key| self.one_after_the_other(of_key, None, false).boxed())
            .collect();
        let outcomes = stream::iter(lanes).buffer_unordered(KEYS);
        let outcomes: Vec<(Outcomes, _)> = outcomes.collect().await;
        let outcomes = outcomes.into_iter().flat_map(|(outcomes, _)| outcomes);
        (outcomes.collect(), None)
    }

    async fn one_after_the_other(
        &self,
        contested: Vec<Contested>,
        mut session: Option<&mut ClientSession>,
        in_transaction: bool,
    ) -> (Outcomes, Option<Error>) {
        let mut outcomes = Vec::with_capacity(contested.len());
        let mut contested = contested.into_iter();
        while let Some(record) = contested.next() {
            let outcome = self.one(&record, session.as_deref_mut()).await;
            let failure = outcome.as_ref().err().filter(|_| in_transaction).cloned();
            outcomes.push((record.index, outcome));
            let Some(failure) = failure else {
                continue;
            };
            let is_refusal = is_of_record(&failure);
            // A record that is refused half-way, in a move, ends the transaction.
            let goes_on = match session.as_deref_mut().filter(|_| is_refusal) {
                Some(session) => is_in_transaction(session, self.deadline).await == Ok(true),
                None => false,
            };
            if !goes_on {
                let error = if is_refusal {
                    failure.not_sent_in_transaction()
                } else {
                    failure.not_sent()
                };
                outcomes.extend(not_sent::<T>(contested, &error));
                return (outcomes, Some(error));
            }
        }
        (outcomes, None)
    }

    async fn one(
        &self,
        contested: &Contested,
        session: Option<&mut ClientSession>,
    ) -> Result<Inserted> {
        let damaged = |damage| {
            let context = Context::of_all::<T>(self.operation);
            Error::new(ErrorKind::Damaged(damage), &context)
        };
        let record: T = contested.record().map_err(damaged)?;
        let insert = InsertOrReplace {
            buckets: self.buckets,
            operation: self.operation,
            record: &record,
            replaces: self.replaces,
            session,
            settings: Settings {
                deadline: Some(self.deadline.saturating_duration_since(Instant::now())),
                ..self.settings.clone()
            },
        };
        insert.run(Begins::WithALook).await
    }
}

/// Whether only this record, or what is stored of its key, is the reason.
fn is_of_record(failure: &Error) -> bool {
    failure.is_invalid_input()
        || failure.is_conflict()
        || failure.is_damaged()
        || failure.is_changed()
}

/// The outcome of records that are not tried because of this error.
fn not_sent<T: Record>(contested: impl IntoIterator<Item = Contested>, error: &Error) -> Outcomes {
    let error = error.not_sent();
    let each = contested.into_iter().map(|record| {
        let key = record.record::<T>().map(|of| T::SPEC.key_text(&of.key()));
        let of_its_key = match key {
            Ok(key) => error.clone().of_key(key),
            Err(_) => error.clone(),
        };
        (record.index, Err(of_its_key))
    });
    each.collect()
}
