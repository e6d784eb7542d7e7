//! The reads before a write: which buckets are open, and which records are already stored.
//!
//! A stale tail costs a refused statement. A tail that a failover rolls back costs no more than that, except
//! if the next bucket takes its number from it, or if records come from a source: then the tail is read from
//! what a majority has.

use std::collections::{HashMap, HashSet};

use bson::{RawDocument, RawDocumentBuf};

use crate::{
    error::DamagedBucket,
    read::{self, FindPlan},
    write::{Batch, Chain, Need},
};

/// The number of keys that one read looks up.
const KEYS: usize = 500;
/// Fewer newest buckets are read one by one whatever is probable.
const FEW: usize = 4;
/// The most single-bucket reads that run at the same time.
pub(super) const READS: usize = 16;

/// The reads in order. Each may depend on the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Whether remembered full buckets still exist.
    Confirm,
    /// The open buckets of many keys.
    Open,
    /// The open bucket of one chain.
    OpenOfOne,
    /// Which of many keys have a bucket at all, if most are probably new.
    Any,
    /// The newest bucket of one chain.
    Newest,
    /// How far a source has been stored. Read after the tails, so that it sees what others stored before the
    /// reads of the tails.
    Watermark,
    /// Records with an id that may already be stored. Read after the tails, which are then read again:
    /// records that are taken out may have been the reason for the chosen bucket.
    Repeats,
}

/// The progress of the reads.
#[derive(Debug, Clone)]
pub(super) struct Learning {
    stage: Stage,
    /// The chains that need a read of this stage ..
    asking: Vec<usize>,
    /// .. the number of them that are done, ..
    done: usize,
    /// .. and the number that are being read.
    reading: usize,
    /// The number of reads of each of those, if they take several.
    lengths: Vec<usize>,
}

/// The results of a read.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// Records that are already stored.
    pub(super) duplicates: Vec<usize>,
    /// Records whose id is already stored with other data.
    pub(super) conflicts: Vec<(usize, String)>,
    /// Records of keys that have a document that is not a bucket of the model.
    pub(super) damaged: Vec<(Vec<usize>, DamagedBucket)>,
    /// The index on record ids exists.
    pub(super) saw_record_ids: bool,
}

impl Stage {
    fn after(self) -> Option<Self> {
        match self {
            Self::Confirm => Some(Self::Open),
            Self::Open => Some(Self::OpenOfOne),
            Self::OpenOfOne => Some(Self::Any),
            Self::Any => Some(Self::Newest),
            Self::Newest => Some(Self::Watermark),
            Self::Watermark => Some(Self::Repeats),
            Self::Repeats => None,
        }
    }

    fn is_asked_by(self, chain: &Chain) -> bool {
        let asks_for_tail = |need| matches!(need, Need::OpenBucket | Need::NewestBucket);
        match (self, chain.need()) {
            (Self::Confirm, Need::Confirmation)
            | (Self::Newest, Need::NewestBucket)
            | (Self::Watermark, Need::Watermark)
            | (Self::Repeats, Need::Repeats) => true,
            (Self::Open, need) => asks_for_tail(need) && chain.has_open_index(),
            (Self::Any, Need::NewestBucket) => chain.is_first_look(),
            (Self::OpenOfOne, need) => asks_for_tail(need) && !chain.has_open_index(),
            _ => false,
        }
    }
}

impl Learning {
    pub(super) fn new(batch: &Batch) -> Self {
        Self::at(Stage::Confirm, batch)
    }

    fn at(stage: Stage, batch: &Batch) -> Self {
        let asking = batch.front().filter(|(_, chain)| stage.is_asked_by(chain));
        let mut asking: Vec<usize> = asking.map(|(at, _)| at).collect();
        if stage == Stage::Any && (asking.len() < FEW || !batch.newness.is_likely()) {
            asking.clear();
        }
        Self {
            stage,
            asking,
            done: 0,
            reading: 0,
            lengths: Vec::new(),
        }
    }

    /// The next reads, which may run in parallel; `None` if nothing is left to learn.
    pub(super) fn next(&mut self, batch: &Batch) -> Option<Vec<FindPlan>> {
        while self.done == self.asking.len() {
            let has_looked_for_repeats = self.stage == Stage::Repeats && self.done > 0;
            let next = match self.stage.after() {
                _ if self.has_met_later_positions(batch) => Stage::Confirm,
                _ if self.has_looked_beside(batch) => Stage::Newest,
                Some(stage) => stage,
                None if has_looked_for_repeats => Stage::Confirm,
                None => return None,
            };
            *self = Self::at(next, batch);
        }
        let left = &self.asking[self.done..];
        let chain = |at: &usize| &batch.chains()[*at];
        let length = |at: &usize| chain(at).key().len();
        self.reading = match self.stage {
            Stage::Confirm => left.len().min(KEYS),
            Stage::Open | Stage::Any => read::in_one_command(left, KEYS, length),
            _ => left.len().min(READS),
        };
        let group = &left[..self.reading];
        Some(match self.stage {
            Stage::Confirm => vec![batch.remembered(group)],
            Stage::Open => {
                let keys: Vec<&[u8]> = group.iter().map(|at| chain(at).key()).collect();
                let open = read::open_buckets(batch.spec(), &keys);
                // As the reads of single chains: see `Chain::open_bucket`.
                let has_source = batch.source().is_some();
                vec![if has_source { open.of_majority() } else { open }]
            }
            Stage::OpenOfOne => group.iter().map(|at| chain(at).open_bucket()).collect(),
            Stage::Any => {
                let keys: Vec<&[u8]> = group.iter().map(|at| chain(at).key()).collect();
                // As the reads of single chains.
                let level = group.first().map(|at| chain(at).newest_bucket().level);
                vec![FindPlan {
                    level: level.unwrap_or_default(),
                    ..read::any_buckets(batch.spec(), &keys, keys.len())
                }]
            }
            Stage::Newest => group.iter().map(|at| chain(at).newest_bucket()).collect(),
            Stage::Watermark => group.iter().map(|at| chain(at).watermark()).collect(),
            Stage::Repeats => {
                let plans: Vec<_> = group.iter().map(|at| batch.repeats(*at)).collect();
                self.lengths = plans.iter().map(Vec::len).collect();
                plans.into_iter().flatten().collect()
            }
        })
    }

