//! Which bucket takes which records next: the state machine of one sequence of buckets.
//!
//! A chain knows its pending records and what was last seen of the bucket at its end (its tail).
//! What it knows may be out of date at any time: the statements are made so that a stale one is
//! refused and changes nothing, and then the tail is forgotten and asked for again. What a chain
//! does next is the form's own: see `count`, `window`, `hybrid`, `late` and `numbered`.

use std::collections::VecDeque;

use bson::{DateTime, Document, RawDocument};

use self::tail::{Known, Tail};
use super::{
    Action, CommandBuilder, Put, Statement, WriteFailure,
    batch::{Encoded, Slot},
};
use crate::{
    error::{Damage, DamagedBucket},
    fold::Fold,
    id::{self, Place},
    read::{self, FindPlan},
    spec::BucketSpec,
};

mod count;
mod hybrid;
mod kind;
mod late;
mod numbered;
mod tail;
mod window;

pub(crate) use self::kind::Kind;

/// Items of one statement stay below this, so that no single statement nears a full command.
const MAX_STATEMENT_BYTES: u64 = 4 * 1024 * 1024;

/// Refusals in a row of an id that nothing was found under: a document of another key holds it.
const MAX_TAKEN: u32 = 8;

/// The records of one sequence of buckets on their way into them.
#[derive(Debug)]
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
    /// The bucket that took the last record of this chain, unless that filled it.
    last: Option<String>,
    refused: Option<Refused>,
    /// The id that could not be opened although nothing was found under it.
    taken: Option<Taken>,
    /// The bucket that the server lets grow no further, whatever its count says: it is as good as
    /// full.
    outgrown: Option<String>,
    misses: u32,
    /// Lowered when a statement fails, to find the record that cannot be stored.
    max_take: usize,
}

/// An id that could not be opened behind the bucket that was seen as the last one.
#[derive(Debug)]
struct Taken {
    id: String,
    behind: Option<String>,
    times: u32,
}

/// A bucket that refused a statement, and up to which count and size it should have taken it.
#[derive(Debug)]
struct Refused {
    id: String,
    count: u32,
    bytes: u64,
}

