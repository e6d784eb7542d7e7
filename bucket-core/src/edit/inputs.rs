//! The aggregated values of a bucket: those that the model reads as less than they are, and those that an edit changes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    opened::OpenedBucket, read_as_less::is_less, same_elements::fields, statement::Changed,
};
use crate::{
    bucket::record::Record,
    model::{
        aggregate::{Aggregate, AggregateKind, InputSink},
        key::KeyValue,
        measure::Number,
    },
    stats::tally,
    write::unchecked_item,
};

/// What an edit changes of the aggregated values.
#[derive(Debug, Default)]
pub(super) struct ChangedInputs {
    /// Whether it adds or removes records.
    pub(super) records: bool,
    /// Whether it changes the time of one.
    pub(super) times: bool,
    /// The inputs of the model whose values it changes.
    pub(super) inputs: BTreeSet<usize>,
}

impl ChangedInputs {
    /// Whether the edit may change this aggregate.
    pub(super) fn change(&self, aggregate: &Aggregate) -> bool {
        let is_dated = matches!(aggregate.kind, AggregateKind::First | AggregateKind::Last);
        self.records || self.inputs.contains(&aggregate.input) || (self.times && is_dated)
    }
}

impl<T: Record> OpenedBucket<'_, T> {
    /// Adds the inputs of a record that the model reads as less than they are, each with the path of such a value.
    pub(super) fn add_read_as_less(
        &self,
        index: usize,
        record: &T,
        found: &mut BTreeMap<usize, String>,
    ) {
        let inputs = T::SPEC.inputs();
        if found.len() == inputs.len() {
            return;
        }
        let (Some(item), Ok(known)) = (self.items.get(index), unchecked_item(record)) else {
            return;
        };
        let encoded = self.reader.encoded(item);
        let (stored, known) = (fields(&encoded), fields(&known));
        for (input, of) in inputs.iter().enumerate() {
            let Some(stored) = stored.get(of.name) else {
                continue;
            };
            let known = known.get(of.name);
            // What is not written again may be more than nothing.
            if known.is_none_or(|known| is_less(*known, *stored)) {
                let path = || format!("{}.{index}.{}", T::SPEC.items(), of.name);
                found.entry(input).or_insert_with(path);
            }
        }
    }

    /// What an edit changes of the aggregated values, as the model reads them.
    pub(super) fn changed_inputs(&self, changed: &Changed<'_, T>) -> ChangedInputs {
        let mut made = ChangedInputs::default();
        for (index, (_, new)) in changed {
            let is_mark = self
                .items
                .get(*index)
                .is_some_and(|item| self.is_removed(item));
            let (Ok(old), Some(new), false) = (self.record(*index), new, is_mark) else {
                made.records |= !is_mark || new.is_some();
                continue;
            };
            made.times |= old.time() != new.time();
            let (old, new) = (Values::of(&old), Values::of(*new));
            let both = old.0.iter().zip(&new.0).enumerate();
            let other = both.filter(|(_, (old, new))| old != new);
            made.inputs.extend(other.map(|(input, _)| input));
        }
        made
    }
}

/// The aggregated values of a record.
#[derive(Debug, Default)]
struct Values(Vec<Value>);

#[derive(Debug, PartialEq)]
enum Value {
    /// Its bits say whether a number is the same, also one that is none.
    Number(Option<(bool, u64)>),
    Flag(bool),
    Tally(String),
}

impl Values {
    fn of<T: Record>(record: &T) -> Self {
        let mut values = Self::default();
        record.visit_inputs(&mut values);
        values
    }
}

impl InputSink for Values {
    fn number(&mut self, value: Option<Number>) {
        self.0.push(Value::Number(value.map(|value| match value {
            Number::Int(value) => (true, value.cast_unsigned()),
            Number::Float(value) => (false, value.to_bits()),
        })));
    }

    fn flag(&mut self, value: bool) {
        self.0.push(Value::Flag(value));
    }

    fn tally(&mut self, value: KeyValue<'_>) {
        let mut name = String::new();
        tally::push_name(&mut name, value);
        self.0.push(Value::Tally(name));
    }
}
