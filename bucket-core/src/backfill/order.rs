//! The order in which the documents of a collection are read, and the reads of it.
//!
//! An index on the key fields and the time gives the records of a key in the order of their times. So each statement brings
//! many records, and buckets are filled one after the other. Without one, `_id` is the order, which every collection has.
//!
//! A document with an array in an indexed field is at several places of the index, and one without a time is at the same place
//! as all others of its key without one. The pass by the index leaves both out, and a second pass by `_id` takes only these.
//! It has no filter for the server, which would not answer while it finds nothing, on a large source for minutes. So it takes
//! crowds, too: documents at one place that are more than a transaction takes. Whether a document belongs to a crowd
//! depends on its values to the bit, not on what the server takes for equal, so that both passes say the same.

use bson::{Bson, Document, RawBsonRef, RawDocument, doc};

use super::place::{Place, are_identical};
use crate::model::spec::{BucketSpec, ID};

/// The passes of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pass {
    /// All documents by the index, but for those that are left out.
    Index,
    /// Those that were left out, or all of them, by `_id`.
    Id,
    /// Nothing is left.
    Done,
}

/// Where a read goes on: the pass, and the first place that is not read, or the last one that is, if it runs backwards.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Position {
    /// The pass.
    pub pass: Pass,
    /// `None` at the beginning of the pass.
    pub(super) place: Option<Place>,
    /// The places of the index that the pass by it leaves out.
    pub(super) crowds: Vec<Place>,
}

/// An order of the documents.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The name of the index; `None` for that on `_id`.
    index: Option<String>,
    /// Its fields and their directions.
    fields: Vec<(String, i32)>,
    /// The field of the records' time in the documents.
    time: String,
}

/// A read of documents in order.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Find {
    /// Whether most of what it finds may belong to the other pass.
    pub is_sparse: bool,
    /// The index, as its keys or by its name.
    pub hint: Result<String, Document>,
    /// The place to begin at.
    pub min: Option<Document>,
    /// The place to begin before.
    pub max: Option<Document>,
    /// The order.
    pub sort: Document,
}

impl Order {
    /// By `_id`.
    #[must_use]
    pub fn by_id(spec: &BucketSpec) -> Self {
        Self {
            index: None,
            fields: vec![(ID.to_owned(), 1)],
            time: spec.time().name.to_owned(),
        }
    }

    /// By the first of these indexes that gives the records of a key in the order of their times; else by `_id`.
    ///
    /// `indexes` are those that the server lists.
    #[must_use]
    pub fn best(spec: &BucketSpec, indexes: &[Document]) -> Self {
        let mut fitting = indexes
            .iter()
            .filter_map(|index| Self::by(spec, index).ok());
        fitting.next().unwrap_or_else(|| Self::by_id(spec))
    }

