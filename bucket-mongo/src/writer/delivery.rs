//! One command, sent until its outcome is known or the deadline has passed.
//!
//! The command has a number in a session of its own (see `session`): the server keeps which
//! statements of that number it has applied, across failovers, and answers a repetition from that
//! record. So the very same command may be sent any number of times. What cannot be had is a
//! second try under another number as long as the first one may still arrive.

use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Binary, Document, RawDocument, RawDocumentBuf, doc, oid::ObjectId, raw::cstr};
use bucket_core::write::Doubt;
use mongodb::{ClientSession, Database};
use tokio::time::{Instant, sleep};

use super::{
    selection::Selection,
    send,
    session::{self, Numbering},
    verdict::{self, Failure},
};
use crate::{
    backoff,
    error::{Context, Error, ErrorKind},
    footing::Naming,
    trace,
};

/// The pause before the second try, in milliseconds; it doubles up to the longest one.
const FIRST_PAUSE_MS: u64 = 10;
const LONGEST_PAUSE_MS: u64 = 1_000;

/// What a command came to.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) reply: Document,
    /// How often the command was sent again.
    pub(super) resent: u32,
    pub(super) trust: Trust,
}

/// How far a reply says everything, where an earlier try may have arrived after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// No try is left that could still arrive, or none that could do anything.
    Sure,
    /// An earlier try may have arrived after this reply and before now; none will any more.
    Overtaken,
    /// An earlier try may still arrive: what was not applied may be applied yet.
    Loose,
}

/// Where and how a command is delivered.
#[derive(Debug)]
pub(super) struct Delivery<'a> {
    pub(super) database: &'a Database,
    pub(super) session: &'a mut ClientSession,
    /// The session is the caller's.
    pub(super) borrowed: bool,
    /// In a session of the caller's none, unless the call has one of its own.
    pub(super) write_concern: Option<&'a RawDocument>,
    pub(super) deadline: Instant,
    pub(super) selection: Selection,
    /// The server is known to take no numbered commands.
    pub(super) unnumbered: &'a AtomicBool,
    /// The UUID of the collection that it is for.
    pub(super) collection: Option<Binary>,
    pub(super) naming: &'a Naming,
    pub(super) context: &'a Context,
}

/// What the tries so far leave open.
#[derive(Debug, Default)]
struct Tries {
    resent: u32,
    /// Some statement may be applied.
    maybe: bool,
    /// A try without a reply may still arrive.
    late: bool,
}

impl Trust {
    /// What the reply leaves open.
    pub(super) fn doubt(self) -> Doubt {
        match self {
            Self::Sure => Doubt::None,
            Self::Overtaken => Doubt::Overtaken,
            Self::Loose => Doubt::Open,
        }
    }
}

impl Answer {
    fn sure(reply: Document, tries: &Tries) -> Self {
        Self {
            reply,
            resent: tries.resent,
            trust: Trust::Sure,
        }
    }
}

