//! Events that wait for a slow reader, in bounded number.

use std::{
    collections::{BTreeMap, HashMap},
    fmt, mem,
};

use foldhash::fast::RandomState;

use super::event::{RecordChange, WatchEvent};
use crate::bucket::record::Record;

/// What happens to the events of a tail while its reader is slow: the queue for the reader is full.
///
/// ```
/// use bucket_core::WhenSlow;
///
/// assert_eq!(WhenSlow::default(), WhenSlow::Wait);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenSlow {
    /// They stay in the server's oplog until the reader has taken others. No event is left out; a reader that is
    /// slower for longer than the oplog reaches back loses its place.
    #[default]
    Wait,
    /// The oldest ones in the queue are left out, and [`TailEvent::Skipped`] says how many.
    DropOldest,
    /// Of each key the queue has the newest stored record and the newest other event, also before it is full. Both
    /// replace those before, and [`TailEvent::Skipped`] says how many. Where the queue is full of different keys, the
    /// others wait in the server's oplog.
    NewestPerKey,
}

/// What a tail gives.
///
/// ```
/// use bucket_core::{Record, TailEvent};
///
/// fn print<T: Record + std::fmt::Debug>(event: &TailEvent<T>) {
///     match event {
///         TailEvent::Change(event) => println!("{:?}", event.change),
///         TailEvent::Skipped { events, .. } => println!("{events} changes were left out"),
///         _ => {}
///     }
/// }
/// ```
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "nearly every event is a change")]
pub enum TailEvent<T: Record> {
    /// A change, or one of the newest records when the tail began.
    Change(WatchEvent<T>),
    /// Events before the next one were left out, because the reader was slow.
    #[non_exhaustive]
    Skipped {
        /// The key that all of them have, with [`WhenSlow::NewestPerKey`].
        key: Option<T::Key>,
        /// Their number.
        events: u64,
    },
}

impl<T: Record> TailEvent<T> {
    /// The change, unless events were left out here.
    ///
    /// ```
    /// # use bucket_core::{Record, TailEvent};
    /// fn token<T: Record>(event: TailEvent<T>) -> Option<String> {
    ///     event.into_change()?.token().map(|token| token.to_string())
    /// }
    /// ```
    #[must_use]
    pub fn into_change(self) -> Option<WatchEvent<T>> {
        match self {
            Self::Change(event) => Some(event),
            Self::Skipped { .. } => None,
        }
    }
}

impl<T: Record + fmt::Debug> fmt::Debug for TailEvent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change(event) => f.debug_tuple("Change").field(event).finish(),
            Self::Skipped { key, events } => f
                .debug_struct("Skipped")
                .field("key", key)
                .field("events", events)
                .finish(),
        }
    }
}

impl<T: Record + Clone> Clone for TailEvent<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Change(event) => Self::Change(event.clone()),
            Self::Skipped { key, events } => Self::Skipped {
                key: key.clone(),
                events: *events,
            },
        }
    }
}

/// What replaces what: events of one key, stored records and others.
type Slot<T> = (Option<<T as Record>::Key>, bool);

/// Events and errors in their places, on their way to a reader.
pub struct Queue<T: Record, E> {
    when_slow: WhenSlow,
    most: usize,
    /// By their numbers.
    waiting: BTreeMap<u64, Waiting<T, E>>,
    next: u64,
    newest: HashMap<Slot<T>, u64, RandomState>,
    /// How many were dropped before the first one.
    dropped: u64,
}

struct Waiting<T: Record, E> {
    event: Result<WatchEvent<T>, E>,
    /// How many it has replaced.
    replaced: u64,
}

impl<T: Record, E> Queue<T, E> {
    /// A queue of at most this number.
    #[must_use]
    pub fn new(when_slow: WhenSlow, most: usize) -> Self {
        Self {
            when_slow,
            most,
            waiting: BTreeMap::new(),
            next: 0,
            newest: HashMap::default(),
            dropped: 0,
        }
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes the next event, or gives it back if it has to wait.
    ///
    /// # Errors
    ///
    /// The event, if there is no room.
    #[expect(clippy::result_large_err, reason = "it is given back as it came")]
    pub fn push(
        &mut self,
        event: Result<WatchEvent<T>, E>,
    ) -> Result<(), Result<WatchEvent<T>, E>> {
        let slot = slot(self.when_slow, &event);
        let mut replaced = 0;
        if let Some(old) = slot.as_ref().and_then(|slot| self.newest.get(slot)) {
            replaced = self.waiting.remove(old).map_or(0, |old| old.replaced + 1);
        }
        if self.waiting.len() >= self.most {
            if self.when_slow != WhenSlow::DropOldest {
                return Err(event);
            }
            if self.waiting.pop_first().is_some() {
                self.dropped += 1;
            }
        }
        if let Some(slot) = slot {
            self.newest.insert(slot, self.next);
        }
        self.waiting.insert(self.next, Waiting { event, replaced });
        self.next += 1;
        Ok(())
    }

    /// The next one for the reader.
    pub fn pop(&mut self) -> Option<Result<TailEvent<T>, E>> {
        let mut first = self.waiting.first_entry()?;
        let skipped = |key, events| Some(Ok(TailEvent::Skipped { key, events }));
        if self.dropped > 0 {
            return skipped(None, mem::take(&mut self.dropped));
        }
        let waiting = first.get_mut();
        let replaced = mem::take(&mut waiting.replaced);
        let slot = slot(self.when_slow, &waiting.event);
        // Whatever comes from now on does not replace it: the reader gets it next.
        if let Some(slot) = slot
            .as_ref()
            .filter(|slot| self.newest.get(slot) == Some(first.key()))
        {
            self.newest.remove(slot);
        }
        if replaced > 0 {
            return skipped(slot.and_then(|(key, _)| key), replaced);
        }
        Some(first.remove().event.map(TailEvent::Change))
    }
}

fn slot<T: Record, E>(when_slow: WhenSlow, event: &Result<WatchEvent<T>, E>) -> Option<Slot<T>> {
    let event = event.as_ref().ok();
    let event = event.filter(|_| when_slow == WhenSlow::NewestPerKey)?;
    let is_stored = matches!(event.change, RecordChange::Stored { .. });
    Some((event.change.key(), is_stored))
}

impl<T: Record, E> fmt::Debug for Queue<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("when_slow", &self.when_slow)
            .field("most", &self.most)
            .field("waiting", &self.waiting.len())
            .field("dropped", &self.dropped)
            .finish_non_exhaustive()
    }
}
