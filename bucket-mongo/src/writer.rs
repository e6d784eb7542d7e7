//! Runs the chains of a batch: reads tails, sends rounds, settles replies, until every record is
//! stored or has an error.
//!
//! What to send and how to read a reply is core's; how a command gets to the server and its reply
//! back, through faults, is `delivery`'s.

use std::time::Duration;

use bson::RawDocumentBuf;
use bucket_core::{
    Record,
    write::{Batch, Chain, Doubtful, Need, Round, WriteFailure},
};
use mongodb::{
    ClientSession,
    options::{Acknowledgment, WriteConcern},
};
use tokio::time::Instant;

use self::{commitment::Commitment, delivery::Answer};
use crate::{
    Buckets, backoff,
    error::{Context, Error, ErrorKind},
    footing::Ground,
    group::Callers,
};

mod channel;
mod commitment;
mod delivery;
mod ground;
mod learnt;
mod repeats;
mod selection;
mod send;
mod session;
mod tails;
pub(crate) mod verdict;

pub(crate) use self::{channel::Channel, learnt::Learnt, session::is_in_transaction};

/// Commands of one round that are under way at the same time.
const IN_FLIGHT: usize = 4;
/// Lost races of one key in a row after which its records are given back.
const MAX_MISSES: u32 = 1_000;
/// Lost races in a row that are tried again without a pause.
const FREE_MISSES: u32 = 12;
/// The longest pause between two tries, in milliseconds.
const MAX_PAUSE_MS: u64 = 16;
/// The server keeps the record of a session for 30 minutes.
pub(crate) const LONGEST_DEADLINE: Duration = Duration::from_secs(20 * 60);

/// What became of a batch.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Records that are stored.
    pub(crate) stored: usize,
    /// The first record of each bucket that was opened.
    pub(crate) opened: Vec<usize>,
    /// Commands that were sent.
    pub(crate) commands: usize,
    /// Commands that were sent again because of a fault.
    pub(crate) resent: usize,
    /// Statements that were refused because a bucket was not as last seen.
    pub(crate) missed: usize,
    /// Records that were stored before, by an earlier call or as an earlier record of this one.
    pub(crate) duplicates: Vec<usize>,
    /// Records that are not stored, or not known to be, and why.
    pub(crate) failed: Vec<(usize, Error)>,
    /// Why nothing more was tried: the connection is lost, or no record could be stored.
    pub(crate) stopped_by: Option<Error>,
}

impl Written {
    /// None of these records was stored.
    pub(crate) fn all_failed(indexes: Vec<usize>, error: &Error) -> Self {
        let failed = indexes.into_iter();
        Self {
            failed: failed.map(|index| (index, error.clone())).collect(),
            stopped_by: Some(error.clone()),
            ..Self::default()
        }
    }
}

/// What a call can set in place of the handle's settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) write_concern: Option<WriteConcern>,
    pub(crate) deadline: Option<Duration>,
}

/// Writes batches of one call.
pub(crate) struct Writer<'a, T: Record> {
    buckets: &'a Buckets<T>,
    session: Option<&'a mut ClientSession>,
    write_concern: Option<RawDocumentBuf>,
    commitment: Commitment,
    /// The write concern of something that was stored was not met.
    is_uncertain: bool,
    /// What the writes rest on.
    ground: Option<Ground>,
    /// The indexes were looked at.
    has_looked: bool,
    /// The collection is another one than that.
    is_astray: bool,
    deadline: Instant,
    context: Context,
    /// Who waits for the records, where several calls share them.
    callers: Option<&'a mut Callers>,
    /// So many of them had gone when the records of those were last taken out.
    let_go: usize,
    written: Written,
}

impl<'a, T: Record> Writer<'a, T> {
    pub(crate) fn new(
        buckets: &'a Buckets<T>,
        session: Option<&'a mut ClientSession>,
        settings: &Settings,
        context: Context,
    ) -> Result<Self, Error> {
        // In a transaction a command carries no write concern of its own: the transaction's
        // counts. So a session gets one only if the caller asks for it.
        let default = session.is_none().then(|| buckets.write_concern());
        let concern = settings.write_concern.as_ref().or(default);
        let commitment = Commitment::of(concern);
        let write_concern = raw_write_concern(concern, &context)?;
        let patience = settings.deadline.unwrap_or(buckets.deadline());
        Ok(Self {
            buckets,
            session,
            write_concern,
            commitment,
            is_uncertain: false,
            ground: None,
            has_looked: false,
            is_astray: false,
            deadline: Instant::now() + patience.min(LONGEST_DEADLINE),
            context,
            callers: None,
            let_go: 0,
            written: Written::default(),
        })
    }

    /// The deadline counts from then on.
    pub(crate) fn since(mut self, since: Instant) -> Self {
        // No less than `since`, so it is never too early for the clock.
        self.deadline -= since.elapsed().min(LONGEST_DEADLINE);
        self
    }

