//! One edit from its first read to its result: what to read and send next, and what a reply means.
//!
//! It reads what the primary has, because the statement asks for exactly that state: if a failover takes the
//! state back, the statement changes nothing. But an edit that finds nothing to do sends no statement. What it
//! found may be the work of another edit that a failover takes back: the record would be there again, although
//! the caller knows that it is gone. So such an edit reads again what a majority has, and that decides.

use std::fmt;

use bson::{DateTime, RawDocument, RawDocumentBuf};

use super::{
    edit_error::EditError,
    edited::{Corrected, EditFailure, Edited},
    of_key::{ids_of_key, records_of, removal},
    opened::{Found, OpenedBucket, OpenedRecord},
    reply::made_by,
    which::Which,
};
use crate::{
    attribute::RecordFilter,
    bucket::{BucketRows, id::Place, merged::Origins, record::Record},
    error::{Damage, DamagedBucket},
    model::{limits::Limits, spec::BucketSpec},
    read::{self, FindPlan, Live, ReadKey, ReadLevel},
    time::range::TimeRange,
    write::{Answer, Pauses, one_item},
};

/// This many attempts follow at once if other writers come first: an append is over by then.
const AT_ONCE: u32 = 2;
/// The pauses before later ones.
const PAUSES: Pauses = Pauses::of(8, 64);

/// What the executor must do next for an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum EditNext {
    /// Run this find on the primary, at the plan's level, and tell [`found`](Edit::found).
    Read(Box<FindPlan>),
    /// Deliver this command, which may be sent any number of times, and tell [`answered`](Edit::answered).
    Send {
        /// The command.
        command: RawDocumentBuf,
        /// The number of its statements.
        statements: usize,
    },
    /// Wait for a random time, and tell [`paused`](Edit::paused).
    Pause {
        /// The longest time, in milliseconds.
        ceiling: u64,
    },
    /// It is over: take its [`end`](Edit::end).
    Done,
}

/// One edit: of a record, of the records of a bucket in a range of time, or of a whole key.
///
/// ```
/// # use bucket_core::{Record, Which, edit::{Edit, EditNext}};
/// fn begins_with_a_read<T: Record>(key: T::Key) -> bool {
///     let edit = Edit::<T>::delete(key, &Which::id(&7));
///     matches!(edit.next(), EditNext::Read(_) | EditNext::Done)
/// }
/// ```
pub struct Edit<'a, T: Record> {
    key: T::Key,
    what: What<'a, T>,
    is_dry: bool,
    is_for_good: bool,
    forgets_ids: bool,
    /// The find that each attempt begins with.
    plan: FindPlan,
    state: State,
    /// How often another writer came first.
    lost: u32,
    /// What the statement under way makes.
    pending: Edited<T>,
    /// Of the removal of a key: the records of each bucket of the statement under way.
    records: Vec<u64>,
    made: Edited<T>,
    failure: Option<EditFailure>,
}

enum What<'a, T> {
    Update {
        which: Which,
        limits: Option<Limits>,
        change: Change<'a, T>,
        may_move: bool,
    },
    Delete(Which),
    Release(Which),
    Some(TimeRange, Option<RecordFilter>),
    Key,
}

/// What a stored record becomes.
pub enum Change<'a, T> {
    /// What this makes of it. It may be called several times.
    Update(Box<dyn FnMut(&mut T) + Send + 'a>),
    /// This record, if it replaces the stored one, which is the first argument.
    Replace {
        /// The record.
        record: &'a T,
        /// Whether it replaces the stored one.
        replaces: &'a (dyn Fn(&T, &T) -> bool + Send + Sync),
    },
}

impl<T> Change<'_, T> {
    /// The same, for another edit.
    pub fn again(&mut self) -> Change<'_, T> {
        match self {
            Self::Update(change) => Change::Update(Box::new(|record| change(record))),
            Self::Replace { record, replaces } => Change::Replace {
                record: *record,
                replaces: *replaces,
            },
        }
    }
}

impl<T> fmt::Debug for Change<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Update(_) => "Update",
            Self::Replace { .. } => "Replace",
        })
    }
}

#[derive(Debug)]
enum State {
    Reads(ReadLevel),
    Sends(RawDocumentBuf, usize),
    Pauses,
    Over,
}