    /// Whether a position was in a later bucket than the tail that was seen: then more must be read.
    fn has_met_later_positions(&self, batch: &Batch) -> bool {
        let asks_again = |at: &usize| {
            let need = batch.chains()[*at].need();
            matches!(
                need,
                Need::OpenBucket | Need::NewestBucket | Need::Watermark
            )
        };
        self.stage == Stage::Watermark && self.asking.iter().any(asks_again)
    }

    /// Whether a look was at buckets for late records only: then the newest one must be seen.
    fn has_looked_beside(&self, batch: &Batch) -> bool {
        let needs_newest = |at: &usize| batch.chains()[*at].has_looked_beside();
        self.stage == Stage::Newest && self.asking.iter().any(needs_newest)
    }

    /// Takes the results of those reads, plan by plan.
    pub(super) fn found(&mut self, batch: &mut Batch, found: Vec<Vec<RawDocumentBuf>>) -> Learned {
        let mut learned = Learned::default();
        let group = self.done..self.done + std::mem::take(&mut self.reading);
        self.done = group.end;
        let group = &self.asking[group];
        let all = || found.first().map_or(&[][..], Vec::as_slice);
        let each = group.iter().zip(&found);
        let each = each.map(|(at, found)| (*at, found.first().map(|bucket| &**bucket)));
        match self.stage {
            Stage::Confirm => learned.duplicates = batch.saw_remembered(group, all()),
            Stage::Open => learned.saw_open(batch, group, all()),
            Stage::OpenOfOne => {
                for (at, found) in each {
                    learned.saw(batch, at, found, Chain::saw);
                }
            }
            Stage::Any => saw_any(batch, group, all()),
            Stage::Newest => {
                for (at, found) in each {
                    match found {
                        None => batch.chains_mut()[at].saw_none_open(),
                        found => learned.saw(batch, at, found, Chain::saw_newest),
                    }
                }
            }
            Stage::Watermark => {
                for (at, found) in each {
                    let stored = batch.chains_mut()[at].saw_watermark(found);
                    learned.duplicates.extend(stored);
                }
            }
            Stage::Repeats => {
                learned.saw_record_ids = true;
                let mut found = found.into_iter();
                for (at, reads) in group.iter().zip(&self.lengths) {
                    let found: Vec<_> = found.by_ref().take(*reads).flatten().collect();
                    let repeats = batch.saw_repeats(*at, &found);
                    learned.duplicates.extend(repeats.duplicates);
                    learned.conflicts.extend(repeats.conflicts);
                }
            }
        }
        learned
    }
}

/// Keys of which no bucket was found have none, unless there were more than were asked for.
fn saw_any(batch: &mut Batch, asking: &[usize], found: &[RawDocumentBuf]) {
    let keys = found.iter().map(|bucket| (batch.stored_key)(bucket).ok());
    let keys: Option<HashSet<Vec<u8>>> = keys.collect();
    let Some(keys) = keys.filter(|_| found.len() < asking.len()) else {
        return;
    };
    for at in asking {
        let chain = &mut batch.chains[*at];
        if !keys.contains(chain.key()) {
            chain.saw_none_open();
        }
    }
}

impl Learned {
    fn saw_open(&mut self, batch: &mut Batch, asking: &[usize], found: &[RawDocumentBuf]) {
        let mut open: HashMap<Vec<u8>, &RawDocumentBuf> = HashMap::with_capacity(found.len());
        for bucket in found {
            if let Ok(key) = (batch.stored_key)(bucket) {
                open.insert(key, bucket);
            }
        }
        for at in asking {
            let chain = &mut batch.chains[*at];
            let bucket = open.get(chain.key());
            if chain.is_unmet() {
                batch.newness.saw(bucket.is_none());
            }
            match bucket {
                Some(bucket) => self.saw(batch, *at, Some(bucket), Chain::saw),
                None if chain.need() == Need::OpenBucket => chain.saw_none_open(),
                // The newest bucket is read next.
                None => {}
            }
        }
    }

    fn saw(
        &mut self,
        batch: &mut Batch,
        at: usize,
        found: Option<&RawDocument>,
        told: fn(&mut Chain, &RawDocument) -> Result<(), DamagedBucket>,
    ) {
        let chain = &mut batch.chains_mut()[at];
        if let Some(bucket) = found
            && let Err(damage) = told(chain, bucket)
        {
            self.damaged.push((chain.give_up(), damage));
        }
    }
}
