//! Filters over attributes. Each condition stands in one `$elemMatch`, so that one entry meets all of it.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use bson::{Bson, DateTime, Document, doc};

mod sort;
mod text;

pub use self::text::TextAttribute;
use super::{AttributeArray, AttributeValue};

/// An attribute that is asked for.
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

/// Which units are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Unit {
    /// Entries without a unit.
    None,
    /// Entries of this unit.
    Is(&'static str),
    /// Entries of any unit, or of none.
    Any,
    /// Entries of these units: how much of the unit that is asked in one of each is.
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
    /// What `k` tells in entries of this array.
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
        self.meets(|_| Document::new())
    }

    /// Documents that do not have it.
    pub fn is_missing(&self) -> AttributeFilter {
        AttributeFilter(doc! { "$nor": [self.exists().0] })
    }

    /// The filter of entries whose value fulfils a condition, made for a unit of so much of the one
    /// that is asked in.
    fn meets(&self, condition: impl Fn(f64) -> Document) -> AttributeFilter {
        let one = |unit: Option<Bson>, factor: f64| {
            let names = self.array.entry;
            let mut entry = doc! { names.k: &*self.k };
            if let (Some(name), Some(unit)) = (names.u, unit) {
                entry.insert(name, unit);
            }
            let condition = condition(factor);
            if !condition.is_empty() {
                entry.insert(names.v, condition);
            }
            let at = |path: &String| doc! { path: { "$elemMatch": &entry } };
            self.array.paths().iter().map(at).collect::<Vec<_>>()
        };
        AttributeFilter(match self.unit {
            // Also what is missing.
            Unit::None => any_of(one(Some(Bson::Null), 1.0)),
            Unit::Is(unit) => any_of(one(Some(unit.into()), 1.0)),
            Unit::Any => any_of(one(None, 1.0)),
            Unit::Converted(units) => {
                let each = units
                    .iter()
                    .flat_map(|(unit, factor)| one(Some((*unit).into()), *factor));
                doc! { "$or": each.collect::<Vec<_>>() }
            }
        })
    }
}

impl<V: AttributeValue> Attribute<V> {
    /// Documents in which it is this value.
    pub fn eq(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare("$eq", &value.into())
    }

    /// Documents in which it is greater.
    pub fn gt(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare("$gt", &value.into())
    }

    /// Documents in which it is this value or greater.
    pub fn gte(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare("$gte", &value.into())
    }

    /// Documents in which it is smaller.
    pub fn lt(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare("$lt", &value.into())
    }

    /// Documents in which it is this value or smaller.
    pub fn lte(&self, value: impl Into<V>) -> AttributeFilter {
        self.compare("$lte", &value.into())
    }

    /// Documents in which it lies between two values: `500..1_200`, `..=9`. One entry meets both.
    pub fn between(&self, values: impl RangeBounds<V>) -> AttributeFilter {
        self.meets(|factor| {
            let mut condition = Document::new();
            match values.start_bound() {
                Bound::Included(start) => condition.insert("$gte", converted(start, factor)),
                Bound::Excluded(start) => condition.insert("$gt", converted(start, factor)),
                Bound::Unbounded => None,
            };
            match values.end_bound() {
                Bound::Included(end) => condition.insert("$lte", converted(end, factor)),
                Bound::Excluded(end) => condition.insert("$lt", converted(end, factor)),
                Bound::Unbounded => None,
            };
            condition
        })
    }

    /// Documents in which it is one of these values.
    pub fn is_in(&self, values: impl IntoIterator<Item = impl Into<V>>) -> AttributeFilter {
        let values: Vec<V> = values.into_iter().map(Into::into).collect();
        self.meets(|factor| {
            let values = values.iter().map(|value| converted(value, factor));
            doc! { "$in": values.collect::<Vec<_>>() }
        })
    }

    fn compare(&self, operator: &str, value: &V) -> AttributeFilter {
        self.meets(|factor| doc! { operator: converted(value, factor) })
    }
}

impl Attribute<DateTime> {
    /// Documents in which it is before this moment.
    pub fn before(&self, moment: impl Into<DateTime>) -> AttributeFilter {
        self.lt(moment)
    }

    /// Documents in which it is at this moment or after.
    pub fn since(&self, moment: impl Into<DateTime>) -> AttributeFilter {
        self.gte(moment)
    }
}

/// A choice, if it is one.
fn any_of(mut filters: Vec<Document>) -> Document {
    match (filters.pop(), filters.is_empty()) {
        (Some(only), true) => only,
        (last, _) => doc! { "$or": filters.into_iter().chain(last).collect::<Vec<_>>() },
    }
}

/// The value in a unit of which one is `factor` of the unit that is asked in.
fn converted<V: AttributeValue>(value: &V, factor: f64) -> Bson {
    let value = value.to_bson();
    // That of the unit itself stays exact.
    if factor.to_bits() == 1.0_f64.to_bits() {
        return value;
    }
    match &value {
        Bson::Double(number) => Bson::Double(number / factor),
        Bson::Int32(number) => Bson::Double(f64::from(*number) / factor),
        #[allow(clippy::cast_precision_loss, reason = "a conversion rounds anyway")]
        Bson::Int64(number) => Bson::Double(*number as f64 / factor),
        _ => value,
    }
}

/// A filter over attributes: a document for the driver and for reads.
///
/// ```
/// use bson::{Document, doc};
/// use bucket_core::attribute::{Attribute, AttributeArray, EntryNames, Unit};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let attribute = |k, unit| Attribute::<i32>::new(&SPECS, k, Unit::Is(unit));
/// let both = attribute("volume", "ml").gte(500).and(attribute("height", "inches").lt(9));
/// assert_eq!(Document::from(both).get_array("$and").map(Vec::len).ok(), Some(2));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a filter does nothing by itself"]
pub struct AttributeFilter(Document);

impl AttributeFilter {
    /// Documents that meet the other filter as well.
    pub fn and(self, other: impl Into<Document>) -> Self {
        self.joined("$and", other.into())
    }

    /// Documents that meet this filter or the other one.
    pub fn or(self, other: impl Into<Document>) -> Self {
        self.joined("$or", other.into())
    }

    fn joined(mut self, operator: &str, other: Document) -> Self {
        if self.0.len() == 1
            && let Ok(all) = self.0.get_array_mut(operator)
        {
            all.push(other.into());
            return self;
        }
        Self(doc! { operator: [self.0, other] })
    }
}

impl From<AttributeFilter> for Document {
    fn from(filter: AttributeFilter) -> Self {
        filter.0
    }
}
