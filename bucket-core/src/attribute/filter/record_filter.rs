//! A filter on the records of buckets. The client evaluates it for each record. The server sends the buckets in
//! which a record may meet it.

use std::borrow::Cow;

use bson::{Bson, Document, RawArray, RawBsonRef, RawDocument, doc};

use super::{
    AttributeFilter,
    comparison::{is_comparable, is_number, meets},
    converted::Operator,
};
use crate::{
    attribute::{AttributeArray, SharedArray},
    codec::raw::{RawWriter, elements},
    error::FilterError,
    model::spec::BucketSpec,
};

/// A filter on the records of a model.
///
/// ```
/// use bucket_core::{AttributeFilter, BucketSpec, FilterError, attribute::RecordFilter};
///
/// fn is_possible(spec: &BucketSpec, filter: &AttributeFilter) -> Result<(), FilterError> {
///     RecordFilter::new(spec, filter).map(drop)
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RecordFilter {
    condition: Condition,
    /// The arrays of attributes in it that a bucket may hold for its items.
    held: Vec<&'static AttributeArray>,
    /// The paths of its fields in an item.
    paths: Vec<String>,
}

/// A condition on one document: an item, or an entry of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Condition {
    All(Vec<Self>),
    Any(Vec<Self>),
    None(Vec<Self>),
    Field(String, Vec<Test>),
}

/// A condition on the value of a field. If the value is an array, one of its elements may meet it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    Compares(Operator, Bson),
    IsIn(Vec<Bson>),
    /// It is neither missing nor null.
    Exists,
    IsNumber,
    /// An element of the array meets the condition.
    HasEntry(Condition),
    /// Not all of these.
    Not(Vec<Self>),
}

impl RecordFilter {
    /// The filter for the records of this model.
    ///
    /// # Errors
    ///
    /// [`FilterError`] if it has a path outside the items, or an operator that is unknown here.
    pub fn new(spec: &BucketSpec, filter: &AttributeFilter) -> Result<Self, FilterError> {
        let items = spec.items();
        let mut paths = Vec::new();
        let mut of_item = |path: &str| {
            let own = path
                .strip_prefix(items)
                .and_then(|rest| rest.strip_prefix('.'));
            let own = own
                .filter(|own| !own.is_empty())
                .ok_or_else(|| FilterError::Path {
                    path: path.to_owned(),
                    items,
                })?;
            paths.push(own.to_owned());
            Ok(own.to_owned())
        };
        let condition = Condition::read(&filter.of_record, &mut of_item)?;
        let is_in = |array: &&AttributeArray| {
            let mut names = paths.iter().filter_map(|path| path.split('.').next());
            names.any(|name| name == array.name)
        };
        Ok(Self {
            held: spec.shared_arrays().filter(is_in).collect(),
            condition,
            paths,
        })
    }

    /// Whether a record meets it: its item, together with what the bucket holds for it.
    pub(crate) fn matches(&self, item: &RawDocument, shared: &[SharedArray<'_>]) -> bool {
        self.condition.is_met_by(&self.complete(item, shared))
    }

    /// The item with the arrays of the filter that the bucket holds for it. An item that has an array of its
    /// own, or its attributes as plain fields, takes nothing from the bucket.
    fn complete<'i>(
        &self,
        item: &'i RawDocument,
        shared: &[SharedArray<'_>],
    ) -> Cow<'i, RawDocument> {
        let has = |name: &str| matches!(item.get(name), Ok(Some(_)));
        let is_held = |array: &&SharedArray<'_>| {
            let mut held = self.held.iter();
            let of = held.find(|of| of.name == array.element.name);
            of.is_some_and(|of| !has(of.name) && !of.field_names().any(has))
        };
        let held: Vec<&SharedArray<'_>> = shared.iter().filter(is_held).collect();
        if held.is_empty() {
            return Cow::Borrowed(item);
        }
        Cow::Owned(RawWriter::build(|writer| {
            for element in elements(item).map_while(Result::ok) {
                writer.raw(element.kind, element.name, element.bytes);
            }
            for array in held {
                let element = array.element;
                writer.raw(element.kind, element.name, element.bytes);
            }
        }))
    }

    /// The paths of its fields in an item.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// The condition for the server on an item: every record that meets the filter has such an item. Empty for
    /// none.
    ///
    /// Negations are left out. They invert any difference between the server and the client, and then records
    /// would be missing.
    pub(crate) fn of_item(&self) -> Document {
        self.condition.of_item(&self.held).unwrap_or_default()
    }

    /// What a bucket meets only if its smallest and largest values show that none of its records meets the filter.
    /// `None` if they never do.
    pub(crate) fn beyond(&self, spec: &BucketSpec) -> Option<Document> {
        let bounds: Vec<_> = spec.bounds().collect();
        self.condition.beyond(&bounds)
    }

    /// The condition for the server on what a bucket and its items have of the arrays that it may hold for them.
    /// Empty for none.
    pub(crate) fn of_bucket(&self, spec: &BucketSpec) -> Document {
        let of_bucket = self.condition.of_bucket(&self.held, spec.items());
        of_bucket.unwrap_or_default()
    }
}

