//! Events at the server: requests, waiting for a majority, failovers, and removals.

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::index;
use server_model::{Answer, Interruption, State};

use crate::{
    calls::is_ok,
    model::{Model, validator},
    plan::Fault,
    world::{Arrival, Event, Request, Sender, World},
};

/// The refusal of a server that is no longer the primary.
pub(crate) const STEPPED_DOWN: i32 = 189;

/// A message that waits until a majority has the data that it depends on.
#[derive(Debug)]
pub(crate) enum Held {
    Reply(Sender, Document, u64),
    Read(Sender, RawDocumentBuf, u64),
}

impl<T: Model> World<'_, T> {
    /// A request arrives.
    pub(crate) fn request(&mut self, request: Request) {
        let Request {
            sender,
            body,
            back,
            node,
            downs,
        } = request;
        if node != self.node {
            return self.at(back.unwrap_or(1), Event::Response(sender, Arrival::Broken));
        }
        if sender == Sender::Nobody && downs != self.downs {
            // The server may have forgotten that its number was fenced off.
            return;
        }
        let before = matches!(body.get("delete"), Ok(Some(_)))
            .then(|| self.server.raw_documents(&namespace::<T>()));
        let answer = self.server.execute(&body);
        if let Some(before) = before {
            self.ledger.remove(&self.gone_of(before));
        }
        self.tell(|| {
            format!("{sender:?} gets {answer:?}")
                .chars()
                .take(1_500)
                .collect()
        });
        match (answer, back) {
            (_, None) => {}
            (Answer::Reply(reply), Some(back)) => {
                self.at(back, Event::Response(sender, Arrival::Reply(reply)));
            }
            (Answer::Held { reply, .. }, Some(back)) => {
                self.held.push(Held::Reply(sender, reply, back));
            }
            (Answer::Postponed { .. }, Some(back)) => {
                self.held.push(Held::Read(sender, body, back));
            }
        }
    }

    /// Those of these documents that are there no longer.
    fn gone_of(&self, before: Vec<RawDocumentBuf>) -> Vec<RawDocumentBuf> {
        let after = self.server.raw_documents(&namespace::<T>());
        let left: Vec<_> = after.iter().filter_map(id_of).collect();
        let is_gone =
            |document: &RawDocumentBuf| id_of(document).is_some_and(|id| !left.contains(&id));
        before.into_iter().filter(is_gone).collect()
    }

    /// The part of a fault that does not concern the sender's message.
    pub(crate) fn strike(&mut self, fault: Fault, sender: Sender) {
        match fault {
            Fault::Interrupt { after, whole } => self.server.interrupt(Interruption {
                after: usize::from(after),
                code: STEPPED_DOWN,
                whole,
            }),
            Fault::StepDown(span) => {
                self.terms += 1;
                self.downs += 1;
                self.server.step_down();
                self.at(u64::from(span), Event::StepUp(self.terms));
            }
            Fault::Lag(span) => self.lag(Event::Replicated, span),
            Fault::FailOver(span) => self.lag(Event::FailOver, span),
            Fault::Drop { .. } => self.drop_call(sender),
            Fault::Kill(span) => self.kill(sender, u64::from(span)),
            Fault::Leave => self.leave(sender),
            Fault::RemoveBucket(pick) => self.remove(|documents| {
                let at = usize::from(pick) % documents.len();
                documents[at..=at].to_vec()
            }),
            Fault::RemoveKey(pick) => self.remove(|documents| {
                let key = T::SPEC.keys()[0].path;
                let of = |document: &RawDocumentBuf| {
                    document.get_str(key).unwrap_or_default().to_owned()
                };
                let picked = of(&documents[usize::from(pick) % documents.len()]);
                documents
                    .into_iter()
                    .filter(|it| of(it) == picked)
                    .collect()
            }),
            Fault::DropCollection(span) => {
                self.ledger
                    .remove(&self.server.raw_documents(&namespace::<T>()));
                self.ask(&doc! { "drop": T::SPEC.collection() });
                self.at(u64::from(span), Event::SetUp);
            }
            Fault::DropIndex(pick, span) => {
                let plans = index::plan(T::SPEC);
                let definition = plans[usize::from(pick) % plans.len()].definition();
                let name = definition.get_str("name").unwrap_or_default();
                self.ask(&doc! { "dropIndexes": T::SPEC.collection(), "index": name });
                self.ledger.disturbed.unindexed = true;
                self.at(u64::from(span), Event::Indexes);
            }
            Fault::Expire => self.expire(),
            Fault::Seal(pick, span) => self.seal(usize::from(pick), u64::from(span)),
            Fault::Merge(span) => self.merge(u64::from(span)),
            Fault::Miscount => {
                let call = self
                    .call_of(sender)
                    .and_then(|call| self.calls[call].as_ref());
                if let Some(client) = call.map(|call| call.client) {
                    self.clients[client].miscounts = true;
                }
            }
            _ => {}
        }
    }

    /// From now on, no majority has new writes; then the lag ends in one way or the other.
    fn lag(&mut self, ends: impl Fn(u32) -> Event, span: u16) {
        if self.lag.is_none() {
            self.terms += 1;
            self.lag = Some(self.terms);
            self.server.lag(true);
            self.ledger.lose();
            self.at(u64::from(span), ends(self.terms));
        }
    }

    pub(crate) fn step_up(&mut self, term: u32) {
        if term == self.terms && self.server.state() == State::Secondary {
            self.tell(|| "the server is primary again".to_owned());
            self.server.step_up();
        }
    }

    /// A majority has everything.
    pub(crate) fn replicated(&mut self, lag: u32) {
        if self.lag != Some(lag) {
            return;
        }
        self.tell(|| "a majority has everything".to_owned());
        self.lag = None;
        self.server.lag(false);
        for held in std::mem::take(&mut self.held) {
            match held {
                Held::Reply(sender, reply, back) => {
                    self.at(back, Event::Response(sender, Arrival::Reply(reply)));
                }
                Held::Read(sender, body, back) => {
                    self.request(Request {
                        sender,
                        body,
                        back: Some(back),
                        node: self.node,
                        downs: self.downs,
                    });
                }
            }
        }
    }

    /// The primary dies, and the next one has what a majority has. Waiting clients see a broken
    /// connection.
    pub(crate) fn fail_over(&mut self, lag: u32) {
        if self.lag != Some(lag) {
            return;
        }
        self.tell(|| "the primary dies".to_owned());
        self.lag = None;
        self.terms += 1;
        self.node += 1;
        self.server.fail_over();
        self.ledger.lose();
        self.server.lag(false);
        for held in std::mem::take(&mut self.held) {
            let (Held::Reply(sender, _, back) | Held::Read(sender, _, back)) = held;
            self.at(back, Event::Response(sender, Arrival::Broken));
        }
    }

    /// Removes documents, as another client would.
    fn remove(&mut self, choose: impl FnOnce(Vec<RawDocumentBuf>) -> Vec<RawDocumentBuf>) {
        let documents = self.server.raw_documents(&namespace::<T>());
        if documents.is_empty() {
            return;
        }
        let gone = choose(documents);
        self.ledger.remove(&gone);
        for document in &gone {
            let Some(id) = id_of(document) else { continue };
            let statement = doc! { "q": { "_id": id }, "limit": 1 };
            self.ask(&doc! { "delete": T::SPEC.collection(), "deletes": [statement] });
        }
    }

    fn expire(&mut self) {
        let (namespace, now) = (namespace::<T>(), DateTime::from_millis(self.clock()));
        loop {
            let before = self.server.raw_documents(&namespace);
            let Some(id) = self.server.remove_expired(&namespace, now) else {
                return;
            };
            let gone: Vec<RawDocumentBuf> = before
                .into_iter()
                .filter(|it| id_of(it).as_ref() == Some(&id))
                .collect();
            self.ledger.expire(&gone, now);
        }
    }

    /// Creates the collection with its indexes, if it does not exist.
    pub(crate) fn set_up(&mut self) {
        let mut create = doc! { "create": T::SPEC.collection() };
        if self.plan.validates {
            create.insert("validator", validator::<T>());
        }
        let is_new = is_ok(&self.ask(&create));
        // Until it is known whether the server takes a collection's UUID, commands in sessions do not name it.
        let has_sessions = self.plan.writers.iter().any(|writer| writer.in_session);
        self.ledger.disturbed.unindexed |= !is_new && has_sessions;
        self.index();
    }

    pub(crate) fn index(&mut self) {
        let plans = index::plan(T::SPEC);
        let definitions: Vec<Document> = plans.iter().map(index::IndexPlan::definition).collect();
        self.ask(&doc! { "createIndexes": T::SPEC.collection(), "indexes": definitions });
    }

    /// What a read of the primary finds, whichever node is up. It leaves no trace.
    pub(crate) fn found(&self, find: &Document) -> Vec<RawDocumentBuf> {
        let mut server = self.server.clone();
        if server.state() == State::Secondary {
            server.step_up();
        }
        let reply = server.run(&RawDocumentBuf::try_from(find).unwrap_or_default());
        let found = reply.get_document("cursor");
        let found = found.and_then(|cursor| cursor.get_array("firstBatch"));
        let found = found.unwrap_or_else(|_| panic!("{find}: {reply}")).iter();
        let found = found.filter_map(Bson::as_document);
        found
            .filter_map(|it| RawDocumentBuf::try_from(it).ok())
            .collect()
    }

    /// A command from another client.
    pub(crate) fn ask(&mut self, command: &Document) -> Document {
        let mut command = command.clone();
        command.insert("writeConcern", doc! { "w": 1 });
        let raw = RawDocumentBuf::try_from(&command).unwrap_or_default();
        let state = self.server.state();
        if state == State::Secondary {
            // The next primary executes it.
            self.server.step_up();
        }
        let reply = self.server.run(&raw);
        if state == State::Secondary {
            self.server.step_down();
        }
        self.tell(|| {
            format!("somebody sends {command}: {reply}")
                .chars()
                .take(600)
                .collect()
        });
        reply
    }
}

pub(crate) fn id_of(document: &RawDocumentBuf) -> Option<Bson> {
    let id = document.get("_id").ok()??;
    Bson::try_from(id).ok()
}

/// The collection, with its database.
pub(crate) fn namespace<T: Model>() -> String {
    format!("test.{}", T::SPEC.collection())
}