/// What an attempt comes to after its read.
enum Attempt<T> {
    /// There is nothing to change, and this is the result.
    Nothing(Edited<T>),
    /// This command makes this.
    Change(RawDocumentBuf, usize, Edited<T>),
}

impl<'a, T: Record> Edit<'a, T> {
    /// Corrects a record in its bucket.
    #[must_use]
    pub fn update(
        key: T::Key,
        which: &Which,
        limits: Option<Limits>,
        change: Change<'a, T>,
    ) -> Self {
        let update = What::Update {
            which: which.clone(),
            limits,
            change,
            may_move: false,
        };
        Self::of(key, update, Some(which))
    }

    /// Of a correction: takes the record out of its bucket if it has to go to another one
    /// ([`Corrected::TakenOut`]), which a transaction can do.
    #[must_use]
    pub fn may_move(mut self) -> Self {
        if let What::Update { may_move, .. } = &mut self.what {
            *may_move = true;
        }
        self
    }

    /// Takes a record id from the mark of a removed record, so that the key can have a record of it again.
    #[must_use]
    pub fn release(key: T::Key, which: &Which) -> Self {
        Self::of(key, What::Release(which.clone()), Some(which))
    }

    /// Removes a record.
    #[must_use]
    pub fn delete(key: T::Key, which: &Which) -> Self {
        Self::of(key, What::Delete(which.clone()), Some(which))
    }

    /// Removes the records in a range of time that meet the filter from the bucket that has this record.
    #[must_use]
    pub fn delete_some(
        key: T::Key,
        of: &Which,
        range: TimeRange,
        filter: Option<RecordFilter>,
    ) -> Self {
        Self::of(key, What::Some(range, filter), Some(of))
    }

    /// Removes all buckets of a key.
    #[must_use]
    pub fn delete_key(key: T::Key) -> Self {
        Self::of(key, What::Key, None)
    }

    fn of(key: T::Key, what: What<'a, T>, which: Option<&Which>) -> Self {
        let of_key = || ids_of_key(T::SPEC, &ReadKey::of::<T>(&key), false);
        let plan = which.map_or_else(|| Ok(of_key()), |which| which.find::<T>(&key));
        let (plan, failure) = match plan {
            Ok(plan) => (plan, None),
            Err(error) => (of_key(), Some(EditFailure::Which(error))),
        };
        Self {
            key,
            what,
            is_dry: false,
            is_for_good: true,
            forgets_ids: false,
            plan,
            state: match failure {
                Some(_) => State::Over,
                None => State::Reads(ReadLevel::Local),
            },
            lost: 0,
            pending: Edited::default(),
            records: Vec::new(),
            made: Edited::default(),
            failure,
        }
    }