impl Condition {
    fn read(
        filter: &Document,
        path: &mut impl FnMut(&str) -> Result<String, FilterError>,
    ) -> Result<Self, FilterError> {
        let mut all = Vec::with_capacity(filter.len());
        for (name, value) in filter {
            all.push(match (&**name, value) {
                ("$and", Bson::Array(parts)) => Self::All(Self::read_all(name, parts, path)?),
                ("$or", Bson::Array(parts)) => Self::Any(Self::read_all(name, parts, path)?),
                ("$nor", Bson::Array(parts)) => Self::None(Self::read_all(name, parts, path)?),
                _ if name.starts_with('$') => return Err(unknown(name)),
                _ => Self::Field(path(name)?, Test::read(value)?),
            });
        }
        Ok(match (all.pop(), all.is_empty()) {
            (Some(only), true) => only,
            (last, _) => Self::All(all.into_iter().chain(last).collect()),
        })
    }

    fn read_all(
        operator: &str,
        parts: &[Bson],
        path: &mut impl FnMut(&str) -> Result<String, FilterError>,
    ) -> Result<Vec<Self>, FilterError> {
        let read = |part: &Bson| match part {
            Bson::Document(part) => Self::read(part, path),
            _ => Err(unknown(operator)),
        };
        parts.iter().map(read).collect()
    }

    fn is_met_by(&self, document: &RawDocument) -> bool {
        let is_met = |part: &Self| part.is_met_by(document);
        match self {
            Self::All(parts) => parts.iter().all(is_met),
            Self::Any(parts) => parts.iter().any(is_met),
            Self::None(parts) => !parts.iter().any(is_met),
            Self::Field(path, tests) => are_met_by(tests, document, path),
        }
    }

    fn of_item(&self, held: &[&AttributeArray]) -> Option<Document> {
        match self {
            Self::All(parts) => {
                let parts = parts.iter().filter_map(|part| part.of_item(held));
                joined("$and", parts.collect())
            }
            Self::Any(parts) => {
                let parts = parts.iter().map(|part| part.of_item(held));
                joined("$or", parts.collect::<Option<_>>()?)
            }
            Self::None(_) => None,
            Self::Field(path, tests) => {
                let tests = asked(tests)?;
                let own = doc! { path: tests };
                if !is_of(held, path) {
                    return Some(own);
                }
                // The bucket may hold the array.
                Some(doc! { "$or": [own, { path: { "$exists": false } }] })
            }
        }
    }

    fn of_bucket(&self, held: &[&AttributeArray], items: &str) -> Option<Document> {
        match self {
            Self::All(parts) => {
                let parts = parts.iter().filter_map(|part| part.of_bucket(held, items));
                joined("$and", parts.collect())
            }
            Self::Any(parts) => {
                let parts = parts.iter().map(|part| part.of_bucket(held, items));
                joined("$or", parts.collect::<Option<_>>()?)
            }
            Self::Field(path, tests) if is_of(held, path) => {
                let tests = asked(tests)?;
                let own = format!("{items}.{path}");
                Some(doc! { "$or": [{ path: tests.clone() }, { own: tests }] })
            }
            Self::Field(..) | Self::None(_) => None,
        }
    }
}

