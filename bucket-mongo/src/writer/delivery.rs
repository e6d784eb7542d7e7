//! Delivers one command: does what core's delivery says, with the driver, a clock and pauses.

use std::ops::Range;

use bson::{Binary, Document, RawDocument, RawDocumentBuf, Uuid, doc, oid::ObjectId, raw::cstr};
use bucket_core::write::{self, Deed, Delivered, Ended, Event, Fault, part_of, refuses_naming};
use mongodb::{ClientSession, Database};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    cache::SharedCache,
    deadline::{self, GRACE},
    faults,
    selection::Selection,
    session::{self, Numbering},
};
use crate::{
    backoff,
    error::{Context, Error, ErrorKind, NotKnown},
    reply::readable,
    trace,
};

/// The statements that the server has not executed again, because it has their outcome on record.
const FROM_RECORD: &str = "retriedStmtIds";

/// How far a session's number is counted up, to get above one that was already used.
const MOST_SKIPPED: usize = 1_000;

/// The target and the conditions of a delivery.
#[derive(Debug)]
pub(super) struct Delivery<'a> {
    pub(super) database: &'a Database,
    pub(super) session: &'a mut ClientSession,
    /// The session is the caller's.
    pub(super) borrowed: bool,
    /// `None` in the caller's session, unless the call sets one.
    pub(super) write_concern: Option<&'a RawDocument>,
    pub(super) deadline: Instant,
    pub(super) selection: Selection,
    pub(super) cache: &'a SharedCache,
    /// The UUID of its collection.
    pub(super) collection: Option<Uuid>,
    /// The number of its statements.
    pub(super) statements: usize,
    /// Whether a second execution changes nothing more.
    pub(super) repeatable: bool,
    pub(super) context: &'a Context,
}

