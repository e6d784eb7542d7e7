//! Which bucket takes which records next: the state machine of one sequence of buckets.
//!
//! A chain knows its pending records and what was last seen of the bucket at its end (its tail).
//! What it knows may be out of date at any time: the statements are made so that a stale one is
//! refused and changes nothing, and then the tail is forgotten and asked for again. What a chain
//! does next is the form's own: see `rules`, and `count`, `in_window`, `hybrid`, `late` and `numbered`.

use std::collections::VecDeque;

use bson::{DateTime, Document};

use self::state::{EmptyBuckets, Patience, Recalled, Refused, Suspects, Taken};
use self::tail::{Known, Tail};
use self::watermark::Watermark;
use super::{Action, Source, slot::Slot};

mod count;
mod hybrid;
mod in_window;
mod late;
mod numbered;
mod patience;
mod plan;
mod positions;
pub(super) mod recollection;
mod reserve;
mod rules;
mod seen;
mod settle;
mod state;
mod suspects;
mod tail;
mod watermark;

use crate::{
    bucket::id::{self, Place},
    error::{Damage, DamagedBucket},
    model::{form::Kind, spec::BucketSpec},
    read::{self, FindPlan},
};

/// Items of one statement stay below this, so that no single statement nears a full command.
const MAX_STATEMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Refusals in a row of an id that nothing was found under: a document of another key holds it.
const MAX_TAKEN: u32 = 8;

/// The records of one sequence of buckets on their way into them.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the flags are independent of each other"
)]
pub struct Chain {
    spec: &'static BucketSpec,
    kind: Kind,
    key: Vec<u8>,
    prefix: String,
    pending: VecDeque<Slot>,
    sorted: bool,
    tail: Tail,
    /// A try on trust was refused: look for the newest bucket first.
    look_behind: bool,
    /// The bucket that took the key's last record, by hearsay: it is tried first.
    guess: Option<String>,
    recalled: Recalled,
    /// The full bucket at the end, by hearsay: it is asked for before anything is built on it.
    remembered: Option<Known>,
    /// How far the source of the records has been stored, where they come from one.
    watermark: Option<Watermark>,
    /// The position of the first record of the source that is not known to be stored: none behind it
    /// may be.
    failed_from: Option<i64>,
    /// Records of the source were stored although some before them were not.
    overtaken: bool,
    /// Which records may be stored already, where they have ids.
    suspects: Suspects,
    /// The bucket that an append did not find, and an earlier try of it may have.
    doubted: Option<String>,
    /// It was there, and may have taken the record.
    is_in_doubt: bool,
    /// The last statement was applied: nobody else is known to write here.
    confirmed: bool,
    /// The bucket that took the last record of this chain, unless that filled it.
    last: Option<String>,
    refused: Option<Refused>,
    /// The id that could not be opened although nothing was found under it.
    taken: Option<Taken>,
    /// The bucket that the server lets grow no further, whatever its count says: it is as good as
    /// full.
    outgrown: Option<String>,
    empty_buckets: EmptyBuckets,
    /// It waits for nobody who has reserved a bucket.
    in_a_hurry: bool,
    /// The bucket that this chain has reserved.
    own: Option<String>,
    patience: Option<Patience>,
    misses: u32,
    /// Lowered when a statement fails, to find the record that cannot be stored.
    max_take: usize,
}

/// What a chain needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// Every record has been dealt with.
    Nothing,
    /// Whether the full bucket that it remembers still exists; see
    /// [`Batch::remembered`](super::Batch::remembered).
    Confirmation,
    /// The open bucket; see [`Chain::open_bucket`].
    OpenBucket,
    /// The open bucket, and where there is none the newest one; see [`Chain::newest_bucket`].
    NewestBucket,
    /// How far the source of its records has been stored; see [`Chain::watermark`].
    Watermark,
    /// Which of its records are stored already; see [`Batch::repeats`](super::Batch::repeats).
    Repeats,
    /// Some time, in which who has reserved the open bucket may go on.
    Patience,
    /// Its statements to be sent; see [`Chain::plan`].
    Statements,
}

/// A planned statement: an action and the number of pending records that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    action: Action,
    take: usize,
    after: Tail,
}

impl Step {
    /// What the statement does.
    #[must_use]
    pub fn action(&self) -> &Action {
        &self.action
    }

    /// The number of records that it takes.
    #[must_use]
    pub fn take(&self) -> usize {
        self.take
    }
}

impl Chain {
    pub(super) fn new(
        spec: &'static BucketSpec,
        kind: Kind,
        key: Vec<u8>,
        prefix: String,
        source: Option<&Source>,
    ) -> Self {
        Self {
            spec,
            kind,
            key,
            prefix,
            pending: VecDeque::new(),
            sorted: true,
            tail: Tail::Unknown,
            look_behind: false,
            guess: None,
            recalled: Recalled::Nothing,
            remembered: None,
            watermark: source.map(Watermark::new),
            failed_from: None,
            overtaken: false,
            suspects: Suspects::default(),
            doubted: None,
            is_in_doubt: false,
            confirmed: false,
            last: None,
            refused: None,
            taken: None,
            outgrown: None,
            empty_buckets: EmptyBuckets::Reserved,
            in_a_hurry: false,
            own: None,
            patience: None,
            misses: 0,
            max_take: usize::MAX,
        }
    }

    pub(super) fn push(&mut self, slot: Slot) {
        let behind = self
            .pending
            .back()
            .is_none_or(|last| last.time <= slot.time);
        self.sorted &= behind;
        self.pending.push_back(slot);
    }