/// Whether it is one of these arrays.
fn is_of(held: &[&AttributeArray], path: &str) -> bool {
    held.iter()
        .any(|array| Some(array.name) == path.split('.').next())
}

fn joined(operator: &str, mut parts: Vec<Document>) -> Option<Document> {
    match (parts.pop(), parts.is_empty()) {
        // No alternative means that nothing meets it.
        (None, _) if operator == "$or" => Some(doc! { "$nor": [{}] }),
        (only, true) => only,
        (last, false) => Some(doc! { operator: parts.into_iter().chain(last).collect::<Vec<_>>() }),
    }
}

/// The tests for the server; `None` without any.
fn asked(tests: &[Test]) -> Option<Document> {
    let mut asked = Document::new();
    for test in tests {
        match test {
            Test::Compares(operator, value) => drop(asked.insert(operator.name(), value)),
            Test::IsIn(values) => drop(asked.insert("$in", values)),
            Test::Exists => drop(asked.insert("$ne", Bson::Null)),
            Test::IsNumber => drop(asked.insert("$type", "number")),
            Test::HasEntry(entry) => {
                drop(asked.insert("$elemMatch", entry.of_item(&[]).unwrap_or_default()));
            }
            Test::Not(_) => {}
        }
    }
    (!asked.is_empty()).then_some(asked)
}

/// Whether the value meets all tests. Of an array, one element must meet all comparisons: two elements are not
/// between two bounds if one is above the lower and the other below the upper.
fn are_met_by(tests: &[Test], document: &RawDocument, path: &str) -> bool {
    let compared = |found: Found<'_>| {
        tests.iter().all(|test| match test {
            Test::Compares(operator, value) => found.meets(*operator, value),
            _ => true,
        })
    };
    let is_comparison = |test: &&Test| matches!(test, Test::Compares(..));
    let mut others = tests.iter().filter(|test| !is_comparison(test));
    let has_comparisons = tests.iter().any(|test| is_comparison(&test));
    (!has_comparisons || any_at(document, path, &compared))
        && others.all(|test| test.is_met_by(document, path))
}

impl Test {
    fn read(value: &Bson) -> Result<Vec<Self>, FilterError> {
        match value {
            Bson::Document(operators) if operators.keys().all(|name| name.starts_with('$')) => {
                let tests = operators.iter().map(|(name, value)| Self::of(name, value));
                tests.collect()
            }
            value => Ok(vec![Self::of("$eq", value)?]),
        }
    }

    fn of(name: &str, value: &Bson) -> Result<Self, FilterError> {
        let comparable = |value: &Bson, or_null: bool| match value {
            Bson::Null if or_null => Ok(value.clone()),
            value if is_comparable(value) => Ok(value.clone()),
            _ => Err(FilterError::Value {
                operator: name.to_owned(),
            }),
        };
        let compares = |operator| Ok(Self::Compares(operator, comparable(value, false)?));
        match (name, value) {
            ("$eq", value) => Ok(Self::Compares(Operator::Equal, comparable(value, true)?)),
            ("$gt", _) => compares(Operator::Greater),
            ("$gte", _) => compares(Operator::GreaterOrEqual),
            ("$lt", _) => compares(Operator::Less),
            ("$lte", _) => compares(Operator::LessOrEqual),
            ("$ne", Bson::Null) => Ok(Self::Exists),
            ("$ne", value) => {
                let equal = Self::Compares(Operator::Equal, comparable(value, false)?);
                Ok(Self::Not(vec![equal]))
            }
            ("$in", Bson::Array(values)) => {
                let values = values.iter().map(|value| comparable(value, true));
                Ok(Self::IsIn(values.collect::<Result<_, _>>()?))
            }
            ("$type", Bson::String(kind)) if kind == "number" => Ok(Self::IsNumber),
            ("$not", Bson::Document(_)) => Ok(Self::Not(Self::read(value)?)),
            ("$elemMatch", Bson::Document(entry)) => {
                let condition = Condition::read(entry, &mut |path| Ok(path.to_owned()))?;
                Ok(Self::HasEntry(condition))
            }
            _ => Err(unknown(name)),
        }
    }

