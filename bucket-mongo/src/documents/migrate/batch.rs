//! One command of changes: sent until the outcome of each is known, and compared.

use std::collections::{HashMap, HashSet};

use bson::{Bson, RawDocument, RawDocumentBuf, doc, raw::cstr};
use bucket_core::{
    attribute::{FormBatch, FormChange, FormReply, Sampled},
    write::{Fault, Pauses, WriteFailure, asks_again},
};
use tokio::time::sleep;

use super::{patience::Patience, walk::Walk};
use crate::{
    backoff,
    error::{Error, NotKnown, Result},
    reply::readable,
    writer::faults,
};

/// How often a document is read again that others keep changing.
const PASSES: u32 = 32;
/// The pauses before another look, in milliseconds.
const PAUSES: Pauses = Pauses::of(1, 64);

/// The result of a command.
struct Sent {
    reply: FormReply,
    /// Whether it was sent only once, so that the reply covers everything.
    is_first: bool,
}

/// The stored bytes of an `_id`.
type Key = Vec<u8>;

impl Walk<'_> {
    /// Makes these changes, and reads documents again that others have changed in the meantime.
    pub(super) async fn settle(&mut self, batch: FormBatch) -> Result<()> {
        let changes = batch.changes().iter();
        let sampled = changes.filter(|_| self.samples.takes());
        let sampled: HashSet<Key> = sampled.map(|change| key(change.before())).collect();
        let mut batches = vec![(batch, 0)];
        while let Some((batch, pass)) = batches.pop() {
            if batch.is_empty() {
                continue;
            }
            if pass == PASSES {
                self.report.unsettled += count(batch.changes().len());
                continue;
            }
            if pass > 0 {
                sleep(backoff::between(0, PAUSES.after(pass))).await;
            }
            self.has_begun = true;
            let sent = self.send(&batch).await?;
            let changes = self.without_refused(batch.into_changes(), &sent.reply);
            if sent.is_first && sent.reply.made == count(changes.len()) {
                self.report.changed += sent.reply.made;
                self.compare(changes, &sampled).await?;
            } else {
                let again = self.sort_out(changes, &sent, &sampled).await?;
                batches.extend(again.into_iter().map(|batch| (batch, pass + 1)));
            }
        }
        Ok(())
    }

    /// The changes that the server did not refuse.
    fn without_refused(&mut self, changes: Vec<FormChange>, reply: &FormReply) -> Vec<FormChange> {
        let refused = reply.refused.iter();
        let refused: HashMap<usize, _> = refused
            .map(|(at, code, text)| (*at, (code, text)))
            .collect();
        let mut left = Vec::with_capacity(changes.len());
        for (at, change) in changes.into_iter().enumerate() {
            match refused.get(&at) {
                Some((code, text)) => {
                    let error = change.refused(**code, (*text).clone());
                    self.report.refuse(change.id(), error);
                }
                None => left.push(change),
            }
        }
        left
    }

    /// Compares the sampled documents of changes that were made.
    async fn compare(
        &mut self,
        mut changes: Vec<FormChange>,
        sampled: &HashSet<Key>,
    ) -> Result<()> {
        changes.retain(|change| sampled.contains(&key(change.before())));
        let found = self.look(&changes).await?;
        for change in changes {
            let now = found.get(&key(change.before())).map(AsRef::as_ref);
            self.compared(&change, change.compare(now));
        }
        Ok(())
    }

    fn compared(&mut self, change: &FormChange, sampled: Sampled) {
        let report = &mut self.report;
        match sampled {
            Sampled::Gone => return,
            Sampled::Same => {}
            Sampled::Rewritten => report.rewritten += 1,
            Sampled::Differs => report.differing.push(change.id()),
        }
        report.compared += 1;
    }

    /// Finds the outcome of each document if not all changes were made, or if the outcome is unknown. Returns
    /// the documents that still need the change, as they are now.
    async fn sort_out(
        &mut self,
        changes: Vec<FormChange>,
        sent: &Sent,
        sampled: &HashSet<Key>,
    ) -> Result<Vec<FormBatch>> {
        let found = self.look(&changes).await?;
        let (mut batches, mut batch) = (Vec::new(), FormBatch::default());
        let mut moved = 0;
        for change in changes {
            let key = key(change.before());
            let Some(now) = found.get(&key) else {
                self.report.gone += 1;
                continue;
            };
            match self.migration.plan(now) {
                Ok(Some(next)) => match batch.push(next) {
                    Ok(full) => batches.extend(full),
                    Err(error) => self.report.refuse(change.id(), error),
                },
                Ok(None) => {
                    moved += 1;
                    let sample = change.compare(Some(now));
                    // If it differs here, another writer may have migrated it.
                    if sampled.contains(&key) && sample != Sampled::Differs {
                        self.compared(&change, sample);
                    }
                }
                Err(error) => self.report.refuse(change.id(), error),
            }
        }
        let ours = if sent.is_first {
            sent.reply.made.min(moved)
        } else {
            moved
        };
        self.report.changed += ours;
        self.report.already += moved - ours;
        batches.push(batch);
        Ok(batches)
    }

    /// The documents as they are now.
    async fn look(&self, changes: &[FormChange]) -> Result<HashMap<Key, RawDocumentBuf>> {
        if changes.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<Bson> = changes.iter().map(FormChange::id).collect();
        let these = doc! { "_id": { "$in": ids } };
        let found = self.read(&these, 0, usize::MAX).await?.into_iter();
        Ok(found.map(|stored| (key(&stored), stored)).collect())
    }

    /// Sends the changes until the server has answered. They can be sent again: each matches only the
    /// document as it was read.
    async fn send(&self, batch: &FormBatch) -> Result<Sent> {
        let command = batch.command(self.documents.name());
        let mut patience = Patience::new();
        let mut is_first = true;
        loop {
            let reply = self.database.run_raw_command(command.clone()).await;
            let error = match readable(reply) {
                Ok(reply) if asks_again(&reply) => {
                    Error::not_known(NotKnown::Unconfirmed, self.context)
                }
                Ok(reply) => {
                    if let Ok(concern) = reply.get_document("writeConcernError") {
                        let code = concern.get_i32("code").unwrap_or_default();
                        let message = concern.get_str("errmsg").unwrap_or_default();
                        let failure = WriteFailure::new(code, message.to_owned());
                        let error = Error::not_known(NotKnown::Concern(&failure), self.context);
                        return Err(self.stopped(&error));
                    }
                    let reply = FormReply::of(&reply);
                    return Ok(Sent { reply, is_first });
                }
                Err(error) => {
                    let fault = faults::fault(&error);
                    let error = match fault {
                        Fault::Lost => Error::unknown(error, self.context),
                        _ => Error::read(error, self.context),
                    };
                    if !fault.is_passing() {
                        return Err(self.stopped(&error));
                    }
                    error
                }
            };
            is_first = false;
            if !patience.is_left().await {
                return Err(self.stopped(&error));
            }
        }
    }
}

fn key(stored: &RawDocument) -> Key {
    let mut key = RawDocumentBuf::new();
    if let Ok(Some(id)) = stored.get("_id") {
        key.append(cstr!("_id"), id);
    }
    key.into_bytes()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
