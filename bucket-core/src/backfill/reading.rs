//! A document as a record, and whether the record keeps all of it.
//!
//! The document is read by the struct's own `Deserialize`, and what that gives is written again by its `Serialize`. Each field
//! of the document must come back as it was, or the record would lose something without a word:
//!
//! * a field that does not come back is one that the struct does not know;
//! * a value that comes back as another one has lost something, as a number of 64 bits in a field of 32 bits that wraps;
//! * a number may come back with another type if it has the same value: what the types of the struct read is what they mean;
//! * a field that the document lacks may come back with a value: the struct has a default for it, and nothing is lost.
//!
//! Buckets keep the time as a date of milliseconds. So a document whose time is no date goes all the way to an item and back.

use std::{
    collections::BTreeSet,
    fmt::{self, Write},
    marker::PhantomData,
};

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;

use crate::{
    bucket::{self, ItemReader, key_of, record::Record},
    codec::{
        decode::decode,
        encode::record_document,
        raw::{RawWriter, elements},
    },
    error::Damage,
    model::{spec::ID, whole},
    read::key_elements,
    write::unchecked_item,
};

/// Why a document is no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit(String);

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Misfit {
    fn at(path: &str, what: &str) -> Self {
        Self(format!("the field `{path}` {what}"))
    }
}

/// Reads documents as records.
#[derive(Debug, Clone)]
pub struct Reading<T> {
    ignored: BTreeSet<String>,
    /// The struct denies fields that it does not know, and `_id` is one.
    refuses_id: bool,
    record: PhantomData<fn() -> T>,
}

impl<T: Record + DeserializeOwned> Reading<T> {
    /// Leaves out these fields of documents, and `_id` if the struct does not have it.
    #[must_use]
    pub fn new(ignored: impl IntoIterator<Item = String>) -> Self {
        Self {
            ignored: ignored.into_iter().collect(),
            refuses_id: false,
            record: PhantomData,
        }
    }

    /// The record of a document.
    ///
    /// # Errors
    ///
    /// What does not fit, or would be lost.
    pub fn record(&mut self, document: &RawDocument) -> Result<T, Misfit> {
        let record = self.decode(document)?;
        self.compare(document, &form_of(&record)?)?;
        // Where it is a date, the item has that date.
        let time = document.get(T::SPEC.time().name);
        if !matches!(time, Ok(Some(RawBsonRef::DateTime(_)))) {
            let stored = stored_and_read(&record).map_err(|damage| {
                Misfit(format!("it cannot be read as it would be stored: {damage}"))
            })?;
            self.compare(document, &form_of(&stored?)?)?;
        }
        Ok(record)
    }

    fn decode(&mut self, document: &RawDocument) -> Result<T, Misfit> {
        let unread = |error: bson::error::Error| {
            Misfit(format!(
                "it cannot be read as `{}`: {error}",
                T::SPEC.record()
            ))
        };
        if !self.refuses_id {
            let without = |name: &str| self.ignored.contains(name);
            let decoded = if self.ignored.is_empty() {
                decode(document.as_bytes())
            } else {
                decode(left(document, without)?.as_bytes())
            };
            match decoded {
                Ok(record) => return Ok(record),
                // Any other error is about this document. A struct that keeps the `_id` would lose it without a word.
                Err(error) if !denies_id(&error) => return Err(unread(error)),
                Err(_) => {}
            }
        }
        let without = |name: &str| name == ID || self.ignored.contains(name);
        let record = decode(left(document, without)?.as_bytes()).map_err(unread)?;
        self.refuses_id = true;
        Ok(record)
    }

    fn compare(&self, document: &RawDocument, form: &RawDocument) -> Result<(), Misfit> {
        let mut path = String::new();
        let has_id = matches!(form.get(ID), Ok(Some(_)));
        let is_left_out = |name: &str| self.ignored.contains(name) || name == ID && !has_id;
        compare(document, form, &mut path, &is_left_out)
    }
}

/// Whether a struct denies unknown fields, and so each document for its `_id`. Only the text of serde says so.
fn denies_id(error: &impl fmt::Display) -> bool {
    error.to_string().contains("unknown field `_id`")
}