    fn is_met_by(&self, document: &RawDocument, path: &str) -> bool {
        match self {
            Self::Compares(operator, value) => {
                any_at(document, path, &|found| found.meets(*operator, value))
            }
            Self::IsIn(values) => any_at(document, path, &|found| {
                let mut values = values.iter();
                values.any(|value| found.meets(Operator::Equal, value))
            }),
            Self::Exists => {
                let is_null = |found: Found<'_>| found.meets(Operator::Equal, &Bson::Null);
                !any_at(document, path, &is_null)
            }
            Self::IsNumber => any_at(document, path, &|found| match found {
                Found::Value(value) | Found::Element(value) => is_number(value),
                Found::Nothing => false,
            }),
            Self::HasEntry(condition) => any_at(document, path, &|found| match found {
                Found::Value(RawBsonRef::Array(entries)) => {
                    let mut entries = entries.into_iter().map_while(Result::ok);
                    entries.any(|entry| match entry {
                        RawBsonRef::Document(entry) => condition.is_met_by(entry),
                        _ => false,
                    })
                }
                _ => false,
            }),
            Self::Not(tests) => !are_met_by(tests, document, path),
        }
    }
}

fn unknown(operator: &str) -> FilterError {
    FilterError::Operator {
        operator: operator.to_owned(),
    }
}

/// What is at a path.
#[derive(Debug, Clone, Copy)]
enum Found<'a> {
    Nothing,
    Value(RawBsonRef<'a>),
    /// An element of the array that is there.
    Element(RawBsonRef<'a>),
}

impl Found<'_> {
    fn meets(self, operator: Operator, value: &Bson) -> bool {
        match self {
            Self::Nothing => operator == Operator::Equal && *value == Bson::Null,
            Self::Value(stored) | Self::Element(stored) => meets(stored, operator, value),
        }
    }
}

/// Whether anything at this path is so. A path leads through arrays into each of their documents. A number in it is
/// a field of these, or the element at that place.
fn any_at(document: &RawDocument, path: &str, is: &dyn Fn(Found<'_>) -> bool) -> bool {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let Ok(Some(value)) = document.get(name) else {
        return is(Found::Nothing);
    };
    match (value, rest) {
        (RawBsonRef::Array(array), None) => {
            let mut elements = array.into_iter().map_while(Result::ok);
            is(Found::Value(value)) || elements.any(|element| is(Found::Element(element)))
        }
        (value, None) => is(Found::Value(value)),
        (RawBsonRef::Document(inner), Some(rest)) => any_at(inner, rest, is),
        (RawBsonRef::Array(array), Some(rest)) => any_in(array, rest, is),
        (_, Some(_)) => is(Found::Nothing),
    }
}

fn any_in(array: &RawArray, path: &str, is: &dyn Fn(Found<'_>) -> bool) -> bool {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    // The server compares the texts: "00" is no place.
    let place = name.parse::<usize>().ok();
    let place = place.filter(|place| place.to_string() == name);
    let mut elements = array.into_iter().map_while(Result::ok).enumerate();
    elements.any(|(at, element)| {
        if let RawBsonRef::Document(inner) = element
            && any_at(inner, path, is)
        {
            return true;
        }
        if Some(at) != place {
            return false;
        }
        match (element, rest) {
            (element, None) => is(Found::Value(element)),
            (RawBsonRef::Document(inner), Some(rest)) => any_at(inner, rest, is),
            (RawBsonRef::Array(inner), Some(rest)) => any_in(inner, rest, is),
            (_, Some(_)) => false,
        }
    })
}
