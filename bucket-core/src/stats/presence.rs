//! Which aggregates a bucket must have. A missing one reveals a bucket from before the model kept
//! it.

use super::StoredStats;
use crate::model::{
    aggregate::{Aggregate, AggregateKind},
    spec::BucketSpec,
};

/// Which buckets have an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Each bucket that has records.
    Always,
    /// Each bucket in which this other aggregate counts more than zero.
    WithValues(usize),
    /// It may be missing, or can be computed from others.
    Unknown,
}

impl Presence {
    /// What is known about this aggregate of the model.
    pub(crate) fn of(spec: &BucketSpec, at: usize) -> Self {
        let Some(aggregate) = spec.aggregates().get(at) else {
            return Self::Unknown;
        };
        match aggregate.kind {
            AggregateKind::FirstTime
            | AggregateKind::LastTime
            | AggregateKind::Tally
            | AggregateKind::Count
            | AggregateKind::CountIf => Self::Always,
            AggregateKind::Avg { .. } => Self::Unknown,
            _ => {
                let optional = spec
                    .inputs()
                    .get(aggregate.input)
                    .is_some_and(|input| input.optional);
                let counts = |other: &Aggregate| {
                    other.kind == AggregateKind::Count && other.input == aggregate.input
                };
                match spec.aggregates().iter().position(counts) {
                    _ if !optional => Self::Always,
                    Some(counter) => Self::WithValues(counter),
                    None => Self::Unknown,
                }
            }
        }
    }
}

impl StoredStats {
    /// Whether the bucket lacks an aggregate that each of its records contributed to: the bucket is
    /// from before the model kept it.
    pub(crate) fn lacks_any(&self, spec: &BucketSpec) -> bool {
        self.lacks(spec).next().is_some()
    }

    /// The paths of those that it lacks.
    pub(crate) fn lacks(&self, spec: &BucketSpec) -> impl Iterator<Item = &'static str> {
        let aggregates = spec.aggregates().iter().enumerate();
        let lacking = aggregates.filter(|(at, _)| {
            let at = *at;
            self.get(at).is_none()
                && match Presence::of(spec, at) {
                    Presence::Always => self.count > 0,
                    Presence::WithValues(counter) => self.count(counter) > 0,
                    Presence::Unknown => false,
                }
        });
        lacking.map(|(_, aggregate)| aggregate.path)
    }
}