    /// The records of each of these calls are stored as long as it waits for them.
    pub(crate) fn of_callers(mut self, callers: &'a mut Callers) -> Self {
        self.callers = Some(callers);
        self
    }

    /// Stores the records of a batch.
    pub(crate) async fn store(mut self, batch: &mut Batch<T>) -> Written {
        if let Err(error) = self.find_ground().await {
            self.written.stopped_by = Some(error);
        }
        if self.session.is_some() {
            batch.look_first();
        } else {
            self.recall(batch);
        }
        if T::SPEC.unique().is_some() && !self.buckets.learnt().has_record_ids() {
            batch.suspect_one();
        }
        while self.written.stopped_by.is_none() {
            if let Err(error) = self.learn(batch).await {
                self.written.stopped_by = Some(error);
                break;
            }
            let moved = self.sort_out_late(batch);
            self.give_up_on_contention(batch);
            self.report_held_back(batch);
            self.let_go_of_callers(batch);
            // Its write concern is the delivery's to say, which knows how much time is left.
            let rounds = batch.rounds(None);
            if rounds.is_empty() && moved == 0 {
                break;
            }
            if let Err(error) = self.look_before(&rounds).await {
                self.written.stopped_by = Some(error);
                break;
            }
            self.run(batch, rounds).await;
            if self.is_astray {
                self.go_elsewhere(batch).await;
            }
            self.pause(batch).await;
        }
        self.remember(batch);
        self.report_held_back(batch);
        let left = batch.give_up();
        // Nothing is left without a reason; should it be, no record vanishes silently.
        let error = match &self.written.stopped_by {
            Some(error) => error.not_sent(),
            None => Error::new(ErrorKind::Contention { attempts: 0 }, &self.context),
        };
        self.written
            .failed
            .extend(left.into_iter().map(|index| (index, error.clone())));
        self.settle_own_repeats(batch);
        self.written
    }

    /// Sets late records aside; gives the number of those that go into other buckets.
    fn sort_out_late(&mut self, batch: &mut Batch<T>) -> usize {
        let sorted_out = batch.sort_out_late();
        let refused = sorted_out.refused.into_iter().map(|(index, source)| {
            let error = Error::new(ErrorKind::Encode(source), &self.context);
            (index, error)
        });
        self.written.failed.extend(refused);
        sorted_out.moved
    }

    /// Records that stand behind one of their source that is not known to be stored.
    fn report_held_back(&mut self, batch: &mut Batch<T>) {
        let held = batch.take_held_back().into_iter();
        self.written
            .failed
            .extend(held.map(|held| (held.index, Error::held_back(&held, &self.context))));
    }

    /// Sends the commands of a round and takes their replies into account.
    async fn run(&mut self, batch: &mut Batch<T>, mut rounds: Vec<Round>) {
        for group in rounds.chunks_mut(IN_FLIGHT) {
            // What comes next may carry records of a call that has gone since it was planned.
            if self.written.stopped_by.is_some() || self.missing() > self.let_go {
                return;
            }
            let answers = self.send(group).await;
            for (round, answer) in group.iter().zip(answers) {
                self.written.commands += 1;
                match answer {
                    Ok(Some(answer)) => self.settle(batch, round, answer).await,
                    // Called off: it is planned anew.
                    Ok(None) => {}
                    Err(error) if self.blames_a_record(&error) => {
                        self.refused(batch, round, &error);
                    }
                    Err(error) => self.lost(batch, round, &error),
                }
            }
        }
    }

    /// How many of the calls whose records these are have gone.
    fn missing(&self) -> usize {
        self.callers.as_ref().map_or(0, |callers| callers.missing())
    }

    /// Takes out the records of calls that are gone: of those that are still pending nothing was sent.
    fn let_go_of_callers(&mut self, batch: &mut Batch<T>) {
        // Counted first: who goes from here on counts as missing until the next time.
        self.let_go = self.missing();
        let Some(callers) = self.callers.as_ref().filter(|_| self.let_go > 0) else {
            return;
        };
        let withdrawn = batch.withdraw(|index| callers.is_gone(index));
        let message = "the call that brought it was dropped before it was sent".to_owned();
        let error = Error::new(ErrorKind::Unreachable { message }, &self.context);
        self.written
            .failed
            .extend(withdrawn.into_iter().map(|index| (index, error.clone())));
    }

    /// Whether the server refused a command for what one of its records is. In a transaction that is the
    /// end of all of them.
    fn blames_a_record(&self, error: &Error) -> bool {
        let is_blamed = matches!(error.kind(), ErrorKind::Server { code, .. } if verdict::blames_a_record(*code));
        is_blamed && self.session.is_none()
    }

    /// The server refused a whole command: smaller ones are sent until the record to blame is alone.
    fn refused(&mut self, batch: &mut Batch<T>, round: &Round, error: &Error) {
        let ErrorKind::Server { code, message } = error.kind() else {
            return;
        };
        let failure = WriteFailure::new(*code, message.clone());
        let failed = batch.refused(round, &failure).into_iter();
        self.written
            .failed
            .extend(failed.map(|index| (index, error.clone())));
    }

