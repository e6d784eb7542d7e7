//! The aggregates: the fields of the stats, and what each method reads.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;

use super::text::{code, doc};
use crate::model::{
    Model,
    aggregates::{AggregateKind, Method, Reads, Stored},
};

pub(crate) fn stats(model: &Model) -> TokenStream {
    let record = &model.record.ident;
    doc(&format!("The aggregates over records of `{record}`."))
}

pub(crate) fn stats_field(model: &Model) -> TokenStream {
    let what = match model.stats_prefix() {
        "" => "aggregates of the records at the top level of the bucket".to_owned(),
        prefix => format!(
            "aggregates of the records, most of them below {}",
            code(prefix)
        ),
    };
    doc(&format!("The {what}."))
}

pub(crate) fn view(model: &Model, field: &Ident) -> TokenStream {
    let (record, field) = (&model.record.ident, field.unraw());
    doc(&format!(
        "The aggregates of `{field}` over records of `{record}`."
    ))
}

pub(crate) fn view_of(field: &Ident) -> TokenStream {
    doc(&format!("The aggregates of `{}`.", field.unraw()))
}

pub(crate) fn aggregate_path(stored: &Stored) -> TokenStream {
    let (path, what) = (code(&stored.path), &stored.origin.what);
    doc(&format!("BSON path {path}: {what}."))
}

/// The update operator that writes an aggregate.
pub(super) fn aggregate_operator(model: &Model, kind: AggregateKind) -> &'static str {
    // The average is computed by the server, in an update that is a pipeline.
    let is_avg = |stored: &Stored| matches!(stored.kind, AggregateKind::Avg { .. });
    if model.aggregates.stored.iter().any(is_avg) {
        return "`$set`, computed by the server";
    }
    match kind {
        AggregateKind::Min | AggregateKind::First | AggregateKind::FirstTime => "`$min`",
        AggregateKind::Max | AggregateKind::Last | AggregateKind::LastTime => "`$max`",
        AggregateKind::Sum
        | AggregateKind::SumOfSquares
        | AggregateKind::Count
        | AggregateKind::CountIf
        | AggregateKind::Tally
        | AggregateKind::Percentiles { .. }
        | AggregateKind::Avg { .. } => "`$inc`",
    }
}

/// What a method returns.
pub(crate) fn method(model: &Model, method: &Method) -> TokenStream {
    let path = |at: usize| {
        let stored = model.aggregates.stored.get(at);
        code(stored.map_or("", |stored| &stored.path))
    };
    let computed = |sum: usize, count: Option<usize>| match count {
        Some(count) => format!("computed from {} and {}", path(sum), path(count)),
        None => format!("computed from {} and the number of items", path(sum)),
    };
    let (what, from) = match method.reads {
        Reads::Min(at) => ("The smallest value", path(at)),
        Reads::Max(at) => ("The largest value", path(at)),
        Reads::Sum(at) => ("The sum of the values", path(at)),
        Reads::SumOfSquares(at) => ("The sum of the squares of the values", path(at)),
        Reads::Avg { sum, count } => ("The average of the values", computed(sum, count)),
        Reads::Variance { sum, count, .. } => (
            "The population variance of the values",
            computed(sum, count),
        ),
        Reads::StdDev { sum, count, .. } => (
            "The population standard deviation of the values",
            computed(sum, count),
        ),
        Reads::Count(at) => ("The number of values", path(at)),
        Reads::First(at) => ("The value of the earliest record", path(at)),
        Reads::Last(at) => ("The value of the latest record", path(at)),
        Reads::CountIf(at) => ("The number of records that fulfil the condition", path(at)),
        Reads::Tally(at) => ("The values, each with its number of records", path(at)),
        Reads::MappedTally(at) => (
            "The results of the mapping, each with its number of records",
            path(at),
        ),
        Reads::Percentile { at, .. } => (
            "The value at or below which this share of the values is, from 0 to 1",
            path(at),
        ),
        Reads::Sketch { at, .. } => (
            "The quantiles of the values; sketches of several buckets can be merged",
            path(at),
        ),
        Reads::FirstTime(at) => ("The time of the earliest record", path(at)),
        Reads::LastTime(at) => ("The time of the latest record", path(at)),
    };
    doc(&format!("{what}: {from}."))
}