/// What a chain needs to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// Every record has been dealt with.
    Nothing,
    /// The open bucket; see [`Chain::open_bucket`].
    OpenBucket,
    /// The open bucket, and where there is none the newest one; see [`Chain::newest_bucket`].
    NewestBucket,
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
    pub(super) fn new(spec: &'static BucketSpec, kind: Kind, key: Vec<u8>, prefix: String) -> Self {
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
            last: None,
            refused: None,
            taken: None,
            outgrown: None,
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

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Under which name the bucket that took the last record may be remembered.
    #[must_use]
    pub fn memory_key(&self) -> Vec<u8> {
        let mut key = self.key.clone();
        for part in self.kind.identity().into_iter().flatten() {
            key.extend_from_slice(&part.to_le_bytes());
        }
        key
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
            let message = "its id is one of this key's, its other fields are not".to_owned();
            DamagedBucket::new(format!("{id:?}"), Damage::Refused { message })
        })
    }

    /// What the chain needs to go on.
    #[must_use]
    pub fn need(&self) -> Need {
        match (&self.tail, self.kind) {
            _ if self.pending.is_empty() => Need::Nothing,
            _ if self.guess.is_some() => Need::Statements,
            (Tail::Unknown, _) if self.look_behind => Need::NewestBucket,
            (Tail::Unknown, Kind::Count { .. }) if self.has_open_index() => Need::OpenBucket,
            // The first bucket of the window is tried on trust.
            (Tail::Unknown, Kind::Window { .. }) => Need::Statements,
            (Tail::Unknown, _) => Need::NewestBucket,
            _ => Need::Statements,
        }
    }

    /// Whether the open bucket is found by the key alone, so that those of many chains can be
    /// read at once; see [`read::open_buckets`].
    #[must_use]
    pub fn has_open_index(&self) -> bool {
        match self.kind {
            Kind::Window { .. } | Kind::Late { .. } => false,
            // The index does not hold every bucket with room.
            Kind::Count { .. } => self.spec.raised_from().is_none(),
            Kind::Hybrid { .. } | Kind::Numbered { .. } => true,
        }
    }

    /// Whether a try on trust shows what it did even in a command of many.
    pub(super) fn guesses_in_batches(&self) -> bool {
        matches!(self.kind, Kind::Window { .. })
    }

    /// The read that finds the open bucket.
    #[must_use]
    pub fn open_bucket(&self) -> FindPlan {
        match self.kind {
            Kind::Window { .. } => self.open_in_window(),
            Kind::Late { .. } => self.open_for_late(),
            Kind::Count { .. } if !self.has_open_index() => self.newest_bucket(),
            _ => read::open_buckets(self.spec, &[&self.key]),
        }
    }

    /// The read that finds the newest bucket.
    #[must_use]
    pub fn newest_bucket(&self) -> FindPlan {
        match self.kind {
            Kind::Window { start, .. } | Kind::Late { start, .. } => self.newest_at(start),
            Kind::Hybrid { .. } => read::newest_in_order(self.spec, &self.key),
            _ => read::newest(self.spec, &self.key),
        }
    }

    /// The newest bucket whose id is of this time, and fulfils the condition.
    fn newest_at(&self, start: DateTime) -> FindPlan {
        self.newest_of(start, Document::new())
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
    /// refused statement is the last, so nothing may be tried on trust.
    pub fn look_first(&mut self) {
        self.look_behind = true;
    }

    /// The open bucket, or the newest one, was read; its items need not be there.
    ///
    /// # Errors
    ///
    /// [`DamagedBucket`] if its id is not of the model's form, if a field is not of its type, or if
    /// it has refused a record that its count leaves room for.
    pub fn saw(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        let mut known = self.known(stored)?;
        // Others have gone on: it was a race.
        self.taken
            .take_if(|taken| taken.behind.as_deref() != Some(&known.id));
        // Counts only grow: a bucket that was fuller than this cannot be as empty now.
        let should_have = |refused: &Refused| {
            refused.id == known.id
                && known.count <= refused.count
                && known.bytes <= refused.bytes
                && (!known.marked || matches!(self.kind, Kind::Late { .. }))
        };
        if self.refused.as_ref().is_some_and(should_have) {
            let message = format!("its count of {} does not fit its array", known.count);
            let damage = Damage::Refused { message };
            return Err(DamagedBucket::new(format!("{:?}", known.id), damage));
        }
        if self.outgrown.as_ref() == Some(&known.id) && !matches!(self.kind, Kind::Count { .. }) {
            if !self.kind.marks() {
                // It is passed by; the newest one tells which is next.
                return Ok(());
            }
            known.size = known.count;
        }
        self.tail = match self.kind {
            Kind::Count { .. } => self.saw_page(known)?,
            Kind::Window { end, .. } => Self::saw_in_window(self.spec, end, known),
            Kind::Late { .. } => self.saw_for_late(known),
            Kind::Hybrid { .. } | Kind::Numbered { .. } if known.marked => Tail::Full(known),
            Kind::Hybrid { .. } | Kind::Numbered { .. } => Tail::Open(known),
        };
        Ok(())
    }

    /// The newest bucket was read, because none is open.
    ///
    /// # Errors
    ///
    /// As [`saw`](Self::saw).
    pub fn saw_newest(&mut self, stored: &RawDocument) -> Result<(), DamagedBucket> {
        if let Kind::Late { .. } | Kind::Window { .. } = self.kind {
            let known = self.known(stored)?;
            let side_only = matches!(self.kind, Kind::Late { merge: false, .. });
            let passed_by = self.outgrown.as_ref() == Some(&known.id);
            if passed_by || (side_only && !known.late) {
                // It only tells which sequence is the next one.
                self.tail = Tail::Full(known);
                return Ok(());
            }
        }
        // It may have been opened since none was found to be open.
        self.saw(stored)
    }

    fn known(&self, stored: &RawDocument) -> Result<Known, DamagedBucket> {
        Known::read(self.spec, &self.prefix, self.kind.size(), stored)
    }

    /// There is no open bucket.
    pub fn saw_none_open(&mut self) {
        self.tail = Tail::NoneOpen;
    }

    /// Tries this bucket before anything is read. In the forms whose buckets are marked or in the
    /// manual's such a statement misses without a trace, so it must be the only one of its
    /// command.
    pub(super) fn guess(&mut self, id: String) {
        if !id.starts_with(&self.prefix) {
            return;
        }
        if let Kind::Window { start, size, .. } = self.kind {
            let first = Place::at(start, self.spec.id_unit());
            let place = id::parse_place(self.spec, &id).ok();
            if let Some(place) = place.filter(|place| place.time == first.time) {
                // It was there: it is not begun again in its middle should it be gone.
                self.tail = Tail::Open(Known {
                    fresh: false,
                    ..Known::fresh(id, place, size, start)
                });
            }
            return;
        }
        if !matches!(self.kind, Kind::Late { .. }) {
            self.guess = Some(id);
        }
    }

    /// Whether a later batch gains by knowing the last bucket. A window does once it has gone
    /// beyond its first bucket, whose id follows from any record; the other forms do where the
    /// record was a `lone` one, which is when they can try a bucket on trust.
    #[must_use]
    pub fn is_worth_remembering(&self, lone: bool) -> bool {
        match (self.kind, &self.tail) {
            (Kind::Window { .. }, Tail::Open(known) | Tail::Full(known)) => {
                known.place.sequence > 0
            }
            (Kind::Window { .. } | Kind::Late { .. }, _) => false,
            _ => lone,
        }
    }

    /// The bucket that took the last record of this chain, unless it is known to be full: a good
    /// guess for the next record.
    #[must_use]
    pub fn last_bucket(&self) -> Option<&str> {
        self.last.as_deref()
    }

    /// The statements that store the pending records, at most `limit`; they must be sent in this
    /// order and each only if the one before it was applied.
    #[must_use]
    pub fn plan(&self, limit: usize) -> Vec<Step> {
        if let Some(id) = &self.guess {
            return vec![Step {
                action: self.guessed(id),
                take: 1,
                after: Tail::Unknown,
            }];
        }
        let mut steps = Vec::new();
        let mut tail = self.tail.clone();
        let mut from = 0;
        while from < self.pending.len() && steps.len() < limit {
            let step = match self.kind {
                Kind::Count { .. } => self.next_page(&tail, from),
                Kind::Window { .. } => self.next_in_window(&tail, from),
                Kind::Hybrid { .. } => self.next_in_time(&tail, from),
                Kind::Late { .. } => self.next_for_late(&tail, from),
                Kind::Numbered { .. } => self.next_number(&tail, from),
            };
            let Some(step) = step else { break };
            from += step.take;
            tail = step.after.clone();
            steps.push(step);
            if matches!(self.kind, Kind::Late { .. }) {
                // The next record may need another bucket, which is to be looked for.
                break;
            }
        }
        steps
    }

    /// An append to a bucket that nothing is known of but its id.
    fn guessed(&self, id: &str) -> Action {
        let size = self.kind.size();
        match self.kind {
            Kind::Count { .. } => Action::Append { id: id.to_owned() },
            _ => Action::Put(Put {
                id: id.to_owned(),
                start: DateTime::MIN,
                end: DateTime::MIN,
                number: id::parse_place(self.spec, id).map_or(0, |place| place.time),
                part: 0,
                size,
                fills_from: None,
                fresh: false,
                lone: true,
                late: false,
            }),
        }
    }

    /// The pending record at this place.
    fn time_at(&self, from: usize) -> DateTime {
        self.pending
            .get(from)
            .map_or(DateTime::MIN, |slot| slot.time)
    }

    /// How many records from `from` on go into one statement for this bucket; at least 1.
    fn fit(&self, from: usize, known: &Known, room: u32) -> usize {
        // Not more than our own limit even where the bucket takes more: values are checked against
        // what the sum over that many of them can be.
        let room = usize::try_from(room.min(self.kind.size()))
            .unwrap_or(usize::MAX)
            .min(self.max_take)
            .max(1);
        let limit = match self.spec.max_bytes() {
            Some(max) => u64::from(max).saturating_sub(known.bytes),
            None => MAX_STATEMENT_BYTES,
        };
        let limit = limit.min(MAX_STATEMENT_BYTES);
        let mut bytes = 0;
        let slots = self.pending.iter().skip(from).take(room);
        let fitting = slots.take_while(|slot| {
            bytes += slot.bytes;
            bytes <= limit && self.kind.covers(known.start, slot.time)
        });
        fitting.count().max(1)
    }

    /// The size of these records as it is counted against `max_bytes`.
    fn bytes(&self, from: usize, take: usize) -> u64 {
        let slots = self.pending.iter().skip(from).take(take);
        slots.map(|slot| slot.bytes).sum()
    }

    /// The statement that puts the next records into this bucket.
    fn put(&self, known: &Known, from: usize) -> Step {
        let take = self.fit(from, known, known.room());
        let after = known.with(take, self.bytes(from, take));
        let full = !after.has_room(self.spec);
        let late = matches!(self.kind, Kind::Late { .. });
        let put = Put {
            id: known.id.clone(),
            start: known.start,
            end: known.end,
            number: known.place.time,
            part: i64::try_from(known.place.sequence).unwrap_or(i64::MAX),
            size: known.size,
            fills_from: (full && self.kind.marks()).then_some(known.count),
            fresh: known.fresh,
            lone: false,
            late,
        };
        Step {
            action: Action::Put(put),
            take,
            after: if full {
                Tail::Full(after)
            } else {
                Tail::Open(after)
            },
        }
    }

    /// The statement that marks this bucket as one that takes no more.
    fn close(known: &Known) -> Step {
        Step {
            action: Action::Close {
                id: known.id.clone(),
                number: known.place.time,
            },
            take: 0,
            after: Tail::Full(Known {
                marked: true,
                ..known.clone()
            }),
        }
    }

    /// Adds the statements of a plan to a command and tells how many of them fitted.
    pub(super) fn encode(
        &self,
        steps: &[Step],
        encoded: &Encoded,
        now: DateTime,
        command: &mut CommandBuilder,
    ) -> usize {
        let mut from = 0;
        let mut items = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            items.clear();
            let mut fold = Fold::new(self.spec);
            let mut latest = DateTime::MIN;
            let mut last_bytes = 0;
            for slot in self.pending.iter().skip(from).take(step.take) {
                items.push(&encoded.items[slot.item.clone()]);
                fold.add(&encoded.inputs, slot.row, slot.time.timestamp_millis());
                latest = latest.max(slot.time);
                last_bytes = slot.bytes;
            }
            let statement = Statement {
                spec: self.spec,
                kind: self.kind,
                key: &self.key,
                action: &step.action,
                items: &items,
                fold,
                bytes: self.bytes(from, step.take),
                last_bytes,
                latest,
                now,
            };
            if !command.push(&statement) {
                return index;
            }
            from += step.take;
        }
        steps.len()
    }

    /// The statement was applied: its records are stored. Gives their indexes.
    pub fn applied(&mut self, step: &Step) -> Vec<usize> {
        self.last = match &step.after {
            Tail::Full(_) => None,
            _ => Some(step.action.id().to_owned()),
        };
        self.guess = None;
        self.tail = step.after.clone();
        self.misses = 0;
        self.taken = None;
        self.outgrown = None;
        self.max_take = self.max_take.saturating_mul(2);
        let stored = self.take(step);
        if matches!(self.kind, Kind::Late { .. }) && !self.goes_on_late() {
            self.tail = Tail::Unknown;
        }
        stored
    }

    /// The statement was refused because the tail is not as last seen; nothing was changed.
    pub fn missed(&mut self, step: &Step) {
        self.misses = self.misses.saturating_add(1);
        let behind = match &self.tail {
            Tail::NoneOpen => Some(None),
            Tail::Full(known) => Some(Some(known.id.clone())),
            _ => None,
        };
        self.tail = Tail::Unknown;
        self.guess = None;
        self.look_behind |= !step.action.is_lone();
        if step.action.is_known() {
            let taken = u32::try_from(step.take).unwrap_or(u32::MAX);
            let (size, fills_from) = match &step.action {
                Action::Put(put) => (put.size, put.fills_from),
                _ => (self.kind.size(), None),
            };
            let marks = self.kind.marks();
            let max = self.spec.max_bytes().map_or(u64::MAX, u64::from);
            let all = self.bytes(0, step.take);
            let last = self.bytes(step.take.saturating_sub(1), 1);
            let own = if marks { all } else { all.saturating_sub(last) };
            let (count, bytes) = match fills_from {
                Some(count) => (count, u64::MAX),
                None if marks => (
                    size.saturating_sub(taken.saturating_add(1)),
                    max - own.min(max),
                ),
                None => (size.saturating_sub(taken), max - own.min(max)),
            };
            self.refused = Some(Refused {
                id: step.action.id().to_owned(),
                count,
                bytes: bytes.saturating_sub(1),
            });
        } else if let (
            Action::Put(Put {
                id, lone: false, ..
            }),
            Some(behind),
        ) = (&step.action, behind)
        {
            let times = match &self.taken {
                Some(taken) if taken.id == *id && taken.behind == behind => taken.times,
                _ => 0,
            };
            self.taken = Some(Taken {
                id: id.clone(),
                behind,
                times: times.saturating_add(1),
            });
        }
    }

    /// The statement failed for good; nothing was changed. Gives the indexes of the records that
    /// cannot be stored, none if the statement took several: then halves of it are tried, until
    /// the record to blame stands alone.
    pub fn failed(&mut self, step: &Step, failure: &WriteFailure) -> Vec<usize> {
        self.tail = Tail::Unknown;
        self.guess = None;
        if step.take == 0 {
            return self.give_up();
        }
        let id = step.action.id();
        let passes_by = step.take == 1 && !matches!(self.kind, Kind::Count { .. });
        if passes_by && failure.is_outgrown() && self.outgrown.as_deref() != Some(id) {
            // Where that bucket is not there, the same id is tried once more.
            self.outgrown = Some(id.to_owned());
            self.look_behind = true;
            return Vec::new();
        }
        self.outgrown = None;
        if step.take > 1 {
            self.max_take = step.take / 2;
            return Vec::new();
        }
        // The next ones may be as bad: the size grows again with each success.
        self.max_take = 1;
        self.take(step)
    }

    /// The records of a statement whose fate is not known; they are not tried again.
    pub fn abandon(&mut self, step: &Step) -> Vec<usize> {
        self.tail = Tail::Unknown;
        self.take(step)
    }

    /// Gives up on every pending record.
    pub fn give_up(&mut self) -> Vec<usize> {
        self.pending.drain(..).map(|slot| slot.index).collect()
    }

    fn take(&mut self, step: &Step) -> Vec<usize> {
        let taken = step.take.min(self.pending.len());
        self.pending.drain(..taken).map(|slot| slot.index).collect()
    }
}

/// The first text behind an id and those of the same time with a sequence.
fn behind(id: &str) -> String {
    // A backtick stands behind the underscore that a sequence begins with.
    format!("{id}`")
}
