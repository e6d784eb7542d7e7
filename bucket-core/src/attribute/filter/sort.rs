//! Sorting documents by an attribute.

use bson::{Bson, Document, doc};

use super::{Attribute, Unit};

impl<V: ?Sized> Attribute<V> {
    /// The stages of an aggregation that sort documents by this attribute's value. Documents
    /// without it come first in ascending order, last in descending order. Over all units, the
    /// value is what a record returns in the requested unit: the first number found, converted.
    ///
    /// For records in buckets, put the stages after those of a range and an `$unwind` of the items.
    ///
    /// No index serves the sort: the server reads every document that reaches these stages and
    /// sorts in memory. So put a `$match` before them and a `$limit` after them. The value is in
    /// the field `by`, which the last stage removes.
    #[must_use]
    pub fn sort_stages(&self, by: &str, descending: bool) -> Vec<Document> {
        let array = self.array.paths().pop().unwrap_or_default();
        let array = format!("${array}");
        let entries = doc! { "$cond": [{ "$isArray": [&array] }, array, []] };
        let value = match self.unit {
            Unit::Converted(units) => {
                let of_unit = |(unit, factor): &(&'static str, f64)| {
                    Bson::from(self.converted(&entries, unit, *factor))
                };
                let values: Vec<Bson> = units.iter().map(of_unit).collect();
                doc! { "$concatArrays": values }
            }
            unit => self.values(&entries, unit),
        };
        let direction = if descending { -1 } else { 1 };
        vec![
            doc! { "$set": { by: { "$first": [value] } } },
            doc! { "$sort": { by: direction } },
            doc! { "$unset": by },
        ]
    }
    /// The values of entries of a unit.
    fn values(&self, entries: &Document, unit: Unit) -> Document {
        let entries = self.entries(entries, unit, None);
        doc! { "$map": { "input": entries, "as": "entry", "in": of_entry(self.array.entry.v) } }
    }

    /// The numbers in entries of a unit, converted with its factor to the requested unit. Other
    /// values are not converted.
    fn converted(&self, entries: &Document, unit: &'static str, factor: f64) -> Document {
        let value = of_entry(self.array.entry.v);
        let is_number = doc! { "$isNumber": [&value] };
        let entries = self.entries(entries, Unit::Is(unit), Some(is_number));
        // As reads do it: to a floating point number first, then converted. A decimal outside that
        // range stays unconverted and keeps its rank in the order.
        let double = doc! { "$convert": { "input": &value, "to": "double", "onError": &value } };
        let value = doc! { "$multiply": [double, factor] };
        doc! { "$map": { "input": entries, "as": "entry", "in": value } }
    }

    /// The entries of a unit that meet a condition.
    fn entries(&self, entries: &Document, unit: Unit, condition: Option<Document>) -> Document {
        let names = self.array.entry;
        let mut conditions = vec![doc! { "$eq": [of_entry(names.k), { "$literal": &*self.k }] }];
        match (names.u, unit) {
            (Some(name), Unit::Is(unit)) => {
                conditions.push(doc! { "$eq": [of_entry(name), { "$literal": unit }] });
            }
            (Some(name), Unit::None) => {
                let unit = doc! { "$ifNull": [of_entry(name), null] };
                conditions.push(doc! { "$eq": [unit, null] });
            }
            _ => {}
        }
        conditions.extend(condition);
        doc! { "$filter": { "input": entries, "as": "entry", "cond": { "$and": conditions } } }
    }
}

/// A field of an entry, in an expression over the entries.
fn of_entry(name: &str) -> String {
    format!("$$entry.{name}")
}
