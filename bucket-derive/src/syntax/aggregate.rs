//! The keys of a field that request aggregates.

use proc_macro2::Ident;

use crate::{
    diagnostics::Diagnostics,
    symbol::{
        AVG, COUNT, COUNT_IF, FIRST, LAST, MAX, MIN, NON_FINITE, PERCENTILES, STD_DEV, SUM,
        SUM_OF_SQUARES, TALLY,
    },
    syntax::{
        choice::{self, NonFinite},
        closure::{self, Mapped},
        entry::Entry,
        name::{self, Named},
        percentiles::{self, Percentiles},
        slot::Slot,
        value,
    },
};

/// The raw aggregates of a field.
#[derive(Default)]
pub(crate) struct AggregateAttrs {
    pub(crate) min: Slot<Named>,
    pub(crate) max: Slot<Named>,
    pub(crate) sum: Slot<Named>,
    pub(crate) sum_of_squares: Slot<Named>,
    pub(crate) avg: Slot<Named>,
    pub(crate) std_dev: Slot<()>,
    pub(crate) count: Slot<Named>,
    pub(crate) first: Slot<Named>,
    pub(crate) last: Slot<Named>,
    pub(crate) percentiles: Slot<Percentiles>,
    pub(crate) count_ifs: Vec<Mapped>,
    pub(crate) tallies: Vec<Mapped>,
    pub(crate) non_finite: Slot<NonFinite>,
    /// All keys in their order, for messages about the entire field.
    pub(crate) given: Vec<Ident>,
}

impl AggregateAttrs {
    /// Takes the entry if its key requests an aggregate.
    pub(crate) fn take(&mut self, cx: &mut Diagnostics, entry: &Entry) -> bool {
        let words = [
            (MIN, &mut self.min),
            (MAX, &mut self.max),
            (SUM, &mut self.sum),
            (SUM_OF_SQUARES, &mut self.sum_of_squares),
            (AVG, &mut self.avg),
            (COUNT, &mut self.count),
            (FIRST, &mut self.first),
            (LAST, &mut self.last),
        ];
        if let Some((_, slot)) = words.into_iter().find(|(symbol, _)| entry.is(*symbol)) {
            let named = name::aggregate(cx, entry);
            slot.fill(cx, entry, named);
        } else if entry.is(STD_DEV) {
            value::word(cx, entry, STD_DEV);
            self.std_dev.fill(cx, entry, Some(()));
        } else if entry.is(PERCENTILES) {
            let percentiles = percentiles::parse(cx, entry);
            self.percentiles.fill(cx, entry, percentiles);
        } else if entry.is(COUNT_IF) {
            self.count_ifs.extend(closure::count_if(cx, entry));
        } else if entry.is(TALLY) {
            self.tallies.extend(closure::tally(cx, entry));
        } else if entry.is(NON_FINITE) {
            let non_finite = choice::parse(cx, entry, NON_FINITE, &choice::NON_FINITE);
            self.non_finite.fill(cx, entry, non_finite);
        } else {
            return false;
        }
        self.given.extend(entry.key.clone());
        true
    }

    /// The first key that requests an aggregate of numbers.
    pub(crate) fn first_of_numbers(&self) -> Option<&Ident> {
        let others = [NON_FINITE, COUNT_IF, TALLY];
        self.given
            .iter()
            .find(|key| !others.iter().any(|other| **key == *other))
    }
}
