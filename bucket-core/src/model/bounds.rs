//! Which aggregates bound the values that a field has in the items of a bucket.

use super::{
    aggregate::{AggregateKind, NonFinite},
    spec::BucketSpec,
    stored_field::FieldKind,
};

/// The aggregates that bound a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The name of the field in an item.
    pub(crate) name: &'static str,
    /// The path of its smallest value, if the model has it.
    pub(crate) smallest: Option<&'static str>,
    /// That of its largest value.
    pub(crate) largest: Option<&'static str>,
}

impl BucketSpec {
    /// The fields of an item whose stored numbers are bounded by aggregates.
    ///
    /// Not those of which the derive does not know what is stored, as with `serde(with)`: there the aggregates can be
    /// those of other numbers. Nor those whose infinite values the aggregates leave out.
    pub(crate) fn bounds(&self) -> impl Iterator<Item = Bounds> + '_ {
        let inputs = self.inputs().iter().enumerate();
        inputs.filter_map(|(at, input)| {
            let mut fields = self.fields().iter().filter(|field| !field.is_key);
            let field = fields.find(|field| field.name == input.name)?;
            let is_bounded = match field.kind {
                FieldKind::Int => true,
                FieldKind::Float => input.non_finite == NonFinite::Reject,
                _ => false,
            };
            let path = |kind| {
                let mut aggregates = self.aggregates().iter();
                let found = aggregates.find(|each| each.kind == kind && each.input == at);
                found.map(|each| each.path)
            };
            let (smallest, largest) = (path(AggregateKind::Min), path(AggregateKind::Max));
            let is_any = smallest.or(largest).is_some();
            (is_bounded && is_any).then_some(Bounds {
                name: input.name,
                smallest,
                largest,
            })
        })
    }
}