    /// By the index of this name.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    pub fn by_index(
        spec: &BucketSpec,
        indexes: &[Document],
        name: &str,
    ) -> Result<Self, &'static str> {
        let is_named = |index: &&Document| index.get_str("name").ok() == Some(name);
        match indexes.iter().find(is_named) {
            Some(index) => Self::by(spec, index),
            None => Err("does not exist, or is still being built"),
        }
    }

    fn by(spec: &BucketSpec, index: &Document) -> Result<Self, &'static str> {
        let (Ok(keys), Ok(name)) = (index.get_document("key"), index.get_str("name")) else {
            return Err("is still being built");
        };
        for (option, reason) in [
            ("partialFilterExpression", "does not have all documents"),
            ("sparse", "does not have all documents"),
            ("hidden", "is hidden"),
            ("collation", "has a collation"),
        ] {
            if index
                .get(option)
                .is_some_and(|set| *set != Bson::Boolean(false))
            {
                return Err(reason);
            }
        }
        let direction = |value: &Bson| match value {
            Bson::Int32(1) | Bson::Int64(1) => Some(1),
            Bson::Int32(-1) | Bson::Int64(-1) => Some(-1),
            Bson::Double(value) if value.abs().total_cmp(&1.0).is_eq() => {
                Some(if value.is_sign_negative() { -1 } else { 1 })
            }
            _ => None,
        };
        let fields = keys
            .iter()
            .map(|(name, value)| Some((name.clone(), direction(value)?)));
        let fields: Option<Vec<_>> = fields.collect();
        let fields = fields.ok_or("is no plain index")?;
        let number = spec.keys().len();
        let has_key = |path: &str| fields.iter().take(number).any(|(field, _)| field == path);
        let is_of_keys = spec.keys().iter().all(|key| has_key(key.path));
        let is_time = fields
            .get(number)
            .is_some_and(|(field, _)| field == spec.time().name);
        let rest: Vec<_> = fields.iter().skip(number + 1).collect();
        let ends = rest.is_empty() || matches!(rest.as_slice(), [(field, _)] if field == ID);
        if !(is_of_keys && is_time && ends) {
            return Err("is not on the key fields, then the time, and nothing else but `_id`");
        }
        Ok(Self {
            index: Some(name.to_owned()),
            fields,
            time: spec.time().name.to_owned(),
        })
    }

    /// The name of the index; `None` for that on `_id`.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// The names of the fields of the index.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| name.as_str())
    }

    /// The beginning.
    #[must_use]
    pub fn begin(&self) -> Position {
        Position {
            pass: match self.index {
                Some(_) => Pass::Index,
                None => Pass::Id,
            },
            place: None,
            crowds: Vec::new(),
        }
    }

    /// The beginning of what comes after this pass.
    pub(super) fn after(pass: Pass, crowds: Vec<Place>) -> Position {
        Position {
            pass: match pass {
                Pass::Index => Pass::Id,
                Pass::Id | Pass::Done => Pass::Done,
            },
            place: None,
            crowds,
        }
    }

    /// Whether the pass reads the index from its end: the times of a key fall in it.
    pub(super) fn is_backwards(&self, pass: Pass) -> bool {
        let of_time = self.fields.iter().find(|(field, _)| *field == self.time);
        pass == Pass::Index && of_time.is_some_and(|(_, direction)| *direction < 0)
    }

    fn keys(&self, pass: Pass) -> Vec<(&str, i32)> {
        match pass {
            Pass::Index => self
                .fields
                .iter()
                .map(|(name, direction)| (name.as_str(), *direction))
                .collect(),
            Pass::Id | Pass::Done => vec![(ID, 1)],
        }
    }

    /// The read that goes on at a position; `None` at the end.
    #[must_use]
    pub fn find(&self, position: &Position) -> Option<Find> {
        let pass = position.pass;
        if pass == Pass::Done {
            return None;
        }
        let keys = self.keys(pass);
        let backwards = self.is_backwards(pass);
        let sign = if backwards { -1 } else { 1 };
        let bound = position.place.as_ref().map(|place| {
            let fields = keys.iter().zip(place);
            fields
                .map(|((name, _), value)| ((*name).to_owned(), value.clone()))
                .collect::<Document>()
        });
        let (min, max) = if backwards {
            (None, bound)
        } else {
            (bound, None)
        };
        Some(Find {
            is_sparse: self.index.is_some() && pass == Pass::Id,
            hint: match (&self.index, pass) {
                (Some(name), Pass::Index) => Ok(name.clone()),
                // Its name is not the same in every collection.
                _ => Err(doc! { ID: 1 }),
            },
            min,
            max,
            sort: keys
                .iter()
                .map(|(name, direction)| ((*name).to_owned(), Bson::Int32(sign * direction)))
                .collect(),
        })
    }

    /// Whether a pass takes this document.
    pub(super) fn takes(&self, pass: Pass, crowds: &[Place], document: &RawDocument) -> bool {
        let leaves_out = || self.leaves_out(document) || self.is_in_one(crowds, document);
        match (&self.index, pass) {
            (None, Pass::Id) => true,
            (Some(_), Pass::Index) => !leaves_out(),
            (Some(_), Pass::Id) => leaves_out(),
            _ => false,
        }
    }

    fn is_in_one(&self, crowds: &[Place], document: &RawDocument) -> bool {
        if crowds.is_empty() {
            return false;
        }
        let place = self.place(Pass::Index, document);
        crowds.iter().any(|crowd| are_identical(crowd, &place))
    }

    fn leaves_out(&self, document: &RawDocument) -> bool {
        let mut has_time = false;
        for field in document {
            let Ok((name, value)) = field else {
                // Damaged bytes cannot be placed.
                return true;
            };
            let name = name.as_str();
            let is_array = matches!(value, RawBsonRef::Array(_));
            if is_array && self.fields.iter().any(|(field, _)| field == name) {
                return true;
            }
            has_time |= name == self.time && !matches!(value, RawBsonRef::Null);
        }
        !has_time
    }

    /// The place of a document in the index of a pass. A value that cannot be read is null, as a missing one.
    pub(super) fn place(&self, pass: Pass, document: &RawDocument) -> Place {
        let value = |name: &str| {
            let value = document.get(name).ok().flatten();
            value.and_then(|value| Bson::try_from(value).ok())
        };
        let keys = self.keys(pass).into_iter();
        keys.map(|(name, _)| value(name).unwrap_or(Bson::Null))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc, rawdoc};

    use super::{Order, Pass, Position};
    use crate::backfill::chunk::tests::SPEC;

    fn index(keys: Document) -> Document {
        doc! { "v": 2, "name": "i", "key": keys }
    }

    fn by(index: &Document) -> Result<Order, &'static str> {
        Order::by_index(&SPEC, std::slice::from_ref(index), "i")
    }

    #[test]
    fn an_index_on_the_key_and_the_time_is_an_order() {
        for keys in [
            doc! { "k": 1, "t": 1 },
            doc! { "k": -1, "t": 1.0 },
            doc! { "k": 1, "t": -1_i64, "_id": 1 },
        ] {
            assert!(by(&index(keys)).is_ok());
        }
        for keys in [
            doc! { "t": 1, "k": 1 },
            doc! { "k": 1 },
            doc! { "k": "hashed", "t": 1 },
            doc! { "k": 1, "t": 1, "x": 1 },
        ] {
            assert!(by(&index(keys)).is_err());
        }
        for (option, value) in [("sparse", true), ("hidden", true)] {
            let mut index = index(doc! { "k": 1, "t": 1 });
            index.insert(option, value);
            assert!(by(&index).is_err(), "{option}");
            index.insert(option, false);
            assert!(by(&index).is_ok(), "{option}");
        }
        let mut partial = index(doc! { "k": 1, "t": 1 });
        partial.insert("partialFilterExpression", doc! {});
        assert!(by(&partial).is_err());
        let unfinished = doc! { "spec": index(doc! { "k": 1, "t": 1 }), "buildUUID": 1 };
        assert_eq!(Order::best(&SPEC, &[unfinished]), Order::by_id(&SPEC));
    }

    #[test]
    fn a_read_goes_on_at_its_place_in_its_direction() {
        let position = |pass, document: &bson::RawDocumentBuf, order: &Order| Position {
            pass,
            place: Some(order.place(pass, document)),
            crowds: Vec::new(),
        };
        let document = rawdoc! { "_id": 7, "t": 5, "k": "a" };
        let order = by(&index(doc! { "k": -1, "t": 1 })).unwrap();
        let find = order
            .find(&position(Pass::Index, &document, &order))
            .unwrap();
        assert_eq!(find.min, Some(doc! { "k": "a", "t": 5 }));
        assert_eq!((find.max, find.sort), (None, doc! { "k": -1, "t": 1 }));
        let order = by(&index(doc! { "k": 1, "t": -1 })).unwrap();
        let find = order
            .find(&position(Pass::Index, &document, &order))
            .unwrap();
        assert_eq!(find.max, Some(doc! { "k": "a", "t": 5 }));
        assert_eq!((find.min, find.sort), (None, doc! { "k": -1, "t": 1 }));
        let find = order.find(&position(Pass::Id, &document, &order)).unwrap();
        assert_eq!(find.min, Some(doc! { "_id": 7 }));
        assert_eq!(find.hint, Err(doc! { "_id": 1 }));
        assert!(find.is_sparse);
        assert_eq!(order.find(&Order::after(Pass::Id, Vec::new())), None);
    }

    #[test]
    fn each_document_belongs_to_one_pass() {
        let order = by(&index(doc! { "k": 1, "t": 1 })).unwrap();
        for (document, left_out) in [
            (rawdoc! { "k": 1, "t": 1 }, false),
            (rawdoc! { "t": 1 }, false),
            (rawdoc! { "k": null, "t": "x" }, false),
            (rawdoc! { "k": 1 }, true),
            (rawdoc! { "k": 1, "t": null }, true),
            (rawdoc! { "k": [1], "t": 1 }, true),
            (rawdoc! { "k": 1, "t": [] }, true),
            (rawdoc! { "k": 1, "t": 1, "x": [1] }, false),
        ] {
            assert_eq!(order.takes(Pass::Index, &[], &document), !left_out);
            assert_eq!(order.takes(Pass::Id, &[], &document), left_out);
            assert!(Order::by_id(&SPEC).takes(Pass::Id, &[], &document));
        }
    }
}
