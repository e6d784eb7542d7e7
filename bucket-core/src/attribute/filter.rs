//! Filters over attributes. Each condition stands in one `$elemMatch`, so that one entry meets all of it.

use std::{
    borrow::Cow,
    fmt,
    marker::PhantomData,
    ops::{Bound, RangeBounds},
};

use bson::{Bson, DateTime, Document, doc};

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

    /// The stages of an aggregation that sort documents by its value; those that do not have it come
    /// first in ascending order, last in descending order.
    ///
    /// Of records in buckets: behind the stages of a range and an `$unwind` of the items.
    ///
    /// No index serves it: the server looks into every document that reaches these stages and sorts
    /// in memory, so put a `$match` before and a `$limit` behind. The value stands in the field `by`,
    /// which the last stage removes.
    #[must_use]
    pub fn sort_stages(&self, by: &str, descending: bool) -> Vec<Document> {
        let names = self.array.entry;
        let entry = |name: &str| format!("$$entry.{name}");
        let mut conditions = vec![doc! { "$eq": [entry(names.k), { "$literal": &*self.k }] }];
        match (names.u, self.unit) {
            (Some(name), Unit::Is(unit)) => {
                conditions.push(doc! { "$eq": [entry(name), { "$literal": unit }] });
            }
            (Some(name), Unit::None) => {
                let unit = doc! { "$ifNull": [entry(name), null] };
                conditions.push(doc! { "$eq": [unit, null] });
            }
            _ => {}
        }
        let array = self.array.paths().pop().unwrap_or_default();
        let array = format!("${array}");
        let entries = doc! { "$cond": [{ "$isArray": [&array] }, array, []] };
        let entries = doc! { "$filter": {
            "input": entries, "as": "entry", "cond": { "$and": conditions },
        } };
        let value = match self.unit {
            Unit::Converted(units) => {
                let name = names.u.unwrap_or_default();
                let branches = units.iter().map(|(unit, factor)| {
                    let is = doc! { "$eq": [entry(name), { "$literal": *unit }] };
                    let value = doc! { "$multiply": [entry(names.v), *factor] };
                    Bson::from(doc! { "case": is, "then": value })
                });
                let branches: Vec<Bson> = branches.collect();
                doc! { "$switch": { "branches": branches, "default": null } }.into()
            }
            _ => Bson::String(entry(names.v)),
        };
        let values = doc! { "$map": { "input": entries, "as": "entry", "in": value } };
        let direction = if descending { -1 } else { 1 };
        vec![
            doc! { "$set": { by: { "$first": [values] } } },
            doc! { "$sort": { by: direction } },
            doc! { "$unset": by },
        ]
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

/// An attribute whose values are stored as text. Text orders as text, so that it can be asked for by
/// equality alone.
///
/// ```
/// use bson::{Document, doc};
/// use bucket_core::attribute::{AttributeArray, EntryNames, TextAttribute, Unit};
///
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let volume = TextAttribute::<i32>::new(&SPECS, "volume", Unit::Is("ml"));
/// let entry = doc! { "k": "volume", "u": "ml", "v": { "$eq": "500" } };
/// assert_eq!(Document::from(volume.eq(500)), doc! { "specs": { "$elemMatch": entry } });
/// ```
pub struct TextAttribute<V>(Attribute<V>);

impl<V> Clone for TextAttribute<V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<V> fmt::Debug for TextAttribute<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TextAttribute").field(&self.0).finish()
    }
}

impl<V: AttributeValue> TextAttribute<V> {
    /// What `k` tells in entries of this array.
    #[must_use]
    pub fn new(
        array: &'static AttributeArray,
        k: impl Into<Cow<'static, str>>,
        unit: Unit,
    ) -> Self {
        Self(Attribute::new(array, k, unit))
    }

    /// Documents that have it.
    pub fn exists(&self) -> AttributeFilter {
        self.0.exists()
    }

    /// Documents that do not have it.
    pub fn is_missing(&self) -> AttributeFilter {
        self.0.is_missing()
    }

    /// Documents in which it is this value.
    pub fn eq(&self, value: impl Into<V>) -> AttributeFilter {
        let text = text(&value.into());
        self.0.meets(|_| doc! { "$eq": &text })
    }

    /// Documents in which it is one of these values.
    pub fn is_in(&self, values: impl IntoIterator<Item = impl Into<V>>) -> AttributeFilter {
        let texts: Vec<Bson> = values
            .into_iter()
            .map(|value| text(&value.into()))
            .collect();
        self.0.meets(|_| doc! { "$in": texts.clone() })
    }
}

/// A value as it is stored as text.
fn text<V: AttributeValue>(value: &V) -> Bson {
    let value = value.to_bson();
    let raw = bson::RawBson::try_from(value.clone());
    let text = raw.ok().and_then(|raw| V::KIND.text(raw.as_raw_bson_ref()));
    // What has no text, such as a date of no year of the format, is stored nowhere as text either.
    text.map_or(value, Bson::String)
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