    /// Only looks: the result is what would be made.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.is_dry = true;
        if let What::Key = self.what {
            self.plan = ids_of_key(T::SPEC, &ReadKey::of::<T>(&self.key), true);
        }
        self
    }

    /// Takes what the primary has for the truth: the caller does not wait for a majority, or is in a
    /// transaction.
    #[must_use]
    pub fn weak(mut self) -> Self {
        self.is_for_good = false;
        self
    }

    /// Of a removal: leaves no record id in the mark, so that the key can have a record of this id again.
    #[must_use]
    pub fn forget_ids(mut self) -> Self {
        self.forgets_ids = true;
        self
    }

    /// What it does next.
    #[must_use]
    pub fn next(&self) -> EditNext {
        match &self.state {
            State::Reads(level) => EditNext::Read(Box::new(FindPlan {
                level: *level,
                ..self.plan.clone()
            })),
            State::Sends(command, statements) => EditNext::Send {
                command: command.clone(),
                statements: *statements,
            },
            State::Pauses => EditNext::Pause {
                ceiling: PAUSES.after(self.lost.saturating_sub(AT_ONCE + 1)),
            },
            State::Over => EditNext::Done,
        }
    }

    /// The read has found these documents; `now` is the time by the clock.
    pub fn found(&mut self, found: &[RawDocumentBuf], now: DateTime) {
        let State::Reads(level) = self.state else {
            return;
        };
        match self.attempt(found, now) {
            Err(failure) => self.fail(failure),
            Ok(Attempt::Nothing(result)) => {
                if self.is_for_good && !self.is_dry && level == ReadLevel::Local {
                    self.state = State::Reads(ReadLevel::CausalMajority);
                } else {
                    self.made.add(result);
                    self.state = State::Over;
                }
            }
            Ok(Attempt::Change(command, statements, pending)) => {
                self.pending = pending;
                self.state = State::Sends(command, statements);
            }
        }
    }

    /// This came of the command; `late` says that the deadline has passed.
    pub fn answered(&mut self, answer: &Answer, late: bool) {
        let State::Sends(_, statements) = self.state else {
            return;
        };
        match made_by(answer) {
            Err(failure) => self.fail(failure),
            Ok(Some(made)) => self.made(made, statements),
            Ok(None) => self.lost(late),
        }
    }

    /// The pause is over.
    pub fn paused(&mut self) {
        if let State::Pauses = self.state {
            self.state = State::Reads(ReadLevel::Local);
        }
    }

    /// Whether it has removed something already: a removal of all of a key takes several statements.
    #[must_use]
    pub fn has_removed(&self) -> bool {
        self.made.buckets > 0 && !self.is_dry
    }

    /// The result.
    ///
    /// # Errors
    ///
    /// [`EditFailure`]: what it has met.
    pub fn end(self) -> Result<Edited<T>, EditFailure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.made),
        }
    }

    fn attempt(
        &mut self,
        found: &[RawDocumentBuf],
        now: DateTime,
    ) -> Result<Attempt<T>, EditFailure> {
        if let What::Key = self.what {
            return Ok(self.attempt_on_key(found));
        }
        let nothing = Ok(Attempt::Nothing(Edited::default()));
        let Some(stored) = found.first() else {
            return nothing;
        };
        let live = self.live(now);
        let Some(rows) = rows_of::<T>(stored)? else {
            return nothing;
        };
        let bucket = OpenedBucket::read(&self.key, &rows).map_err(damaged)?;
        let (is_dry, forgets_ids) = (self.is_dry, self.forgets_ids);
        let (command, makes) = match &mut self.what {
            What::Some(range, filter) => {
                let inside = bucket.between(*range, filter.as_ref(), &live);
                let inside = inside.map_err(damaged)?;
                let indexes: Vec<usize> = inside.into_iter().map(|(index, _)| index).collect();
                let places = places_of_merged(T::SPEC, stored);
                let makes = Edited {
                    places,
                    ..Edited::removed(indexes.len())
                };
                if indexes.is_empty() || is_dry {
                    return Ok(Attempt::Nothing(makes));
                }
                (
                    Some(bucket.remove(&indexes, forgets_ids).map_err(refused)?),
                    makes,
                )
            }
            What::Delete(which) => {
                let released = forgets_ids.then(|| bucket.release(which));
                if let Some(command) = released.transpose().map_err(refused)?.flatten() {
                    (Some(command), Edited::default())
                } else {
                    let Some(found) = record_of(bucket.find(which, &live))? else {
                        return nothing;
                    };
                    let record = found.record().map_err(refused)?;
                    let command = found.remove(forgets_ids).map_err(refused)?;
                    (Some(command), Edited::of(record))
                }
            }
            What::Release(which) => {
                let command = bucket.release(which).map_err(refused)?;
                (command, Edited::default())
            }
            What::Update {
                which,
                limits,
                change,
                may_move,
            } => {
                let Some(found) = record_of(bucket.find(which, &live))? else {
                    return nothing;
                };
                let mut read = found.record().map_err(refused)?;
                let new = match change {
                    Change::Replace { record, .. }
                        if found.is_stored(record).map_err(refused)? =>
                    {
                        let same = Edited::corrected(read, Corrected::Nothing);
                        return Ok(Attempt::Nothing(same));
                    }
                    Change::Update(change) => {
                        change(&mut read);
                        &read
                    }
                    Change::Replace { record, replaces } if replaces(&read, record) => record,
                    Change::Replace { .. } => {
                        let stays = Edited::corrected(read, Corrected::Superseded);
                        return Ok(Attempt::Nothing(stays));
                    }
                };
                let (command, corrected) = match found.replace(new, *limits, now) {
                    Ok(None) => (None, Corrected::Nothing),
                    Ok(command) => (command, Corrected::InPlace),
                    Err(error) if error.is_move() => {
                        let out = found.take_out(new).map_err(refused)?;
                        let other_key = new.key() != self.key;
                        if is_dry {
                            // As the insert would.
                            let limits = limits.filter(|_| !other_key);
                            check_item(new, limits, now).map_err(refused)?;
                        } else if !*may_move {
                            return Err(refused(error));
                        }
                        let released = found.by_id().filter(|_| other_key);
                        (Some(out), Corrected::TakenOut { released })
                    }
                    Err(error) => return Err(refused(error)),
                };
                (command, Edited::corrected(read, corrected))
            }
            What::Key => return nothing,
        };
        Ok(match command {
            Some(command) if !is_dry => Attempt::Change(command, 1, makes),
            _ => Attempt::Nothing(makes),
        })
    }

    /// What it finds.
    fn live(&self, now: DateTime) -> Live {
        match &self.what {
            // A record past the limit still has its id, until the server removes its bucket.
            What::Update {
                change: Change::Replace { .. },
                ..
            } => Live::default(),
            _ => read::live(T::SPEC, now),
        }
    }

    fn attempt_on_key(&mut self, found: &[RawDocumentBuf]) -> Attempt<T> {
        self.records = records_of(T::SPEC, found);
        let makes = Edited {
            records: self.records.iter().sum(),
            buckets: u64::try_from(found.len()).unwrap_or(u64::MAX),
            ..Edited::default()
        };
        if found.is_empty() || self.is_dry {
            return Attempt::Nothing(makes);
        }
        let key = ReadKey::of::<T>(&self.key);
        Attempt::Change(removal(T::SPEC, &key, found), found.len(), makes)
    }

    fn made(&mut self, made: u64, statements: usize) {
        let mut pending = std::mem::take(&mut self.pending);
        if let What::Key = self.what {
            // Another removal may have come first for some, and counts them. The reply does not say which: it is at
            // least as many as the smallest of them have, so that no record is counted twice.
            let made = usize::try_from(made).unwrap_or(usize::MAX).min(statements);
            self.records.sort_unstable();
            pending.records = self.records.iter().take(made).sum();
            pending.buckets = u64::try_from(made).unwrap_or(u64::MAX);
            self.state = State::Reads(ReadLevel::Local);
        } else {
            self.state = State::Over;
        }
        self.made.add(pending);
    }

    /// Another writer came first: nothing was changed.
    fn lost(&mut self, late: bool) {
        self.lost = self.lost.saturating_add(1);
        if late {
            let attempts = self.lost;
            return self.fail(EditFailure::Contention { attempts });
        }
        self.state = if self.lost > AT_ONCE {
            State::Pauses
        } else {
            State::Reads(ReadLevel::Local)
        };
    }

    fn fail(&mut self, failure: EditFailure) {
        self.failure = Some(failure);
        self.state = State::Over;
    }
}

