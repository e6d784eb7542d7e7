//! Sorting documents by an attribute.

use bson::{Bson, Document, doc};

use super::{Attribute, Unit};

impl<V: ?Sized> Attribute<V> {
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
