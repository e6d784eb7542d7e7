//! Filters on attributes and on fields. Each condition on an attribute uses one `$elemMatch`, so that one entry
//! meets all of it.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use bson::{Bson, DateTime, Document, doc};

mod beyond;
mod comparison;
mod converted;
mod exact;
mod of_field;
mod record_filter;
mod sort;
mod text_attribute;

use self::converted::{Operator, Scale};
pub use self::{record_filter::RecordFilter, text_attribute::TextAttribute};
use super::{
    ArrayPlace, AttributeArray, AttributeValue, ValueKind, convert, value::stored_as_text,
};

/// An attribute in a filter.
///
/// ```
/// use bson::doc;
/// use bucket_core::attribute::{Attribute, AttributeArray, EntryNames, Unit};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let volume = Attribute::<i32>::new(&SPECS, "volume", Unit::Is("ml"));
/// assert_eq!(
///     bson::Document::from(volume.gte(500)),
///     doc! { "specs": { "$elemMatch": { "k": "volume", "u": "ml", "v": { "$gte": 500 } } } },
/// );
/// ```
pub struct Attribute<V: ?Sized> {
    array: &'static AttributeArray,
    k: Cow<'static, str>,
    unit: Unit,
    value: PhantomData<fn(&V)>,
}

/// The units that a filter covers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Unit {
    /// Entries without a unit.
    None,
    /// Entries of this unit.
    Is(&'static str),
    /// Entries of any unit, or of none.
    Any,
    /// Entries in any of these units, each with its factor: the amount of the requested unit in one
    /// of this unit, a finite number other than 0. If a record has several entries, the first unit
    /// counts.
    Converted(&'static [(&'static str, f64)]),
}

impl<V: ?Sized> Clone for Attribute<V> {
    fn clone(&self) -> Self {
        Self {
            k: self.k.clone(),
            ..*self
        }
    }
}

impl<V: ?Sized> fmt::Debug for Attribute<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attribute")
            .field("array", &self.array.name)
            .field("k", &self.k)
            .field("unit", &self.unit)
            .finish()
    }
}

impl<V: ?Sized> Attribute<V> {
    /// The attribute with the key `k` in entries of this array.
    #[must_use]
    pub fn new(
        array: &'static AttributeArray,
        k: impl Into<Cow<'static, str>>,
        unit: Unit,
    ) -> Self {
        Self {
            array,
            k: k.into(),
            unit,
            value: PhantomData,
        }
    }

    /// Documents that have it.
    pub fn exists(&self) -> AttributeFilter {
        self.meets(|_| vec![Document::new()])
    }

    /// Documents that do not have it.
    pub fn is_missing(&self) -> AttributeFilter {
        let AttributeFilter { stored, of_record } = self.exists();
        AttributeFilter {
            stored: doc! { "$nor": [stored] },
            of_record: doc! { "$nor": [of_record] },
        }
    }

    /// The filter for entries whose value meets one of the conditions. `conditions` receives the
    /// conversion of each unit's values, if they need one.
    fn meets(&self, conditions: impl Fn(Option<Scale>) -> Vec<Document>) -> AttributeFilter {
        let paths = self.array.paths();
        let stored = self.meets_at(
            &paths,
            self.array.place == ArrayPlace::Document,
            &conditions,
        );
        let of_record = match self.array.place {
            ArrayPlace::Document => stored.clone(),
            // The last path is that of an item's own array. What the bucket holds for the item is looked at in
            // its place.
            ArrayPlace::Items(_) | ArrayPlace::Bucket(_) => {
                let own = paths.get(paths.len().saturating_sub(1)..);
                self.meets_at(own.unwrap_or_default(), true, &conditions)
            }
        };
        AttributeFilter { stored, of_record }
    }

