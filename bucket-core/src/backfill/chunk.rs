//! Chunks: which documents are stored together, and how many.

use std::time::Duration;

use bson::RawDocumentBuf;

use super::{
    order::{Order, Pass, Position},
    place::{Place, are_identical, may_be_equal},
};

/// The documents of the first chunk.
const FIRST: usize = 1_000;
/// The most documents of a chunk, if they are at different places.
const MOST: usize = 32_768;
/// The bytes of documents that a chunk is full with: a transaction keeps what it changes in memory.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Documents at one place are a crowd if a chunk would have this many times as much.
const CROWDED: usize = 4;
/// A chunk grows if it takes less than this part of the time that it may take, ..
const FAST: u32 = 16;
/// .. and shrinks if it takes more than this part.
const SLOW: u32 = 4;

/// Documents that are stored together.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// The documents in their order.
    pub documents: Vec<RawDocumentBuf>,
    /// Where the next chunk begins.
    pub next: Position,
}

/// Takes documents for a chunk.
#[derive(Debug)]
pub struct Gathering<'o> {
    order: &'o Order,
    pass: Pass,
    most: usize,
    documents: Vec<RawDocumentBuf>,
    bytes: usize,
    last: Option<Place>,
    crowds: Vec<Place>,
}

impl<'o> Gathering<'o> {
    /// A chunk without documents that begins at a position, and takes about this many.
    #[must_use]
    pub fn new(order: &'o Order, position: &Position, most: usize) -> Self {
        Self {
            order,
            pass: position.pass,
            most: most.max(1),
            documents: Vec::new(),
            bytes: 0,
            last: None,
            crowds: position.crowds.clone(),
        }
    }

    /// Takes the next document that the read gives, unless the chunk is complete: then this document comes back with it, and
    /// begins the next one.
    pub fn take(&mut self, document: RawDocumentBuf) -> Option<(Chunk, RawDocumentBuf)> {
        if !self.order.takes(self.pass, &self.crowds, &document) {
            return None;
        }
        let place = self.order.place(self.pass, &document);
        let is_full = self.documents.len() >= self.most || self.bytes >= MOST_BYTES;
        if is_full && let Some(last) = &self.last {
            if !may_be_equal(last, &place) {
                let chunk = Chunk {
                    documents: std::mem::take(&mut self.documents),
                    next: cut(self.order, self.pass, last, place, self.crowds.clone()),
                };
                return Some((chunk, document));
            }
            let is_crowded =
                self.documents.len() >= CROWDED * MOST || self.bytes >= CROWDED * MOST_BYTES;
            if is_crowded && self.pass == Pass::Index {
                self.leave_out(place);
                return None;
            }
        }
        self.bytes += document.as_bytes().len();
        self.last = Some(place);
        self.documents.push(document);
        None
    }

    /// Leaves a crowd to the next pass.
    fn leave_out(&mut self, crowd: Place) {
        let (order, pass) = (self.order, self.pass);
        let is_kept =
            |document: &RawDocumentBuf| !are_identical(&order.place(pass, document), &crowd);
        self.documents.retain(is_kept);
        self.bytes = self.documents.iter().map(|it| it.as_bytes().len()).sum();
        let last = self.documents.last();
        self.last = last.map(|last| order.place(pass, last));
        self.crowds.push(crowd);
    }

    /// The chunk at the end of its pass.
    #[must_use]
    pub fn end(self) -> Chunk {
        Chunk {
            documents: self.documents,
            next: Order::after(self.pass, self.crowds),
        }
    }
}

/// The position between two places.
fn cut(order: &Order, pass: Pass, last: &Place, next: Place, crowds: Vec<Place>) -> Position {
    let backwards = order.is_backwards(pass);
    Position {
        pass,
        place: Some(if backwards { last.clone() } else { next }),
        crowds,
    }
}

