//! What a reader has seen, compared with what the writers have done.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::{self, Display},
    iter::Peekable,
    vec,
};

use bucket_mongo::{RecordChange, WatchEvent};

use super::{
    models::{Entry, IDS, State},
    writer::{Done, END},
};

/// An event as the ledger needs it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    bucket: String,
    index: u32,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Stored(i64, State),
    Updated(i64, State),
    Removed,
}

impl Seen {
    pub(super) fn of<T: Entry>(event: &WatchEvent<T>) -> Self {
        let (index, what) = match &event.change {
            RecordChange::Stored { record, index, .. } => {
                (*index, What::Stored(record.id(), record.state()))
            }
            RecordChange::Updated { record, index, .. } => {
                (*index, What::Updated(record.id(), record.state()))
            }
            RecordChange::Removed { index, .. } => (*index, What::Removed),
            other => panic!("no other tool writes: {other:?} of {}", event.bucket),
        };
        Self {
            bucket: event.bucket.to_string(),
            index,
            what,
        }
    }

    pub(super) fn is_end(&self) -> bool {
        matches!(self.what, What::Stored(_, state) if state.amount == END)
    }

    /// Reads what [`Display`] writes.
    pub(super) fn read<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let (bucket, index) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        let kind = words.next()?;
        let mut number = || words.next()?.parse().ok();
        let of = (
            number()?,
            State {
                account: number()?,
                slot: number()?,
                amount: number()?,
            },
        );
        let what = match kind {
            "+" => What::Stored(of.0, of.1),
            "~" => What::Updated(of.0, of.1),
            "-" => What::Removed,
            _ => return None,
        };
        Some(Self {
            bucket,
            index,
            what,
        })
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NONE: State = State {
            account: 0,
            slot: 0,
            amount: 0,
        };
        let (kind, id, state) = match self.what {
            What::Stored(id, state) => ("+", id, state),
            What::Updated(id, state) => ("~", id, state),
            What::Removed => ("-", 0, NONE),
        };
        let State {
            account,
            slot,
            amount,
        } = state;
        let Self { bucket, index, .. } = self;
        write!(f, "{bucket} {index} {kind} {id} {account} {slot} {amount}")
    }
}

/// What happened to records of one writer, in its order.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Stored(i64, State),
    Updated(i64, State),
    Removed(i64),
}

/// What is left of the records, and what happened to those of each writer.
pub(super) struct Replayed {
    pub(super) left: BTreeMap<i64, State>,
    of_writers: BTreeMap<i64, Vec<Change>>,
}

impl Replayed {
    pub(super) fn new(all: &[Seen]) -> Self {
        // The record of each place, and whether it is there.
        let mut places: HashMap<(&str, u32), (i64, bool)> = HashMap::new();
        let mut of_writers: BTreeMap<i64, Vec<Change>> = BTreeMap::new();
        let mut left = BTreeMap::new();
        for seen in all {
            let place = (seen.bucket.as_str(), seen.index);
            let before = places.get(&place).copied();
            let change = match seen.what {
                What::Stored(id, state) => {
                    assert_eq!(before, None, "its place was taken: {seen}");
                    places.insert(place, (id, true));
                    let other = left.insert(id, state);
                    assert_eq!(other, None, "it is there twice: {seen}");
                    Change::Stored(id, state)
                }
                What::Updated(id, state) => {
                    assert_eq!(before, Some((id, true)), "it was not there: {seen}");
                    left.insert(id, state);
                    Change::Updated(id, state)
                }
                What::Removed => {
                    let (id, was_there) = before.expect("a place that had a record");
                    places.insert(place, (id, false));
                    if was_there {
                        left.remove(&id).expect("a record that was there");
                    }
                    Change::Removed(id)
                }
            };
            let (Change::Stored(id, _) | Change::Updated(id, _) | Change::Removed(id)) = change;
            of_writers.entry(id / IDS).or_default().push(change);
        }
        Self { left, of_writers }
    }

    /// Each thing that this writer has done was seen once, in its order, and nothing else.
    pub(super) fn check(&mut self, writer: i64, done: Vec<Done>) {
        let seen = self.of_writers.remove(&writer).unwrap_or_default();
        let mut seen = seen.into_iter().peekable();
        for done in done {
            check_one(&mut seen, &done);
        }
        assert_eq!(seen.next(), None, "more than writer {writer} has done");
    }
}

fn check_one(seen: &mut Peekable<vec::IntoIter<Change>>, done: &Done) {
    let mut next = || seen.next().unwrap_or_else(|| panic!("nothing of {done:?}"));
    match done {
        Done::Stored(records) => {
            let mut rest = records.clone();
            for _ in 0..records.len() {
                match next() {
                    Change::Stored(id, state) => assert_eq!(rest.remove(&id), Some(state)),
                    other => panic!("{other:?} of {done:?}"),
                }
            }
        }
        Done::Updated(id, state) => assert_eq!(next(), Change::Updated(*id, *state)),
        Done::Removed(id) => assert_eq!(next(), Change::Removed(*id)),
        Done::Moved(id, state) => {
            let first = next();
            if first == Change::Updated(*id, *state) {
                return;
            }
            assert_eq!(first, Change::Removed(*id), "{done:?}");
            // An earlier place of it in that account may give up its id.
            seen.next_if_eq(&Change::Removed(*id));
            assert_eq!(seen.next(), Some(Change::Stored(*id, *state)), "{done:?}");
        }
    }
}
