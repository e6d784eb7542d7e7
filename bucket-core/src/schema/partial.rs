//! Which buckets lack an aggregate that is newer than they are.

use bson::{Bson, DateTime, Document, doc};

use super::description::CollectionDescription;
use crate::{
    bucket::{edits, sealed::is_packed_filter},
    index::Drift,
    model::{
        aggregate::{Aggregate, AggregateKind, NonFinite},
        spec::BucketSpec,
    },
};

/// An aggregate that older buckets may not have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PartialAggregate {
    path: &'static str,
    since: Option<DateTime>,
    /// What a bucket meets that lacks it; `None` if a filter cannot tell.
    pub filter: Option<Document>,
}

impl PartialAggregate {
    /// That some bucket lacks it.
    #[must_use]
    pub fn drift(&self) -> Drift {
        Drift::PartialAggregate {
            path: self.path.to_owned(),
            since: self.since,
        }
    }
}

impl CollectionDescription {
    /// The aggregates of the model that older buckets may not have.
    #[doc(hidden)]
    #[must_use]
    pub fn partial(&self, spec: &BucketSpec) -> Vec<PartialAggregate> {
        let partial = spec.aggregates().iter().filter_map(|aggregate| {
            let mut described = self.aggregates.iter().filter(|it| it.partial);
            let described = described.find(|it| it.path == aggregate.path)?;
            Some(PartialAggregate {
                path: aggregate.path,
                since: described.since,
                filter: lacks(spec, aggregate),
            })
        });
        partial.collect()
    }

    /// Notes that every bucket has it, or that nothing can tell.
    #[doc(hidden)]
    pub fn complete(&mut self, of: &PartialAggregate) {
        let aggregates = self.aggregates.iter_mut();
        for described in aggregates.filter(|it| it.path == of.path && it.partial) {
            described.partial = false;
            self.revision = self.revision.saturating_add(1);
        }
    }
}

/// What a bucket meets that lacks an aggregate to which one of its records contributes.
fn lacks(spec: &BucketSpec, aggregate: &Aggregate) -> Option<Document> {
    let mut filter = doc! { aggregate.path: { "$exists": false } };
    let has_records = || {
        let count = format!("${}", spec.names().count);
        doc! { "$gt": [count, edits::removed()] }
    };
    match aggregate.kind {
        AggregateKind::Count
        | AggregateKind::CountIf
        | AggregateKind::Tally
        | AggregateKind::FirstTime
        | AggregateKind::LastTime => {
            filter.insert("$expr", has_records());
        }
        // A record may have no value, and NaN is none.
        _ => {
            let input = spec.inputs().get(aggregate.input)?;
            let name = input.name;
            if !spec.fields().iter().any(|field| field.name == name) {
                // It is an attribute.
                return None;
            }
            let value = format!("{}.{name}", spec.items());
            let value = doc! { value: { "$gte": Bson::Double(f64::NEG_INFINITY) } };
            if input.optional || input.non_finite != NonFinite::Reject {
                filter.extend(value);
            } else {
                // The server does not look into columns, but each record has a value.
                let mut packed = is_packed_filter(spec);
                packed.insert("$expr", has_records());
                filter.insert("$or", vec![value, packed]);
            }
        }
    }
    Some(filter)
}