impl Chunk {
    /// Two chunks of about the same number of documents, of which the first one is in this pass; `None` if all are at one
    /// place.
    #[must_use]
    pub fn halves(&self, order: &Order, pass: Pass) -> Option<(Self, Self)> {
        let number = self.documents.len();
        let middle = number / 2;
        // From the middle outwards.
        let mut cuts = (0..number).flat_map(|away| [middle + away, middle.wrapping_sub(away)]);
        let (at, position) = cuts.find_map(|at| {
            let before = self.documents.get(at.checked_sub(1)?)?;
            let (last, next) = (
                order.place(pass, before),
                order.place(pass, self.documents.get(at)?),
            );
            (!may_be_equal(&last, &next))
                .then(|| (at, cut(order, pass, &last, next, self.next.crowds.clone())))
        })?;
        let (first, second) = self.documents.split_at_checked(at)?;
        Some((
            Self {
                documents: first.to_vec(),
                next: position,
            },
            Self {
                documents: second.to_vec(),
                next: self.next.clone(),
            },
        ))
    }
}

/// How many documents the next chunk has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    documents: usize,
    most: usize,
}

impl Pace {
    /// The pace of the first chunk, with at most this many documents in any.
    #[must_use]
    pub fn at_most(most: Option<usize>) -> Self {
        let most = most.unwrap_or(MOST).clamp(1, MOST);
        Self {
            documents: FIRST.min(most),
            most,
        }
    }

    /// The documents of the next chunk.
    #[must_use]
    pub const fn documents(self) -> usize {
        self.documents
    }