impl Delivery<'_> {
    /// Sends the command until its outcome is known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutcomeUnknown`] if something of it may be applied, else the reason why nothing
    /// is.
    pub(super) async fn run(mut self, body: RawDocumentBuf) -> Result<Answer, Error> {
        let mut tries = Tries::default();
        let Some(mut number) = self.number(&mut tries).await? else {
            return self.once(body).await;
        };
        loop {
            let error = match self.send(&body, Some(number)).await {
                Ok(reply) if verdict::asks_again(&reply) => {
                    tries.maybe = true;
                    if self.is_late() {
                        return Ok(self.answer(reply, number, &tries).await);
                    }
                    self.pause(&mut tries).await;
                    continue;
                }
                Ok(reply) => return Ok(self.answer(reply, number, &tries).await),
                Err(error) => error,
            };
            if self.forgoes_collection(&error) {
                self.selection.reset(tries.maybe);
                continue;
            }
            match self.failure(&error) {
                Failure::NotSent => self.selection.reset(tries.maybe),
                Failure::BrokenOff { transient } => {
                    tries.maybe = true;
                    if !transient {
                        return Err(self.given_up(error, &tries));
                    }
                }
                Failure::Lost => {
                    tries.maybe = true;
                    tries.late = true;
                }
                Failure::TooOld if !tries.maybe => {
                    let Some(next) = session::number_after(&error.to_string()) else {
                        return Err(self.given_up(error, &tries));
                    };
                    number = next;
                    self.selection.reset(false);
                }
                Failure::NoNumbers if !tries.maybe => {
                    self.has_no_numbers();
                    self.selection.reset(false);
                    return self.once(body).await;
                }
                Failure::Refused | Failure::TooOld | Failure::NoNumbers => {
                    return Err(self.given_up(error, &tries));
                }
            }
            if self.is_late() {
                return Err(self.given_up(error, &tries));
            }
            tracing::debug!(target: trace::WRITE, %error, resent = tries.resent, "sent again");
            self.pause(&mut tries).await;
        }
    }

    /// The number of the command; none in a transaction, and where the server takes none.
    async fn number(&mut self, tries: &mut Tries) -> Result<Option<i64>, Error> {
        if self.unnumbered.load(Ordering::Relaxed) {
            return Ok(None);
        }
        loop {
            match session::next_number(self.session).await {
                Ok(Numbering::Number(number)) => return Ok(Some(number)),
                Ok(Numbering::InTransaction | Numbering::Unavailable) => return Ok(None),
                // The driver has not met its server yet.
                Err(error) if Failure::of(&error).is_passing() && !self.is_late() => {
                    self.pause(tries).await;
                }
                Err(error) => return Err(self.given_up(error, tries)),
            }
        }
    }

    /// A command without a number is sent again only while nothing of it was sent.
    async fn once(mut self, body: RawDocumentBuf) -> Result<Answer, Error> {
        let mut tries = Tries::default();
        loop {
            let error = match self.send(&body, None).await {
                Ok(reply) => return Ok(Answer::sure(reply, &tries)),
                Err(error) => error,
            };
            if self.forgoes_collection(&error) {
                self.selection.reset(false);
                continue;
            }
            match self.failure(&error) {
                Failure::NotSent if !self.borrowed && !self.is_late() => {
                    self.selection.reset(false);
                    self.pause(&mut tries).await;
                    continue;
                }
                Failure::NotSent | Failure::Refused | Failure::TooOld | Failure::NoNumbers => {}
                Failure::BrokenOff { .. } | Failure::Lost => tries.maybe = true,
            }
            return Err(self.given_up(error, &tries));
        }
    }

    async fn send(
        &mut self,
        body: &RawDocumentBuf,
        number: Option<i64>,
    ) -> mongodb::error::Result<Document> {
        let mut body = self.limited(body);
        if let Some(collection) = &self.collection {
            body.append(cstr!("collectionUUID"), collection.clone());
        }
        let reply = self.send_body(body, number).await?;
        if self.collection.is_some() {
            self.naming.saw_taken();
        }
        Ok(reply)
    }

    /// Whether the server does not know that a command can be for a collection of one UUID. Then it is for
    /// the one of the name.
    fn forgoes_collection(&mut self, error: &mongodb::error::Error) -> bool {
        let refuses = self.collection.is_some() && self.naming.is_refused_by(error);
        if refuses {
            self.collection = None;
        }
        refuses
    }

    async fn send_body(
        &mut self,
        mut body: RawDocumentBuf,
        number: Option<i64>,
    ) -> mongodb::error::Result<Document> {
        let Some(number) = number else {
            let run = self.database.run_raw_command(body);
            let run = if self.borrowed {
                // The choice of a server may be the transaction's.
                run
            } else {
                run.selection_criteria(self.selection.criteria())
            };
            return run.session(&mut *self.session).await;
        };
        body.append(cstr!("txnNumber"), number);
        self.database
            .run_raw_command(body)
            .selection_criteria(self.selection.criteria())
            .session(&mut *self.session)
            .await
    }

    /// What a try brought that failed. What was never handed to a connection was not sent, whatever
    /// broke.
    fn failure(&self, error: &mongodb::error::Error) -> Failure {
        match Failure::of(error) {
            Failure::Lost
                if verdict::is_of_the_network(error)
                    && !session::has_lost_a_command(self.session) =>
            {
                Failure::NotSent
            }
            failure => failure,
        }
    }

    /// The command with the time that is left, for the server to end what nobody waits for: the work
    /// on it, and its wait for the members of a set. That of the caller's own write concern stays.
    fn limited(&self, body: &RawDocumentBuf) -> RawDocumentBuf {
        let mut body = body.clone();
        if let Some(concern) = self.write_concern {
            let mut concern = concern.to_owned();
            if !matches!(concern.get("wtimeout"), Ok(Some(_))) {
                concern.append(cstr!("wtimeout"), send::patience(self.deadline));
            }
            body.append(cstr!("writeConcern"), concern);
        }
        body.append(cstr!("maxTimeMS"), send::time_limit(self.deadline));
        body
    }

    /// A reply that ends the matter. If a try got no reply before, it may have arrived after this
    /// one, and have found what was refused here possible again.
    async fn answer(&mut self, reply: Document, number: i64, tries: &Tries) -> Answer {
        let trust = match tries.late && verdict::misses_some(&reply) {
            false => Trust::Sure,
            true if self.fence(number).await => Trust::Overtaken,
            true => Trust::Loose,
        };
        Answer {
            trust,
            ..Answer::sure(reply, tries)
        }
    }

    /// Begins the next number with a command that changes nothing: from then on the server refuses
    /// whatever still comes under this one. Whether that is certain.
    async fn fence(&mut self, number: i64) -> bool {
        let nothing = doc! {
            "update": self.context.collection,
            "updates": [{ "q": { "_id": ObjectId::new() }, "u": { "$set": { "fence": 1 } } }],
        };
        let Ok(body) = RawDocumentBuf::try_from(&nothing) else {
            return false;
        };
        // So that the driver counts with us; the number is the next one whatever it says.
        let next = session::next_number(self.session).await;
        if !matches!(next, Ok(Numbering::Number(_))) {
            return false;
        }
        let mut tries = Tries::default();
        loop {
            match self.send(&body, number.checked_add(1)).await {
                Ok(_) => return true,
                Err(_) if self.is_late() => return false,
                Err(_) => self.pause(&mut tries).await,
            }
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    async fn pause(&self, tries: &mut Tries) {
        let ceiling = backoff::ceiling(FIRST_PAUSE_MS, tries.resent, LONGEST_PAUSE_MS);
        tries.resent = tries.resent.saturating_add(1);
        let left = self.deadline.saturating_duration_since(Instant::now());
        sleep(backoff::spread(ceiling).min(left)).await;
    }

    fn given_up(&self, error: mongodb::error::Error, tries: &Tries) -> Error {
        if tries.maybe {
            Error::unknown(error, self.context)
        } else {
            Error::read(error, self.context)
        }
    }

    fn has_no_numbers(&self) {
        if !self.unnumbered.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: trace::WRITE,
                "the server is no member of a replica set: a write whose reply is lost is reported \
                 as not known and not sent again"
            );
        }
    }
}

/// Why a command was given up that had not left by the deadline.
pub(super) fn not_sent_in_time(context: &Context) -> Error {
    let message = "no server that takes writes was found before the deadline".to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}

/// Why a command was given up that is still under way at the deadline.
pub(super) fn no_reply_in_time(context: &Context) -> Error {
    let message = "there was no reply before the deadline".to_owned();
    Error::new(ErrorKind::OutcomeUnknown { message }, context)
}

/// Why records were given up of whose buckets no read told by the deadline.
pub(super) fn no_answer_in_time(context: &Context) -> Error {
    let message = "the server did not answer a read before the deadline".to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}