    /// The same at these paths. `of_one` says whether a match is one record, so that its other entries count.
    fn meets_at(
        &self,
        paths: &[String],
        of_one: bool,
        conditions: &impl Fn(Option<Scale>) -> Vec<Document>,
    ) -> Document {
        let plain = |unit: Option<Bson>| self.meet(paths, unit, &conditions(None), &[]);
        any_of(match self.unit {
            // Matches missing units too.
            Unit::None => plain(Some(Bson::Null)),
            Unit::Is(unit) => plain(Some(unit.into())),
            Unit::Any => plain(None),
            Unit::Converted(units) => {
                let mut all = Vec::new();
                for (at, (unit, factor)) in units.iter().enumerate() {
                    let scale = Scale::new(*factor, self.kind_of(unit));
                    // Of a bucket, it would only match those in which no record has another unit.
                    let before = if of_one { &units[..at] } else { &[] };
                    all.extend(self.meet(paths, Some((*unit).into()), &conditions(scale), before));
                }
                return doc! { "$or": all };
            }
        })
    }

    /// One filter for each condition on the values of a unit and for each path. It excludes records
    /// with a number in an earlier unit.
    fn meet(
        &self,
        paths: &[String],
        unit: Option<Bson>,
        conditions: &[Document],
        before: &[(&'static str, f64)],
    ) -> Vec<Document> {
        let names = self.array.entry;
        let mut entry = doc! { names.k: &*self.k };
        let counts_alone = !before.is_empty();
        let other = names.u.filter(|_| counts_alone).map(|name| {
            let units: Vec<&str> = before.iter().map(|(unit, _)| *unit).collect();
            let mut other = entry.clone();
            other.insert(name, doc! { "$in": units });
            other.insert(names.v, doc! { "$type": "number" });
            other
        });
        if let (Some(name), Some(unit)) = (names.u, unit) {
            entry.insert(name, unit);
        }
        let mut filters = Vec::new();
        for condition in conditions {
            let mut entry = entry.clone();
            let mut element = Document::new();
            if !condition.is_empty() {
                entry.insert(names.v, condition);
            }
            element.insert("$elemMatch", entry);
            if let (Some(other), false) = (&other, condition.is_empty()) {
                element.insert("$not", doc! { "$elemMatch": other });
            }
            filters.extend(paths.iter().map(|path| doc! { path: &element }));
        }
        filters
    }

    /// The type of a unit's values; any type if no field declares it.
    fn kind_of(&self, unit: &str) -> ValueKind {
        let mut fields = self.array.fields.iter();
        let field = fields.find(|field| field.k == self.k && field.u == Some(unit));
        field.map_or(ValueKind::Any, |field| field.kind)
    }
}

impl<V: AttributeValue> Attribute<V> {
    /// Documents in which it is this value.
    pub fn eq(&self, value: impl Into<V>) -> AttributeFilter {
        let value = value.into();
        if self.has_texts() {
            return self.is_in([value]);
        }
        self.compare(Operator::Equal, &value)
    }

    /// Documents in which it is greater.
    pub fn gt(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare(Operator::Greater, &value.into())
    }

    /// Documents in which it is this value or greater.
    pub fn gte(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare(Operator::GreaterOrEqual, &value.into())
    }

    /// Documents in which it is smaller.
    pub fn lt(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare(Operator::Less, &value.into())
    }

    /// Documents in which it is this value or smaller.
    pub fn lte(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare(Operator::LessOrEqual, &value.into())
    }

    /// Documents in which it is between two values: `500..1_200`, `..=9`. One entry meets both.
    pub fn between(&self, values: impl RangeBounds<V>) -> AttributeFilter {
        let start = match values.start_bound() {
            Bound::Included(start) => Some((Operator::GreaterOrEqual, start.to_bson())),
            Bound::Excluded(start) => Some((Operator::Greater, start.to_bson())),
            Bound::Unbounded => None,
        };
        let end = match values.end_bound() {
            Bound::Included(end) => Some((Operator::LessOrEqual, end.to_bson())),
            Bound::Excluded(end) => Some((Operator::Less, end.to_bson())),
            Bound::Unbounded => None,
        };
        self.meets(|scale| {
            let bounds = start.iter().chain(&end);
            let bounds = bounds.flat_map(|(operator, value)| condition(scale, *operator, value));
            vec![bounds.collect()]
        })
    }

    /// Documents in which it is one of these values.
    pub fn is_in(&self, values: impl IntoIterator<Item = impl Into<V>>) -> AttributeFilter {
        let values: Vec<V> = values.into_iter().map(Into::into).collect();
        let mut stored: Vec<Bson> = values.iter().map(V::to_bson).collect();
        if self.has_texts() {
            let texts: Vec<Bson> = values.iter().map(stored_as_text).collect();
            stored.extend(texts);
        }
        self.meets(|scale| {
            let numbers: Option<Vec<f64>> = stored.iter().map(convert::number).collect();
            match scale.zip(numbers) {
                Some((scale, numbers)) => scale.one_of(numbers),
                None => vec![doc! { "$in": &stored }],
            }
        })
    }

    fn compare(&self, operator: Operator, value: &V) -> AttributeFilter {
        let value = value.to_bson();
        self.meets(|scale| vec![condition(scale, operator, &value)])
    }

    /// Whether the filter covers any unit and one of the units stores its values as text.
    fn has_texts(&self) -> bool {
        let mut fields = self.array.fields.iter();
        self.unit == Unit::Any && fields.any(|field| field.k == self.k && field.text)
    }
}

impl Attribute<DateTime> {
    /// Documents in which it is before this moment.
    pub fn before(&self, moment: impl Into<DateTime>) -> AttributeFilter {
        self.lt(moment)
    }

    /// Documents in which it is at this moment or later.
    pub fn since(&self, moment: impl Into<DateTime>) -> AttributeFilter {
        self.gte(moment)
    }
}

/// An `$or` of the filters, if there are several.
fn any_of(mut filters: Vec<Document>) -> Document {
    match (filters.pop(), filters.is_empty()) {
        (Some(only), true) => only,
        (last, _) => doc! { "$or": filters.into_iter().chain(last).collect::<Vec<_>>() },
    }
}

/// The condition on stored values that is equivalent to a comparison of converted values.
fn condition(scale: Option<Scale>, operator: Operator, value: &Bson) -> Document {
    let number = convert::number(value);
    // Only numbers are converted.
    let as_it_is = || doc! { operator.name(): value };
    scale.zip(number).map_or_else(as_it_is, |(scale, number)| {
        scale.condition(operator, number)
    })
}

/// A filter over attributes and fields: a document for the driver, and a condition for reads.
///
/// ```
/// use bson::{Document, doc};
/// use bucket_core::{FieldPath, attribute::{Attribute, AttributeArray, EntryNames, Unit}};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let attribute = |k, unit| Attribute::<i32>::new(&SPECS, k, Unit::Is(unit));
/// let both = attribute("volume", "ml").gte(500).and(attribute("height", "inches").lt(9));
/// assert_eq!(Document::from(both).get_array("$and").map(Vec::len).ok(), Some(2));
///
/// let hot = FieldPath::new("readings.value").gt(20.0);
/// assert_eq!(Document::from(hot), doc! { "readings.value": { "$gt": 20.0 } });
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a filter does nothing by itself"]
pub struct AttributeFilter {
    /// For stored documents. Of buckets it matches those whose records meet the conditions, maybe not the same
    /// record all of them.
    stored: Document,
    /// For one record of a bucket, by the paths of its item.
    of_record: Document,
}

impl AttributeFilter {
    /// Documents that meet the other filter as well.
    pub fn and(self, other: impl Into<Self>) -> Self {
        self.joined("$and", other.into())
    }

    /// Documents that meet this filter or the other one.
    pub fn or(self, other: impl Into<Self>) -> Self {
        self.joined("$or", other.into())
    }

    fn joined(self, operator: &str, other: Self) -> Self {
        Self {
            stored: joined(operator, self.stored, other.stored),
            of_record: joined(operator, self.of_record, other.of_record),
        }
    }
}

fn joined(operator: &str, mut one: Document, other: Document) -> Document {
    if one.len() == 1
        && let Ok(all) = one.get_array_mut(operator)
    {
        all.push(other.into());
        return one;
    }
    doc! { operator: [one, other] }
}

impl From<Document> for AttributeFilter {
    fn from(filter: Document) -> Self {
        Self {
            of_record: filter.clone(),
            stored: filter,
        }
    }
}

impl From<AttributeFilter> for Document {
    fn from(filter: AttributeFilter) -> Self {
        filter.stored
    }
}