fn damaged(_: impl fmt::Display) -> Misfit {
    Misfit("it is no valid BSON".to_owned())
}

/// A document without some of its fields.
fn left(
    document: &RawDocument,
    is_left_out: impl Fn(&str) -> bool,
) -> Result<RawDocumentBuf, Misfit> {
    let mut damage = Ok(());
    let left = RawWriter::build(|writer| {
        for element in elements(document) {
            match element {
                Ok(element) if is_left_out(element.name) => {}
                Ok(element) => writer.raw(element.kind, element.name, element.bytes),
                Err(_) => damage = Err(damaged("")),
            }
        }
    });
    damage.map(|()| left)
}

/// What serde writes for a record.
fn form_of<T: Record>(record: &T) -> Result<RawDocumentBuf, Misfit> {
    record_document(record).map_err(|error| Misfit(error.to_string()))
}

/// The record as a read gives it, once it is stored.
fn stored_and_read<T: Record>(record: &T) -> Result<Result<T, Misfit>, Damage> {
    let item = match unchecked_item(record) {
        Ok(item) => item,
        Err(error) => return Ok(Err(Misfit(error.to_string()))),
    };
    let stored = RawWriter::build(|writer| {
        writer.elements(&key_elements::<T>(&record.key()));
        let items = writer.begin_array(T::SPEC.items());
        writer.element(0, item.as_bytes());
        writer.end(items);
    });
    let items = bucket::items(T::SPEC, &stored)?;
    let reader = ItemReader::new(T::SPEC, &stored)?;
    let first = items.into_iter().next();
    let missing = || bucket::wrong_field(T::SPEC.items(), "an array with an item");
    let item = first.ok_or_else(missing)?.map_err(bucket::bson_damage)?;
    Ok(Ok(T::assemble(
        key_of::<T>(&stored)?,
        reader.decode(0, item)?,
    )))
}

/// Compares what is in a document with what came back.
fn compare(
    document: &RawDocument,
    form: &RawDocument,
    path: &mut String,
    is_left_out: &dyn Fn(&str) -> bool,
) -> Result<(), Misfit> {
    let mut in_order = form.into_iter();
    let mut seen = 0;
    let mut names = BTreeSet::new();
    for field in document {
        let (name, value) = field.map_err(damaged)?;
        let name = name.as_str();
        if is_left_out(name) {
            continue;
        }
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(name);
        // Mostly the fields come back in their order.
        let next = in_order.next().and_then(Result::ok);
        let back = match next {
            Some((next, back)) if next.as_str() == name => Some(back),
            _ => form.get(name).map_err(damaged)?,
        };
        let Some(back) = back else {
            return Err(Misfit::at(
                path,
                "is not known to the model, and would be lost",
            ));
        };
        seen += 1;
        names.insert(name);
        compare_values(value, back, path)?;
        path.truncate(length);
    }
    if names.len() < seen {
        return Err(Misfit("it has a field twice".to_owned()));
    }
    Ok(())
}

fn compare_values(
    value: RawBsonRef<'_>,
    back: RawBsonRef<'_>,
    path: &mut String,
) -> Result<(), Misfit> {
    let is_same = match (value, back) {
        (RawBsonRef::Document(value), RawBsonRef::Document(back)) => {
            return compare(value, back, path, &|_| false);
        }
        (RawBsonRef::Array(value), RawBsonRef::Array(back)) => {
            let (mut values, mut backs) = (value.into_iter(), back.into_iter());
            for index in 0_usize.. {
                let length = path.len();
                write!(path, ".{index}").ok();
                match (values.next(), backs.next()) {
                    (None, None) => {
                        path.truncate(length);
                        return Ok(());
                    }
                    (Some(Ok(value)), Some(Ok(back))) => compare_values(value, back, path)?,
                    _ => return Err(Misfit::at(path, "would not be stored as it is")),
                }
                path.truncate(length);
            }
            false
        }
        (RawBsonRef::Double(value), RawBsonRef::Double(back)) => value.to_bits() == back.to_bits(),
        (value, back) => value == back || whole::are_same_numbers(value, back),
    };
    if is_same {
        return Ok(());
    }
    Err(Misfit::at(path, "would not be stored as it is"))
}