    async fn settle(&mut self, batch: &mut Batch<T>, round: &Round, answer: Answer) {
        self.written.resent += usize::try_from(answer.resent).unwrap_or(usize::MAX);
        let doubt = answer.trust.doubt();
        let settled = batch.settle(round, &answer.reply, doubt);
        self.written.opened.extend(settled.opened);
        self.written.missed += settled.missed;
        self.is_astray |= settled.other_collection;
        for failed in settled.failed {
            let error = Error::refused(&failed.action, &failed.failure, &self.context);
            if matches!(error.kind(), ErrorKind::MissingIndex { .. }) {
                self.buckets.learnt().footing.leave(self.ground.as_ref());
                self.written.stopped_by = Some(error.clone());
            }
            self.written.failed.push((failed.index, error));
        }
        self.unknown(settled.unknown);
        for doubtful in &settled.doubtful {
            self.resolve(batch, doubtful).await;
        }
        let Some(concern) = settled.write_concern_error else {
            self.written.stored += settled.stored.len();
            return;
        };
        self.is_uncertain = true;
        let message = format!(
            "the write concern was not met ({}): {}",
            concern.code, concern.message
        );
        let error = Error::new(ErrorKind::OutcomeUnknown { message }, &self.context);
        let stored = settled.stored.into_iter();
        self.written
            .failed
            .extend(stored.map(|index| (index, error.clone())));
        self.written.stopped_by = Some(error);
    }

    /// Looks whether an earlier try has opened the bucket after all.
    async fn resolve(&mut self, batch: &mut Batch<T>, doubtful: &Doubtful) {
        if let Ok(false) = self.has_bucket(doubtful.id()).await {
            self.written.missed += 1;
            batch.refused_after_all(doubtful);
        } else {
            // Another writer may have opened it, or the look failed.
            let records = batch.left_unknown(doubtful);
            self.unknown(records);
        }
    }

    fn unknown(&mut self, records: Vec<usize>) {
        if records.is_empty() {
            return;
        }
        let message = "a try whose connection was lost may have been applied late".to_owned();
        let error = Error::new(ErrorKind::OutcomeUnknown { message }, &self.context);
        let records = records.into_iter();
        self.written
            .failed
            .extend(records.map(|index| (index, error.clone())));
    }

    /// A command without a result: what it carried is not tried again. Nor is anything else if there is
    /// no more time, or no other command can fare better.
    fn lost(&mut self, batch: &mut Batch<T>, round: &Round, error: &Error) {
        let records = batch.abandon(round).into_iter();
        self.written
            .failed
            .extend(records.map(|index| (index, error.clone())));
        let goes_on = error.is_outcome_unknown()
            && self.session.is_none()
            // No record of a source is stored while one before it may not be.
            && batch.source().is_none()
            && Instant::now() < self.deadline;
        if !goes_on {
            self.written.stopped_by = Some(error.clone());
        }
    }

    fn give_up_on_contention(&mut self, batch: &mut Batch<T>) {
        for chain in batch.chains_mut() {
            if let Some(damage) = chain.taken_id() {
                let left = chain.give_up();
                let error = Error::new(ErrorKind::Damaged(damage), &self.context);
                let left = left.into_iter().map(|index| (index, error.clone()));
                self.written.failed.extend(left);
            }
            if chain.misses() <= MAX_MISSES {
                continue;
            }
            let kind = ErrorKind::Contention {
                attempts: chain.misses(),
            };
            let error = Error::new(kind, &self.context);
            let left = chain.give_up().into_iter();
            self.written
                .failed
                .extend(left.map(|index| (index, error.clone())));
        }
    }

    /// Lets the winner of a race get on; the more races are lost the longer.
    async fn pause(&self, batch: &Batch<T>) {
        let going_on = batch
            .chains()
            .iter()
            .filter(|chain| chain.need() != Need::Nothing);
        let misses = going_on.map(Chain::misses).max();
        let misses = misses.unwrap_or_default();
        if misses > FREE_MISSES {
            let ceiling = backoff::ceiling(1, misses - FREE_MISSES, MAX_PAUSE_MS);
            let pause = backoff::jitter() % ceiling + 1;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }
}

/// A write concern as a command has it.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if it gives no replies to go by.
pub(crate) fn raw_write_concern(
    concern: Option<&WriteConcern>,
    context: &Context,
) -> Result<Option<RawDocumentBuf>, Error> {
    let refused = |message| Error::new(ErrorKind::InvalidArgument { message }, context);
    match concern {
        None => Ok(None),
        // Without replies nothing is known of any record.
        Some(concern) if concern.w == Some(Acknowledgment::Nodes(0)) => Err(refused(
            "a write concern of `w: 0` gives no replies to go by".to_owned(),
        )),
        Some(concern) => match bson::serialize_to_raw_document_buf(concern) {
            Ok(concern) => Ok(Some(concern)),
            Err(source) => Err(refused(format!(
                "the write concern cannot be encoded: {source}"
            ))),
        },
    }
}