    /// Learns how long a chunk of this number of documents took, of the time that it may take.
    pub fn took(&mut self, documents: usize, time: Duration, may: Duration) {
        if time > may / SLOW {
            self.documents = (self.documents.min(documents) / 2).max(1);
        } else if time < may / FAST && documents >= self.documents {
            self.documents = self.documents.saturating_mul(2).min(self.most);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use bson::{Bson, Document, RawDocumentBuf, doc};
    use proptest::prelude::*;

    use super::{CROWDED, Chunk, Gathering, MOST, Pace};
    use crate::{
        BucketSpec, Form,
        backfill::order::{Order, Pass, Position},
        model::spec::{IdSegment, KeyField, Names, SpecParts, TimeField, TimeUnit},
    };

    pub(in crate::backfill) const SPEC: BucketSpec = BucketSpec::__new(SpecParts {
        record: "Reading",
        collection: "readings",
        items: "readings",
        form: Form::Count { capacity: 10 },
        id: &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Time(TimeUnit::Seconds),
        ],
        keys: &[KeyField {
            field: "k",
            path: "k",
        }],
        time: TimeField {
            field: "t",
            name: "t",
        },
        names: Names::DEFAULT,
        max_bytes: None,
        raised_from: None,
        expire_after: None,
        keep_stats: None,
        seal_after: None,
        merge: None,
        merge_stats: None,
        object_ids: false,
        compression: None,
        inputs: &[],
        aggregates: &[],
        unique: None,
        arrays: &[],
        fields: &[],
    });

    /// A collection with integers and doubles, arrays and missing fields; each `_id` is once there, of mixed types.
    fn stored(drawn: &[(i32, u8, i32, u8)]) -> Vec<Document> {
        let number = |value: i32, as_double: bool| {
            if as_double {
                Bson::Double(f64::from(value))
            } else {
                Bson::Int32(value)
            }
        };
        let documents = drawn.iter().enumerate();
        documents
            .map(|(index, (key, key_kind, time, time_kind))| {
                let id = match index % 3 {
                    0 => Bson::Int32(i32::try_from(index).unwrap()),
                    1 => Bson::String(format!("{index:05}")),
                    _ => Bson::Double(f64::from(i32::try_from(index).unwrap())),
                };
                let mut document = doc! { "_id": id };
                match key_kind {
                    0..=5 => drop(document.insert("k", number(*key, key_kind % 2 == 0))),
                    6 => drop(document.insert("k", vec![*key, key + 1])),
                    _ => {}
                }
                match time_kind {
                    0..=5 => drop(document.insert("t", number(*time, time_kind % 2 == 0))),
                    6 => drop(document.insert("t", vec![*time, time + 1])),
                    _ => drop(document.insert("t", Bson::Null)),
                }
                document
            })
            .collect()
    }

    /// As the server compares these values.
    #[allow(clippy::cast_possible_truncation)]
    fn rank(value: &Bson) -> (u8, i64, String) {
        match value {
            Bson::Null => (0, 0, String::new()),
            Bson::Int32(value) => (1, i64::from(*value), String::new()),
            Bson::Double(value) => (1, *value as i64, String::new()),
            Bson::String(value) => (2, 0, value.clone()),
            other => panic!("{other}"),
        }
    }

    type Entry = (Vec<(u8, i64, String)>, usize);

    /// The entries of an index: a document with an array has several.
    fn entries(documents: &[Document], fields: &[&str]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for (at, document) in documents.iter().enumerate() {
            let mut places = vec![Vec::new()];
            for field in fields {
                let value = document.get(*field).cloned().unwrap_or(Bson::Null);
                let values = match value {
                    Bson::Array(values) => values,
                    value => vec![value],
                };
                places = places
                    .iter()
                    .flat_map(|place| {
                        let with = move |value| [place.clone(), vec![rank(value)]].concat();
                        values.iter().map(with)
                    })
                    .collect();
            }
            entries.extend(places.into_iter().map(|place| (place, at)));
        }
        entries.sort();
        entries
    }

    /// What a server would give, each document once.
    fn read(documents: &[Document], order: &Order, position: &Position) -> Vec<usize> {
        let Some(find) = order.find(position) else {
            return Vec::new();
        };
        let fields: Vec<&str> = find.sort.keys().map(String::as_str).collect();
        let bound = |bound: &Document| bound.values().map(rank).collect::<Vec<_>>();
        let (min, max) = (find.min.as_ref().map(bound), find.max.as_ref().map(bound));
        let mut entries = entries(documents, &fields);
        if find.max.is_some() || find.sort.get("t") != find.sort.get("k") && fields.len() > 1 {
            unreachable!("only ascending indexes are drawn");
        }
        entries.retain(|(place, _)| min.as_ref().is_none_or(|min| place >= min));
        entries.retain(|(place, _)| max.as_ref().is_none_or(|max| place < max));
        let mut seen = std::collections::BTreeSet::new();
        entries.retain(|(_, at)| seen.insert(*at));
        entries.into_iter().map(|(_, at)| at).collect()
    }

    /// The next chunk of a read that begins anew.
    fn next(documents: &[Document], order: &Order, from: &Position, most: usize) -> Chunk {
        let mut gathering = Gathering::new(order, from, most);
        for at in read(documents, order, from) {
            let document = RawDocumentBuf::try_from(&documents[at]).unwrap();
            if let Some((chunk, _)) = gathering.take(document) {
                return chunk;
            }
        }
        gathering.end()
    }

    fn id(document: &RawDocumentBuf) -> Bson {
        document.get("_id").unwrap().unwrap().try_into().unwrap()
    }

    proptest! {
        /// A process that ends after any chunk, and one that reads each chunk anew, gives each document once.
        #[test]
        fn chunks_give_each_document_once(
            drawn in prop::collection::vec((0..3_i32, 0..9_u8, 0..6_i32, 0..9_u8), 0..60),
            sizes in prop::collection::vec(1..9_usize, 1..9),
            by_index in any::<bool>(),
            halved in any::<bool>(),
        ) {
            let documents = stored(&drawn);
            let index = doc! { "name": "i", "key": { "k": 1, "t": 1 } };
            let order = if by_index {
                Order::best(&SPEC, &[index])
            } else {
                Order::by_id(&SPEC)
            };
            let (mut at, mut found) = (order.begin(), Vec::new());
            let mut sizes = sizes.iter().cycle();
            while at.pass != Pass::Done {
                let chunk = next(&documents, &order, &at, *sizes.next().unwrap());
                let chunk = match chunk.halves(&order, at.pass) {
                    Some((first, second)) if halved => {
                        prop_assert_eq!(
                            [first.documents.clone(), second.documents].concat(), chunk.documents
                        );
                        first
                    }
                    _ => chunk,
                };
                prop_assert!(at != chunk.next, "it does not go on");
                found.extend(chunk.documents.iter().map(|document| format!("{:?}", id(document))));
                at = chunk.next;
            }
            found.sort();
            let mut expected: Vec<_> =
                documents.iter().map(|document| format!("{:?}", document.get("_id").unwrap())).collect();
            expected.sort();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_backwards_read_goes_on_before_its_last_place() {
        let index = doc! { "name": "i", "key": { "k": 1, "t": -1 } };
        let order = Order::best(&SPEC, &[index]);
        let mut gathering = Gathering::new(&order, &order.begin(), 2);
        let document = |t: i32| RawDocumentBuf::try_from(&doc! { "k": 1, "t": t }).unwrap();
        for time in [1, 2, 2] {
            assert_eq!(gathering.take(document(time)), None);
        }
        let (chunk, first) = gathering.take(document(3)).unwrap();
        assert_eq!((chunk.documents.len(), first), (3, document(3)));
        let find = order.find(&chunk.next).unwrap();
        assert_eq!(find.max, Some(doc! { "k": 1, "t": 2 }));
        assert_eq!(find.sort, doc! { "k": -1, "t": 1 });
    }

    #[test]
    fn a_crowd_at_one_place_is_left_to_the_pass_by_id() {
        let index = doc! { "name": "i", "key": { "k": 1, "t": 1 } };
        let order = Order::best(&SPEC, &[index]);
        let mut gathering = Gathering::new(&order, &order.begin(), 1);
        let at = |k: i32, t: Bson| RawDocumentBuf::try_from(&doc! { "k": k, "t": t }).unwrap();
        // Equal to those of the crowd, but of another type.
        assert_eq!(gathering.take(at(1, Bson::Double(1.0))), None);
        for _ in 0..2 * CROWDED * MOST {
            assert_eq!(gathering.take(at(1, Bson::Int32(1))), None);
        }
        let next = at(1, Bson::Int32(2));
        let (chunk, first) = gathering.take(next.clone()).unwrap();
        assert_eq!(
            (chunk.documents, first),
            (vec![at(1, Bson::Double(1.0))], next)
        );
        let chunk = Gathering::new(&order, &chunk.next, 1).end();
        let mut gathering = Gathering::new(&order, &chunk.next, 1_000);
        for document in [
            at(1, Bson::Double(1.0)),
            at(1, Bson::Int32(1)),
            at(1, Bson::Int32(2)),
        ] {
            assert_eq!(gathering.take(document), None);
        }
        let chunk = gathering.end();
        assert_eq!(chunk.documents, [at(1, Bson::Int32(1))]);
        assert_eq!(chunk.next.pass, Pass::Done);
    }

    #[test]
    fn documents_of_the_other_pass_fill_no_chunk() {
        let index = doc! { "name": "i", "key": { "k": 1, "t": 1 } };
        let order = Order::best(&SPEC, &[index]);
        let by_id = Order::after(Pass::Index, Vec::new());
        let mut gathering = Gathering::new(&order, &by_id, 2);
        let document = |document: Document| RawDocumentBuf::try_from(&document).unwrap();
        for id in 0..100 {
            let taken = document(doc! { "_id": id, "k": 1, "t": 1 });
            assert_eq!(gathering.take(taken), None);
        }
        let left = document(doc! { "_id": 100, "k": 1 });
        assert_eq!(gathering.take(left.clone()), None);
        let chunk = gathering.end();
        assert_eq!((chunk.documents, chunk.next.pass), (vec![left], Pass::Done));
    }

    #[test]
    fn chunks_grow_while_they_are_fast_and_shrink_when_they_are_slow() {
        let may = Duration::from_secs(32);
        let mut pace = Pace::at_most(None);
        pace.took(1_000, Duration::from_secs(1), may);
        assert_eq!(pace.documents(), 2_000);
        pace.took(2_000, Duration::from_secs(4), may);
        assert_eq!(pace.documents(), 2_000);
        // The last chunk of a pass says little.
        pace.took(10, Duration::from_millis(1), may);
        assert_eq!(pace.documents(), 2_000);
        pace.took(2_000, Duration::from_secs(9), may);
        assert_eq!(pace.documents(), 1_000);
        for _ in 0..20 {
            pace.took(usize::MAX, Duration::ZERO, may);
        }
        assert_eq!(pace.documents(), MOST);
        assert_eq!(Pace::at_most(Some(7)).documents(), 7);
        assert_eq!(Pace::at_most(Some(0)).documents(), 1);
    }
}
