//! Statistics of a span of time as an aggregation, for tools that accept a pipeline.

use bson::{Bson, Document, doc};

use super::{
    Live, ReadKey,
    parts::{complete_items_of, items_of, suffices},
    places::Placeless,
    span::overlapping_any,
};
use crate::{
    bucket::edits::removed,
    model::{
        aggregate::{Aggregate, AggregateKind},
        attribute_array::{AttributeArray, ValueKind},
        spec::BucketSpec,
    },
    time::range::TimeRange,
};

/// The number of a key's records in the range under `count`, the number of their buckets under
/// `buckets`, and the model's smallest and largest values, sums and averages under their own paths.
/// No document if there are no records. If the model has an aggregate named `count` or `buckets`,
/// the number gets an underscore at the end of its name.
///
/// Buckets fully inside the range contribute their aggregates; edge buckets contribute their items
/// in the range, as far as they are stored as numbers. Only shown records count. `longest` is the
/// parameter of [`overlapping`](super::overlapping).
#[must_use]
pub fn stats_pipeline(
    spec: &BucketSpec,
    key: &ReadKey,
    range: TimeRange,
    longest: i64,
    live: &Live,
) -> Vec<Document> {
    let range = range.and(live.range());
    let keys = std::slice::from_ref(key);
    let plan = overlapping_any(spec, keys, range, longest, Placeless::LeftOut);
    let plan = live.find_undated(spec, plan);
    // The filter was written element by element, so it is valid.
    let filter = Document::try_from(plan.filter);
    let whole = suffices(spec, range).map(|conditions| doc! { "$and": conditions });
    let of = |stored: Bson, opened: Document| match &whole {
        Some(whole) => doc! { "$cond": [whole.clone(), stored, opened] },
        None => opened,
    };
    let count = doc! { "$subtract": [format!("${}", spec.names().count), removed()] };
    let mut bucket = doc! { "count": of(count.into(), doc! { "$size": items_of(spec, range) }) };
    let mut group = doc! {
        "_id": null,
        "count": { "$sum": "$count" },
        "buckets": { "$sum": { "$cond": [{ "$gt": ["$count", 0] }, 1, 0] } },
    };
    let mut shown = doc! { "_id": 0 };
    for name in ["count", "buckets"] {
        shown.insert(free_name(spec, name), format!("${name}"));
    }
    for (at, aggregate) in spec.aggregates().iter().enumerate() {
        let name = format!("a{at}");
        if let Some(operator) = operator(aggregate.kind) {
            let opened = doc! { operator: values(spec, range, aggregate) };
            bucket.insert(&name, of(format!("${}", aggregate.path).into(), opened));
            group.insert(&name, doc! { operator: format!("${name}") });
            shown.insert(aggregate.path, format!("${name}"));
        } else if let AggregateKind::Count = aggregate.kind {
            let opened = doc! { "$size": values(spec, range, aggregate) };
            bucket.insert(&name, of(format!("${}", aggregate.path).into(), opened));
            group.insert(&name, doc! { "$sum": format!("${name}") });
            shown.insert(aggregate.path, format!("${name}"));
        } else if let AggregateKind::Avg { sum, count } = aggregate.kind {
            let number = count.map_or("$count".to_owned(), |at| format!("$a{at}"));
            let avg = doc! { "$divide": [format!("$a{sum}"), &number] };
            let avg = doc! { "$cond": [{ "$gt": [&number, 0] }, avg, null] };
            shown.insert(aggregate.path, avg);
        }
    }
    vec![
        doc! { "$match": filter.unwrap_or_default() },
        doc! { "$project": bucket },
        doc! { "$group": group },
        doc! { "$match": { "count": { "$gt": 0 } } },
        doc! { "$project": shown },
    ]
}

/// The name, extended until no aggregate has it.
fn free_name(spec: &BucketSpec, name: &str) -> String {
    let mut free = name.to_owned();
    let is_taken = |name: &str| {
        let mut paths = spec.aggregates().iter().map(|aggregate| aggregate.path);
        paths.any(|path| path.split('.').next() == Some(name))
    };
    while is_taken(&free) {
        free.push('_');
    }
    free
}

/// The operator that combines both values and stored aggregates.
const fn operator(kind: AggregateKind) -> Option<&'static str> {
    match kind {
        AggregateKind::Min => Some("$min"),
        AggregateKind::Max => Some("$max"),
        AggregateKind::Sum => Some("$sum"),
        _ => None,
    }
}

/// The finite values of the items in the range.
fn values(spec: &BucketSpec, range: TimeRange, aggregate: &Aggregate) -> Document {
    let input = spec.inputs().get(aggregate.input);
    let name = input.map_or("", |input| input.name);
    let finite = doc! { "$and": [
        { "$isNumber": "$$value" },
        // NaN orders before all numbers.
        { "$gte": ["$$value", f64::MIN] },
        { "$lte": ["$$value", f64::MAX] },
    ] };
    let value = of_attribute(spec, name).unwrap_or_else(|| format!("$$item.{name}").into());
    let of_items = doc! { "$map": {
        "input": complete_items_of(spec, range), "as": "item", "in": value,
    } };
    doc! { "$filter": { "input": of_items, "as": "value", "cond": finite } }
}

/// The value of a field that is an attribute, from its entry.
fn of_attribute(spec: &BucketSpec, name: &str) -> Option<Bson> {
    let mut arrays = spec.arrays().iter();
    let of_field = |array: &'static AttributeArray| {
        let field = array.fields.iter().find(|field| field.name == name)?;
        Some((array, field))
    };
    let (array, field) = arrays.find_map(of_field)?;
    let names = array.entry;
    let entries = format!("$$item.{}", array.name);
    let mut conditions = vec![doc! {
        "$eq": [format!("$$entry.{}", names.k), { "$literal": field.k }],
    }];
    if let Some(name) = names.u {
        let unit = doc! { "$ifNull": [format!("$$entry.{name}"), null] };
        conditions.push(doc! { "$eq": [unit, { "$literal": field.u }] });
    }
    let is_array = doc! { "$isArray": &entries };
    let found = doc! { "$filter": {
        "input": { "$cond": [is_array, entries, []] }, "as": "entry", "cond": { "$and": conditions },
    } };
    let values =
        doc! { "$map": { "input": found, "as": "entry", "in": format!("$$entry.{}", names.v) } };
    let value = if field.text {
        // A value that is not a number of the field's type counts as missing, as everywhere.
        let to = if field.kind == ValueKind::Double {
            "double"
        } else {
            "long"
        };
        doc! { "$convert": {
            "input": { "$first": [values] }, "to": to, "onError": null, "onNull": null,
        } }
    } else {
        doc! { "$first": [values] }
    };
    // An item from before the field was an attribute has it as a plain field.
    let plain = format!("$$item.{name}");
    Some(doc! { "$ifNull": [value, plain] }.into())
}
