//! Decides which bucket takes which records next: the state machine of one sequence of buckets.
//!
//! A chain knows its pending records and what was last seen of the bucket at its end (its tail). That
//! knowledge may be stale at any time: a stale statement is refused and changes nothing, and then the tail is
//! forgotten and read again. The form decides what a chain does next: see `rules`, and `count`, `in_window`,
//! `hybrid`, `late` and `numbered`.

use std::{collections::VecDeque, ops::Range};

use bson::{DateTime, Document};

use self::state::{EmptyBuckets, Overtaken, Patience, Recalled, Refused, Suspects, Taken};
use self::tail::{Known, Tail};
use self::watermark::Watermark;
use super::{Action, Source, slot::Slot};

mod count;
pub(super) mod hint;
mod hybrid;
mod in_window;
mod late;
mod numbered;
mod patience;
mod plan;
mod positions;
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

/// The most bytes of items in one statement, so that a single statement is far from a full command.
const MAX_STATEMENT_BYTES: u64 = 4 * 1024 * 1024;

/// The refusals in a row of an id without a bucket of the key: a document of another key holds that id.
const MAX_TAKEN: u32 = 8;

/// The pending records of one sequence of buckets.
///
/// A batch may have hundreds of thousands, so what few of them need is boxed.
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
    /// The indexes of the records that are not stored, or may not be.
    unstored: Vec<usize>,
    sorted: bool,
    tail: Tail,
    /// An attempt without a look was refused: look for the newest bucket first.
    look_behind: bool,
    /// Buckets of its window may be merged.
    merged: bool,
    /// The bucket that is remembered to have taken the key's last record. It is tried first.
    guess: Option<String>,
    recalled: Recalled,
    /// The full bucket that is remembered as the last one. It is checked before anything is built on it.
    remembered: Option<Box<Known>>,
    /// How far the source of the records has been stored, if they come from one.
    watermark: Option<Box<Watermark>>,
    /// The position of the first record of the source that may not be stored: no later record may be stored.
    failed_from: Option<i64>,
    /// Records of the source were stored although some before them were not.
    overtaken: bool,
    /// Which records may already be stored, if they have ids.
    suspects: Suspects,
    /// An insert of its first bucket was refused, because that bucket exists.
    met: bool,
    /// No bucket is open, as far as the keys of the batches before tell.
    assumed: bool,
    /// The last statement was applied: nobody else is known to write here.
    confirmed: bool,
    /// The bucket that took the last record of this chain, unless that record filled it.
    last: Option<String>,
    refused: Option<Box<Refused>>,
    /// The id that could not be opened although no bucket of the key has it.
    taken: Option<Box<Taken>>,
    /// The open bucket is not the newest one with a position of the source.
    overtaken_by: Option<Box<Overtaken>>,
    /// The bucket that the server refuses to let grow, whatever its count says. It counts as full.
    outgrown: Option<String>,
    empty_buckets: EmptyBuckets,
    /// It does not wait for writers that have reserved a bucket.
    in_a_hurry: bool,
    /// The bucket that this chain has reserved.
    own: Option<String>,
    patience: Option<Box<Patience>>,
    misses: u32,
    /// The most records of a statement; a failure lowers it, to find the record that cannot be stored.
    max_take: usize,
}

