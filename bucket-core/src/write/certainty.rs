//! What a reply leaves open if an earlier attempt of its command had no reply.
//!
//! A command without a reply is sent again as it is, and the server applies each statement once. But the first try
//! may arrive late: after a reply that refuses a statement, at a bucket that takes it by then. Most refusals are
//! final (a bucket that is full stays full, an id that is taken stays taken), but not all. A bucket that could not
//! be opened because another one of its key was open can be opened once that one is full. A bucket that was missing
//! can be opened by others. And a bucket that refused the statement can be removed.
//!
//! So once a fence holds off all tries, the bucket is looked at. A statement stores its records together and in
//! their order, and nobody takes one out of a bucket. If they are not in the bucket, the refusal was the last word.
//! If they are, they may as well be equal records of others, and the outcome is not known.

use std::{borrow::Cow, ops::Range};

use bson::{DateTime, RawDocument, RawDocumentBuf};

use super::{Action, Batch, Chain, Step, equality, own_ids::document};
use crate::{
    bucket::{self, ItemReader, id::Place},
    read::{self, FindPlan, Remembered},
};

/// How far a reply can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The reply says everything.
    Full,
    /// An earlier attempt may have arrived after the reply, but none will from now on.
    Overtaken,
    /// An earlier attempt may still arrive: refused statements may still be applied.
    Open,
}

/// Statements of which the first one was refused, and may have been executed since by an earlier try. The others
/// are executed only after it.
#[derive(Debug)]
pub struct Uncertain {
    /// Each with the chain that it belongs to.
    steps: Vec<(usize, Step)>,
    /// The place of the first one that brings records.
    first: usize,
    /// Where its items are.
    items: Vec<Range<usize>>,
}

impl Uncertain {
    /// These statements, each with its chain; none if they bring no records.
    pub(super) fn of(steps: &[(usize, Step)], chains: &[Chain]) -> Option<Self> {
        let first = steps.iter().position(|(_, step)| step.take() > 0)?;
        let (chain, step) = &steps[first];
        Some(Self {
            steps: steps.to_vec(),
            first,
            items: chains.get(*chain)?.items_of_next(step.take()),
        })
    }

    /// The statement that brings the first records, and its chain.
    fn first(&self) -> (usize, &Action) {
        let (chain, step) = &self.steps[self.first];
        (*chain, step.action())
    }
}

impl Batch {
    /// The read that finds the bucket in which the records of doubtful statements would be. It reads what the primary
    /// has: everything that a try has stored there before the fence, and a failover takes back for good what it does
    /// not find then.
    pub(super) fn trace(&self, doubtful: &Uncertain) -> FindPlan {
        let (chain, action) = doubtful.first();
        // Other statements are for buckets that are known by their ids.
        let (start, time, sequence) = match action {
            Action::Put(put) => (put.start, put.number, put.part),
            _ => (DateTime::MIN, 0, 0),
        };
        let sequence = u64::try_from(sequence).unwrap_or_default();
        let bucket = Remembered {
            key: self.chains().get(chain).map_or(&[][..], Chain::key),
            id: action.id(),
            start,
            place: Place { time, sequence },
        };
        let first = doubtful.items.first().cloned();
        let first = first.and_then(|place| document(&self.encoded().items, place));
        let time = first.and_then(|item| item.get_datetime(self.spec().time().name).ok());
        read::items_at(self.spec(), bucket, time)
    }

    /// Whether the records of doubtful statements may be in the bucket that the [look](Self::trace) has found.
    pub(super) fn may_hold(&self, doubtful: &Uncertain, found: &[RawDocumentBuf]) -> bool {
        let own = doubtful.items.iter().cloned();
        let own: Vec<&RawDocument> = own
            .filter_map(|place| document(&self.encoded().items, place))
            .collect();
        found.iter().any(|bucket| {
            let Ok(bucket) = bucket::unsealed(self.spec(), bucket) else {
                return true;
            };
            let items = bucket.get_array(self.spec().items());
            let (Ok(items), Ok(reader)) = (items, ItemReader::new(self.spec(), &bucket)) else {
                // It is damaged: nothing says what it holds.
                return true;
            };
            let stored: Vec<Option<Cow<'_, RawDocument>>> = items
                .into_iter()
                .map(|item| Some(reader.encoded(item.ok()?.as_document()?)))
                .collect();
            let is_own = |(stored, own): (&Option<Cow<'_, RawDocument>>, &&RawDocument)| {
                let stored = stored.as_deref();
                stored.is_none_or(|stored| equality::are_same(own, stored))
            };
            let mut runs = stored.windows(own.len().max(1));
            runs.any(|run| run.iter().zip(&own).all(is_own))
        })
    }

    /// They were not executed: the refusal is the last word.
    pub(super) fn refused_after_all(&mut self, doubtful: &Uncertain) {
        if let Some((chain, step)) = doubtful.steps.first()
            && let Some(chain) = self.chains_mut().get_mut(*chain)
        {
            chain.missed(step);
        }
    }

    /// It is not known whether these statements were executed; their records are not tried again.
    /// Gives their indexes.
    pub(super) fn left_unknown(&mut self, doubtful: &Uncertain) -> Vec<usize> {
        let mut unknown = Vec::new();
        for (chain, step) in &doubtful.steps {
            if let Some(chain) = self.chains_mut().get_mut(*chain) {
                unknown.extend(chain.abandon(step));
            }
        }
        self.set_held_back_aside();
        unknown
    }
}
