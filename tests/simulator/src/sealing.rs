//! Buckets that are sealed, unsealed and merged while others write to them.

use bson::{DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    TimeRange,
    seal::{self, Due, Grouping, Merge, MergeDue, MergeGroup, Sealing},
};

use crate::{
    calls::is_ok,
    model::Model,
    server::{STEPPED_DOWN, id_of, namespace},
    world::{Event, World},
};

/// The refusals of a sealer's statement: a validator refuses the rows of a bucket that was edited, or the server is no longer
/// the primary.
const SEALER_REFUSALS: [i32; 4] = [121, STEPPED_DOWN, 10_107, 11_602];

/// How long buckets have been sealed before they are merged, in milliseconds: longer than a look and the statement that relies on
/// it are under way together (`MOST_UNDER_WAY` in `plan/sealers`), and a second more. Real mergers wait for an hour.
const SETTLED: i64 = 1_600;

impl<T: Model> World<'_, T> {
    /// Seals a bucket, or gives it its rows back, if nobody changes it within this time.
    pub(crate) fn seal(&mut self, pick: usize, span: u64) {
        // The derive refuses models whose indexes need the items.
        if T::SPEC.unique().is_some() || !T::SPEC.arrays().is_empty() {
            return;
        }
        let documents = self.server.raw_documents(&namespace::<T>());
        let Some(document) = documents.get(pick % documents.len().max(1)) else {
            return;
        };
        let now = DateTime::from_millis(self.clock());
        // Where buckets are merged, most stay sealed for long enough.
        let stays = T::SPEC.merge().is_some() && !pick.is_multiple_of(8);
        let sealing = match seal::unseal::<T>(document) {
            Ok(Sealing::NotDue) => seal::seal::<T>(document, |_| None, Due::after(0, now)),
            Ok(_) if stays => return,
            other => other,
        };
        match sealing {
            Ok(Sealing::Statement(statement)) => {
                let command = seal::command(T::SPEC, [&statement]);
                self.at(span, Event::Sealed(command));
            }
            Ok(_) => {}
            Err(damage) => self
                .ledger
                .complain(format!("a sealer finds that {damage}")),
        }
    }

    /// The statement of a sealer arrives.
    pub(crate) fn sealed(&mut self, command: &RawDocumentBuf) {
        let command = Document::try_from(command).unwrap_or_default();
        // A fault may break it off, done or not.
        let reply = self.ask(&command);
        let refusals = reply.get_array("writeErrors").into_iter().flatten();
        for refusal in refusals {
            let code = refusal.as_document().and_then(|it| it.get_i32("code").ok());
            assert!(
                code.is_some_and(|code| SEALER_REFUSALS.contains(&code)),
                "{reply}"
            );
        }
        self.ledger.disturbed.sealed = true;
    }

    /// Merges what has been sealed for long enough, if nobody changes it within this time.
    pub(crate) fn merge(&mut self, span: u64) {
        let now = DateTime::from_millis(self.clock());
        let Some(due) = MergeDue::after(T::SPEC, SETTLED, now) else {
            return;
        };
        let stored = self.to_merge(&due);
        let mut grouping = Grouping::new(T::SPEC, due);
        let mut groups = Vec::new();
        for document in &stored {
            groups.extend(grouping.take::<T>(document));
        }
        groups.extend(grouping.end());
        let (undated, ready): (Vec<_>, Vec<_>) = groups.into_iter().partition(|it| it.undated);
        let undated = undated.iter().flat_map(|group| found_in(&stored, group));
        let dates: Vec<Document> = undated
            .filter_map(|it| seal::dated(T::SPEC, &it, now))
            .collect();
        if !dates.is_empty() {
            let command =
                doc! { "update": T::SPEC.collection(), "ordered": false, "updates": dates };
            let command = RawDocumentBuf::try_from(&command).unwrap_or_default();
            self.at(span, Event::Sealed(command));
        }
        if !ready.is_empty() {
            self.at(span, Event::Merged(ready));
        }
    }

    /// The buckets that may be merged, in the order of the index.
    fn to_merge(&self, due: &MergeDue) -> Vec<RawDocumentBuf> {
        let plan = seal::buckets_to_merge(T::SPEC, None, TimeRange::ALL, due);
        let filter = Document::try_from(&plan.filter).unwrap_or_default();
        let find = doc! {
            "find": T::SPEC.collection(), "filter": filter, "sort": plan.sort, "batchSize": 10_000,
        };
        self.found(&find)
    }

    /// A merger's transaction: it reads the buckets, and all of its statements are executed or none.
    pub(crate) fn merged(&mut self, groups: &[MergeGroup]) {
        let now = DateTime::from_millis(self.clock());
        let stored = self.server.raw_documents(&namespace::<T>());
        let merges = groups.iter().filter_map(|group| {
            let mut found = found_in(&stored, group);
            found.sort_by_key(|it| {
                group
                    .ids
                    .iter()
                    .position(|id| id_of(it).as_ref() == Some(id))
            });
            group.merge::<T>(&found, now)
        });
        let merges: Vec<Merge> = merges.collect();
        if merges.is_empty() {
            return;
        }
        let before = self.server.clone();
        for (command, _, documents) in seal::merge_commands(T::SPEC, &merges) {
            let command = Document::try_from(&command).unwrap_or_default();
            let reply = self.ask(&command);
            let made = reply.get_i32("n").ok();
            if !is_ok(&reply) || made.and_then(|made| u64::try_from(made).ok()) != Some(documents) {
                self.server = before;
                return;
            }
        }
        self.ledger.disturbed.sealed = true;
    }
}

/// Those of a group.
fn found_in(stored: &[RawDocumentBuf], group: &MergeGroup) -> Vec<RawDocumentBuf> {
    let is_in = |it: &&RawDocumentBuf| id_of(it).is_some_and(|id| group.ids.contains(&id));
    stored.iter().filter(is_in).cloned().collect()
}