/// What a chain needs to continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// Every record has been dealt with.
    Nothing,
    /// Whether the remembered full bucket still exists; see
    /// [`Batch::remembered`](super::Batch::remembered).
    Confirmation,
    /// The open bucket; see [`Chain::open_bucket`].
    OpenBucket,
    /// The open bucket, or the newest one if none is open; see [`Chain::newest_bucket`].
    NewestBucket,
    /// How far the source of its records has been stored; see [`Chain::watermark`].
    Watermark,
    /// Which of its records are already stored; see [`Batch::repeats`](super::Batch::repeats).
    Repeats,
    /// Some time for the writer that reserved the open bucket to continue.
    Patience,
    /// Its statements must be sent; see [`Chain::plan`].
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

    /// Whether an insert does the same if the bucket does not exist.
    pub(super) fn may_be_inserted(&self) -> bool {
        matches!(&self.action, Action::Put(put) if put.fresh)
    }

    /// Whether its outcome tells if the bucket is new.
    pub(super) fn may_open(&self) -> bool {
        self.may_be_inserted() || matches!(self.action, Action::Open { .. })
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
            // Most chains of a batch with very many keys have one record.
            pending: VecDeque::with_capacity(1),
            unstored: Vec::new(),
            sorted: true,
            tail: Tail::Unknown,
            look_behind: false,
            merged: false,
            guess: None,
            recalled: Recalled::Nothing,
            remembered: None,
            watermark: source.map(|source| Box::new(Watermark::new(source))),
            failed_from: None,
            overtaken: false,
            suspects: Suspects::default(),
            met: false,
            assumed: false,
            confirmed: false,
            last: None,
            refused: None,
            taken: None,
            overtaken_by: None,
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

    /// Inserts a record before those that arrived after it.
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

    /// Inserts a record by its time. It may be older than the bucket found for the first record covers.
    pub(super) fn take_in(&mut self, slot: Slot) {
        self.push(slot);
        self.sort();
        self.first_is_another();
    }

    /// Looks again for what was looked up by the time of a record that was taken out.
    pub(super) fn first_is_another(&mut self) {
        if self.kind.is_late() && !self.goes_on_late() {
            self.tail = Tail::Unknown;
        }
    }

    pub(super) fn indexes(&self) -> impl Iterator<Item = usize> {
        self.pending.iter().map(|slot| slot.index)
    }

    /// The records that were taken out and are not stored, or may not be.
    pub(super) fn unstored(&self) -> impl Iterator<Item = usize> {
        self.unstored.iter().copied()
    }

    /// These records were taken out and are not stored, or may not be.
    pub(super) fn are_unstored(&mut self, indexes: &[usize]) {
        self.unstored.extend_from_slice(indexes);
    }

    /// Where the items of the next records are.
    pub(super) fn items_of_next(&self, records: usize) -> Vec<Range<usize>> {
        let slots = self.pending.iter().take(records);
        slots.map(|slot| slot.item.clone()).collect()
    }

    pub(super) fn into_pending(self) -> VecDeque<Slot> {
        self.pending
    }

    /// Sorts the records into the order that the form needs. Records of the same time keep their order.
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

    /// Whether nothing is known about its buckets, and its statement is sent without a look.
    pub(super) fn is_unmet(&self) -> bool {
        let is_unseen = self.tail == Tail::Unknown || self.assumed;
        is_unseen && self.guess.is_none() && !self.met
    }

    /// Whether it asks for the newest bucket of its key for the first time. A key without any has none.
    pub(super) fn is_first_look(&self) -> bool {
        self.has_open_index() && self.misses == 0 && self.taken.is_none()
    }

    /// Opens a bucket without a look, if the server refuses it where one is open or comes after it.
    pub(super) fn assume_new(&mut self) {
        let is_free = !self.look_behind && self.misses == 0;
        if is_free && matches!(self.kind, Kind::Count(_)) && self.need() == Need::OpenBucket {
            self.tail = Tail::NoneOpen;
            self.assumed = true;
        }
    }

    /// Its bucket exists, which says nothing about the bucket's room.
    pub(super) fn met(&mut self) {
        self.met = true;
    }

    /// Whether the next statement is for the bucket of a refused insert.
    pub(super) fn is_met(&self) -> bool {
        self.met && self.tail == Tail::Unknown
    }

    /// The key under which the bucket that took the last record may be remembered.
    #[must_use]
    pub fn memory_key(&self) -> Vec<u8> {
        identity_of(&self.key, self.kind)
    }

    /// How often in a row a statement was refused because the bucket was not as last seen.
    #[must_use]
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// The document that stops the chain, if there is one: it has an id of the chain but is not one of its
    /// buckets, or it is open although a later bucket has records of the source.
    #[must_use]
    pub fn stopped_by(&self) -> Option<DamagedBucket> {
        let damage =
            |id: &str, message| DamagedBucket::new(format!("{id:?}"), Damage::Refused { message });
        if let Some(Taken { id, times, .. }) = self.taken.as_deref()
            && *times >= MAX_TAKEN
        {
            let message = "its id belongs to this key, but its other fields do not";
            return Some(damage(id, message.to_owned()));
        }
        let Overtaken { open, later, .. } = self.stays_overtaken()?;
        let message = format!(
            "it has room, but records of the source are in the later bucket {later:?}, so their order would be lost: call \
             `verify()` and `repair()`, which closes it"
        );
        Some(damage(open, message))
    }

    /// What the chain needs to continue.
    #[must_use]
    pub fn need(&self) -> Need {
        let asked = self.watermark.as_ref().is_none_or(|it| it.is_asked());
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

    /// Whether the key is enough to find the open bucket, so that those of many chains can be read at once;
    /// see [`read::open_buckets`].
    #[must_use]
    pub fn has_open_index(&self) -> bool {
        // While a capacity is being raised, the index does not hold every bucket with room.
        self.kind.identity().is_none() && self.spec.raised_from().is_none()
    }

    /// The read that finds the open bucket.
    #[must_use]
    pub fn open_bucket(&self) -> FindPlan {
        self.for_good(self.kind.rules().open_bucket(self))
    }

    /// The read that finds the newest bucket.
    ///
    /// In forms that count buckets, the next one is opened after it under the next number. So it must be
    /// committed: if a failover rolled it back, its number would be missing. In the other forms nothing
    /// depends on earlier buckets, unless records come from a source.
    #[must_use]
    pub fn newest_bucket(&self) -> FindPlan {
        self.for_good(self.kind.rules().newest_bucket(self))
    }

    /// A read of what a majority has, if records come from a source. They go to the bucket that is seen because
    /// those before it take no more. If a failover took back what had filled one of these, others could store
    /// records of the same source in it after the look at their position.
    fn for_good(&self, plan: FindPlan) -> FindPlan {
        if self.watermark.is_some() {
            plan.of_majority()
        } else {
            plan
        }
    }

    /// Looks for the newest bucket before anything is opened: buckets of its window may be merged, and a remembered one may be gone.
    /// One that is checked, and says that none after it is, is not forgotten.
    pub(super) fn look_for_merged(&mut self) {
        self.look_behind = true;
        self.merged = true;
        if self.remembered.is_none() || self.watermark.is_some() {
            self.tail = Tail::Unknown;
            self.guess = None;
            self.remembered = None;
            self.recalled = Recalled::Nothing;
        }
    }

    /// The newest bucket of this start that fulfils the condition.
    fn newest_of(&self, start: DateTime, condition: Document) -> FindPlan {
        if self.spec.object_ids() {
            return read::newest_part(self.spec, &self.key, start, condition);
        }
        let first = self.id(Place::at(start, self.spec.id_unit()));
        let end = behind(&first);
        read::newest_between(self.spec, &self.key, (&first, &end), &condition)
    }

    /// The newest bucket with the time of this start in its id, or the merged one that may have buckets of it.
    fn newest_or_merged_of(&self, start: DateTime) -> FindPlan {
        let Some(slot) = self.spec.merged_within() else {
            return self.newest_of(start, Document::new());
        };
        let unit = self.spec.id_unit();
        let own = Place::at(start, unit);
        let (first, _) = slot.span(own.date(unit));
        let (first, own) = (self.id(Place::at(first, unit)), self.id(own));
        let ids = (&*first, &*own, &*behind(&own));
        read::newest_or_merged(self.spec, &self.key, ids, Place::at(start, unit).date(unit))
    }

    /// The id of a bucket of this chain.
    fn id(&self, place: Place) -> String {
        let mut text = self.prefix.clone();
        id::push_place(&mut text, place, self.spec.id_unit());
        text
    }

    /// Looks for the newest bucket before anything is opened. Inside a transaction the first refused
    /// statement is the last, so nothing may be tried without a look. That excludes reservations too, which
    /// the collection may refuse because they have no records.
    pub fn look_first(&mut self) {
        self.look_behind = true;
        self.empty_buckets = EmptyBuckets::Unreserved;
        self.suspect_all();
    }
}

/// The identity of a chain: its key, and what distinguishes it from others of that key.
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

/// The first text that sorts after an id and those of the same time with a sequence.
fn behind(id: &str) -> String {
    // A backtick sorts after the underscore that a sequence begins with.
    format!("{id}`")
}
