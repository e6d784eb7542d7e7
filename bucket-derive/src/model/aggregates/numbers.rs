//! The aggregates of a field's number, and those that others need.

use proc_macro2::{Ident, Span};
use quote::ToTokens;

use super::{AggregateKind, Input, InputOf, Reads, of_field::Reader};
use crate::{
    symbol::{COUNT, SUM, SUM_OF_SQUARES, Symbol},
    syntax::name::Named,
};

impl Reader<'_> {
    /// The aggregates of the field's number; they share one input.
    pub(super) fn numbers(&mut self) {
        let attrs = &self.field.aggregates;
        if attrs.first_of_numbers().is_none() {
            return;
        }
        let input = self.input(InputOf::Number);
        for (slot, kind, reads) in [
            (
                &attrs.min,
                AggregateKind::Min,
                Reads::Min as fn(usize) -> Reads,
            ),
            (&attrs.max, AggregateKind::Max, Reads::Max),
            (&attrs.sum, AggregateKind::Sum, Reads::Sum),
            (
                &attrs.sum_of_squares,
                AggregateKind::SumOfSquares,
                Reads::SumOfSquares,
            ),
            (&attrs.count, AggregateKind::Count, Reads::Count),
            (&attrs.first, AggregateKind::First, Reads::First),
            (&attrs.last, AggregateKind::Last, Reads::Last),
        ] {
            if let Some(named) = slot.get() {
                let at = self.store(named, kind, input);
                self.method(named.key.clone(), named, reads(at));
            }
        }
        self.averages(input);
        if let Some(percentiles) = attrs.percentiles.get() {
            let error_ppm = percentiles.error_ppm;
            let named = &percentiles.named;
            let at = self.store(named, AggregateKind::Percentiles { error_ppm }, input);
            let method = |name| Ident::new(name, Span::call_site());
            self.method(
                method("percentile"),
                named,
                Reads::Percentile { at, error_ppm },
            );
            self.method(method("sketch"), named, Reads::Sketch { at, error_ppm });
        }
    }

    /// What is computed from a sum and a number of values; both are stored.
    fn averages(&mut self, input: usize) {
        let attrs = &self.field.aggregates;
        let (avg, std_dev) = (attrs.avg.get(), attrs.std_dev.given());
        let Some(asked_by) = avg.map(|avg| &avg.key).or(std_dev) else {
            return;
        };
        let sum = self.needed(AggregateKind::Sum, SUM, asked_by, input);
        let optional = self.to.inputs.get(input).is_some_and(Input::is_optional);
        let count = optional.then(|| self.needed(AggregateKind::Count, COUNT, asked_by, input));
        if let Some(avg) = avg {
            if avg.name.is_some() {
                self.store(avg, AggregateKind::Avg { sum, count }, input);
            }
            self.method(avg.key.clone(), avg, Reads::Avg { sum, count });
        }
        if let Some(key) = std_dev {
            let squares = self.needed(AggregateKind::SumOfSquares, SUM_OF_SQUARES, key, input);
            let variance = Reads::Variance {
                sum,
                squares,
                count,
            };
            let named = Named {
                key: key.clone(),
                name: None,
            };
            self.method(Ident::new("variance", key.span()), &named, variance);
            let std_dev = Reads::StdDev {
                sum,
                squares,
                count,
            };
            self.method(key.clone(), &named, std_dev);
        }
    }

    /// The index of an aggregate that another one needs; it is added if it is missing.
    fn needed(
        &mut self,
        kind: AggregateKind,
        key: Symbol,
        asked_by: &Ident,
        input: usize,
    ) -> usize {
        let stored = &self.to.stored;
        let found = stored
            .iter()
            .position(|stored| stored.kind == kind && stored.input == input);
        found.unwrap_or_else(|| {
            let named = Named {
                key: Ident::new(key.as_str(), asked_by.span()),
                name: None,
            };
            let at = self.store(&named, kind, input);
            if let Some(stored) = self.to.stored.get_mut(at) {
                stored.origin.what = format!("{} (for `{asked_by}`)", stored.origin.what);
                stored.origin.at = asked_by.to_token_stream();
            }
            at
        })
    }
}