/// The record that was found, if there is one.
fn record_of<T: Record>(
    found: Found<'_, T>,
) -> Result<Option<Box<OpenedRecord<'_, T>>>, EditFailure> {
    match found {
        Found::Record(record) => Ok(Some(record)),
        Found::Changed => Err(EditFailure::Changed),
        Found::Removed | Found::Nothing => Ok(None),
    }
}

/// The places of the buckets that a merged bucket was made of, as references name them; none of another bucket.
fn places_of_merged(spec: &BucketSpec, stored: &RawDocument) -> Vec<(u128, u128)> {
    // Whatever is wrong with them, the bucket is read by itself.
    let origins = Origins::read(spec, stored).ok().flatten();
    let places = origins.iter().flat_map(Origins::places);
    places.map(Place::in_reference).collect()
}

/// The rows of a bucket; `None` if its records have expired and are gone.
fn rows_of<T: Record>(stored: &RawDocument) -> Result<Option<BucketRows<'_>>, EditFailure> {
    match BucketRows::of(T::SPEC, stored) {
        Err(expired) if matches!(expired.damage(), Damage::Expired { .. }) => Ok(None),
        rows => rows.map(Some).map_err(damaged),
    }
}

fn damaged(damage: DamagedBucket) -> EditFailure {
    refused(EditError::Damaged(damage))
}

fn refused(error: EditError) -> EditFailure {
    EditFailure::Edit(error)
}

impl<T: Record> fmt::Debug for Edit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Edit")
            .field("plan", &self.plan)
            .field("state", &self.state)
            .field("lost", &self.lost)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

/// Refuses a record as an insert would.
fn check_item<T: Record>(
    record: &T,
    limits: Option<Limits>,
    now: DateTime,
) -> Result<(), EditError> {
    let item = one_item(record, limits, now);
    item.map(drop).map_err(EditError::Encode)
}