impl Delivery<'_> {
    /// Sends the command until its outcome is known, or soon after the deadline.
    pub(super) async fn run(mut self, body: RawDocumentBuf) -> Delivered<Error> {
        let mut delivery = self.begin(&body);
        let mut last = None;
        loop {
            let deed = delivery.next();
            let event = match deed {
                Deed::End => break,
                Deed::Pause { ceiling } => {
                    self.pause(ceiling, delivery.resent(), last.as_ref()).await
                }
                deed => {
                    self.selection.reset(delivery.may_be_applied());
                    let end = self.deadline + GRACE;
                    match timeout_at(end, self.act(deed, &body, delivery.part())).await {
                        Ok(Ok(event)) => {
                            last = None;
                            event
                        }
                        Ok(Err(error)) => {
                            let fault = self.fault(&error, deed);
                            last = Some(error);
                            Event::Fault(fault)
                        }
                        Err(_) => Event::Deadline {
                            sent: self.may_have_sent(deed),
                        },
                    }
                }
            };
            delivery.told(event);
        }
        if delivery.has_met_a_taken_number() {
            self.cache
                .give_up_numbers("another command used the transaction number of a write");
        }
        self.end(delivery.end(), last)
    }

    fn begin(&mut self, body: &RawDocument) -> write::Delivery {
        let mut delivery = write::Delivery::new(self.statements);
        if self.borrowed {
            delivery = delivery.in_session();
        }
        if self.repeatable {
            delivery = delivery.repeatable();
        }
        if matches!(body.get_bool("ordered"), Ok(false)) {
            delivery = delivery.divisible();
        }
        let cache = self.cache.lock();
        if !cache.has_numbers() {
            delivery = delivery.without_number();
        }
        if !cache.names_collections(self.borrowed) {
            self.collection = None;
        }
        delivery
    }

    async fn act(
        &mut self,
        deed: Deed,
        body: &RawDocumentBuf,
        part: Option<Range<usize>>,
    ) -> mongodb::error::Result<Event> {
        match deed {
            Deed::Number { above } => self.number(above).await,
            Deed::Send { number, named } => {
                let mut body = match part {
                    Some(part) => self.limited(part_of(body, part, number.is_some())),
                    None => self.limited(body.clone()),
                };
                let collection = self.collection.filter(|_| named);
                if let Some(collection) = collection {
                    body.append(cstr!("collectionUUID"), Binary::from(collection));
                }
                let is_named = collection.is_some();
                let mut reply = self.send(body, number).await?;
                if reply.contains_key(FROM_RECORD) && self.goes_through_a_router().await {
                    reply.remove(FROM_RECORD);
                }
                if is_named && refuses_naming(&reply) {
                    self.cache.lock().saw_naming_unknown();
                } else if is_named && !self.cache.lock().has_tried_naming() {
                    self.cache.lock().saw_naming_taken();
                }
                Ok(Event::Reply(reply))
            }
            Deed::Fence { number } => {
                let body = self.limited(self.nothing());
                self.send(body, Some(number)).await.map(Event::Reply)
            }
            Deed::Pause { .. } | Deed::End => Ok(Event::Paused),
        }
    }

    /// The number of the command; none in a transaction, if the server takes none, or if the driver does not
    /// show how it counts.
    async fn number(&mut self, above: i64) -> mongodb::error::Result<Event> {
        for _ in 0..MOST_SKIPPED {
            match session::next_number(self.session).await? {
                Numbering::Number(number) if number <= above => {}
                Numbering::Number(number) => return Ok(Event::Number(number)),
                Numbering::InTransaction | Numbering::Unavailable => break,
                Numbering::Unreadable => {
                    self.cache.give_up_numbers(
                        "this version of the library cannot read the transaction number of the driver's \
                         sessions",
                    );
                    break;
                }
            }
        }
        Ok(Event::NoNumber)
    }

    async fn send(
        &mut self,
        mut body: RawDocumentBuf,
        number: Option<i64>,
    ) -> mongodb::error::Result<Document> {
        if let Some(number) = number {
            body.append(cstr!("txnNumber"), number);
        }
        let run = self.database.run_raw_command(body);
        let run = if self.borrowed && number.is_none() {
            // The transaction may determine the server.
            run
        } else {
            run.selection_criteria(self.selection.criteria(self.deadline))
        };
        readable(run.session(&mut *self.session).await)
    }

    /// Whether the server is a router. It sends a command again to a shard whose reply it has lost, under the same number, and
    /// passes on what the shard answers from its record: nobody else has used the number.
    async fn goes_through_a_router(&self) -> bool {
        let hello = self.database.run_command(doc! { "hello": 1 });
        let hello = hello.selection_criteria(self.selection.criteria(self.deadline));
        let hello = hello.await;
        hello.is_ok_and(|hello| hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid"))
    }

    /// Whether part of the attempt in flight may have been sent. If not, it is called off.
    fn may_have_sent(&self, deed: Deed) -> bool {
        match deed {
            Deed::Send { number: None, .. } if self.borrowed => true,
            Deed::Send { .. } => !self.selection.call_off(),
            _ => false,
        }
    }

    /// Classifies a failed attempt. A command that was never handed to a connection was not sent, whatever
    /// failed.
    fn fault(&mut self, error: &mongodb::error::Error, deed: Deed) -> Fault {
        match faults::fault(error) {
            Fault::Lost
                if faults::is_of_the_network(error)
                    && !session::has_lost_a_command(self.session) =>
            {
                Fault::NotSent
            }
            Fault::NoNaming => {
                self.cache.lock().saw_naming_unknown();
                Fault::NoNaming
            }
            Fault::NoNumbers
                if matches!(
                    deed,
                    Deed::Send {
                        number: Some(_),
                        ..
                    }
                ) =>
            {
                self.cache
                    .give_up_numbers("the server is not a member of a replica set");
                Fault::NoNumbers
            }
            fault => fault,
        }
    }

    /// The command with the time that is left as a limit for the server: for its work, and for its wait for
    /// members of the set. The limit of the caller's own write concern is not changed.
    fn limited(&self, mut body: RawDocumentBuf) -> RawDocumentBuf {
        if let Some(concern) = self.write_concern {
            let mut concern = concern.to_owned();
            if !matches!(concern.get("wtimeout"), Ok(Some(_))) {
                concern.append(cstr!("wtimeout"), deadline::patience(self.deadline));
            }
            body.append(cstr!("writeConcern"), concern);
        }
        body.append(cstr!("maxTimeMS"), deadline::time_limit(self.deadline));
        body
    }

    /// A command that changes nothing.
    fn nothing(&self) -> RawDocumentBuf {
        let nothing = doc! {
            "update": self.context.collection,
            "updates": [{ "q": { "_id": ObjectId::new() }, "u": { "$set": { "fence": 1 } } }],
        };
        // BSON can encode all these names and values.
        RawDocumentBuf::try_from(&nothing).unwrap_or_default()
    }

    async fn pause(
        &self,
        ceiling: u64,
        resent: u32,
        last: Option<&mongodb::error::Error>,
    ) -> Event {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Event::Deadline { sent: false };
        }
        if let Some(error) = last {
            let resent = resent.saturating_sub(1);
            tracing::debug!(target: trace::WRITE, %error, resent, "sent again");
        }
        sleep(backoff::spread(ceiling).min(left)).await;
        Event::Paused
    }

    fn end(&self, ended: Ended, last: Option<mongodb::error::Error>) -> Delivered<Error> {
        let (unknown, error) = match (ended, last) {
            (Ended::Reply(answer), _) => return Delivered::Answer(answer),
            (Ended::CalledOff, _) => return Delivered::CalledOff,
            (
                Ended::Failed {
                    fault: Some(_),
                    unknown,
                },
                Some(error),
            ) => (unknown, Some(error)),
            (Ended::Failed { unknown, .. }, _) => (unknown, None),
        };
        let refusal = error.as_ref().and_then(faults::refusal);
        let error = match error {
            Some(error) if unknown => Error::unknown(error, self.context),
            Some(error) => Error::read(error, self.context),
            None if unknown => Error::not_known(NotKnown::NoReply, self.context),
            None => not_sent_in_time(self.context),
        };
        Delivered::Failed {
            error,
            unknown,
            refusal: refusal.filter(|_| !unknown),
        }
    }
}

/// The error of a command that was not sent before the deadline.
pub(crate) fn not_sent_in_time(context: &Context) -> Error {
    let message = "found no server that takes writes before the deadline".to_owned();
    Error::new(ErrorKind::Unreachable { message }, context)
}