    /// Takes a record in, before those that came after it.
    pub(super) fn insert(&mut self, slot: Slot) {
        if self.kind.sorts() {
            self.take_in(slot);
            self.not_asked_from(0);
        } else {
            let at = self
                .pending
                .partition_point(|other| other.index < slot.index);
            self.pending.insert(at, slot);
            self.not_asked_from(at);
        }
    }

    /// Takes a record in by its time. It may be older than what the bucket covers that was found for the first one.
    pub(super) fn take_in(&mut self, slot: Slot) {
        self.push(slot);
        self.sort();
        self.first_is_another();
    }

    /// What was looked for by the time of a record that is gone is looked for anew.
    pub(super) fn first_is_another(&mut self) {
        if self.kind.is_late() && !self.goes_on_late() {
            self.tail = Tail::Unknown;
        }
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.pending.iter().map(|slot| slot.index)
    }

    pub(super) fn into_pending(self) -> VecDeque<Slot> {
        self.pending
    }

    /// Puts the records in the order in which the form takes them. Those of one time keep theirs.
    pub(super) fn sort(&mut self) {
        if self.kind.sorts() && !self.sorted {
            self.pending.make_contiguous().sort_by_key(|slot| slot.time);
            self.sorted = true;
        }
    }

    /// The key fields as BSON elements, for the reads of this chain.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn spec(&self) -> &'static BucketSpec {
        self.spec
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Under which name the bucket that took the last record may be remembered.
    #[must_use]
    pub fn memory_key(&self) -> Vec<u8> {
        identity_of(&self.key, self.kind)
    }

    /// How often in a row a statement was refused because the bucket was not as last seen.
    #[must_use]
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// The document that keeps the chain from going on, if there is one: it holds an id of the
    /// chain and is no bucket of it.
    #[must_use]
    pub fn taken_id(&self) -> Option<DamagedBucket> {
        let Taken { id, times, .. } = self.taken.as_ref()?;
        (*times >= MAX_TAKEN).then(|| {
            let message = "its id belongs to this key, but its other fields do not".to_owned();
            DamagedBucket::new(format!("{id:?}"), Damage::Refused { message })
        })
    }

    /// What the chain needs to go on.
    #[must_use]
    pub fn need(&self) -> Need {
        let asked = self.watermark.as_ref().is_none_or(Watermark::is_asked);
        match self.next_need() {
            Need::Statements if !asked => Need::Watermark,
            Need::Statements if self.suspects_repeats() => Need::Repeats,
            need => need,
        }
    }

    fn next_need(&self) -> Need {
        match &self.tail {
            _ if self.pending.is_empty() => Need::Nothing,
            _ if self.remembered.is_some() => Need::Confirmation,
            _ if self.guess.is_some() => Need::Statements,
            Tail::Unknown if self.look_behind => Need::NewestBucket,
            Tail::Unknown => self.kind.rules().first_need(self),
            _ if self.patience().is_some() => Need::Patience,
            _ => Need::Statements,
        }
    }

    /// Whether the open bucket is found by the key alone, so that those of many chains can be
    /// read at once; see [`read::open_buckets`].
    #[must_use]
    pub fn has_open_index(&self) -> bool {
        // While a capacity is raised, the index does not hold every bucket with room.
        self.kind.identity().is_none() && self.spec.raised_from().is_none()
    }

    /// The read that finds the open bucket.
    #[must_use]
    pub fn open_bucket(&self) -> FindPlan {
        self.kind.rules().open_bucket(self)
    }

    /// The read that finds the newest bucket.
    ///
    /// Where buckets are counted, the next one is opened behind it under the next number. So it must be
    /// there for good: were it taken back by a failover, its number would be left out. In the other
    /// forms nothing depends on the buckets before.
    #[must_use]
    pub fn newest_bucket(&self) -> FindPlan {
        self.kind.rules().newest_bucket(self)
    }

    /// The newest bucket of this time that fulfils the condition.
    fn newest_of(&self, start: DateTime, condition: Document) -> FindPlan {
        if self.spec.object_ids() {
            return read::newest_part(self.spec, &self.key, start, condition);
        }
        let first = self.id(Place::at(start, self.spec.id_unit()));
        let end = behind(&first);
        read::newest_between(self.spec, &self.key, (&first, &end), &condition)
    }

    /// The id of a bucket of this chain.
    fn id(&self, place: Place) -> String {
        let mut text = self.prefix.clone();
        id::push_place(&mut text, place, self.spec.id_unit());
        text
    }

    /// Asks for the newest bucket before anything is opened. Inside a transaction the first
    /// refused statement is the last, so nothing may be tried on trust: no reservation either, which
    /// the collection may refuse for having no records.
    pub fn look_first(&mut self) {
        self.look_behind = true;
        self.empty_buckets = EmptyBuckets::Unreserved;
        self.suspect_all();
    }
}

/// What a chain is found by: its key, and what tells it from others of that key.
pub(super) fn identity_of(key: &[u8], kind: Kind) -> Vec<u8> {
    let mut identity = key.to_vec();
    push_parts(&mut identity, kind);
    identity
}

pub(super) fn push_parts(identity: &mut Vec<u8>, kind: Kind) {
    for part in kind.identity().into_iter().flatten() {
        identity.extend_from_slice(&part.to_le_bytes());
    }
}

/// The first text behind an id and those of the same time with a sequence.
fn behind(id: &str) -> String {
    // A backtick stands behind the underscore that a sequence begins with.
    format!("{id}`")
}
