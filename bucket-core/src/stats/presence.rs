//! Which aggregates a bucket must have, so that one from before the model kept them is known.

use super::StoredStats;
use crate::model::{
    aggregate::{Aggregate, AggregateKind},
    spec::BucketSpec,
};

/// Where an aggregate stands in a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// In each bucket that has records.
    Always,
    /// In each bucket in which this aggregate counts more than none.
    WithValues(usize),
    /// It may be missing, or can be computed from others.
    Unknown,
}

impl Presence {
    /// What is known of this aggregate of the model.
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
    /// Whether an aggregate is missing to which each record of the bucket brought something: the
    /// bucket is from before the model kept it.
    pub(crate) fn lacks_any(&self, spec: &BucketSpec) -> bool {
        (0..self.values.len()).any(|at| {
            self.get(at).is_none()
                && match Presence::of(spec, at) {
                    Presence::Always => self.count > 0,
                    Presence::WithValues(counter) => self.count(counter) > 0,
                    Presence::Unknown => false,
                }
        })
    }
}
