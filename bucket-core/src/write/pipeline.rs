//! The update of a statement as a pipeline, for models that store an average, and for models whose buckets
//! hold attributes for their items.
//!
//! An average is not a sum of what writers add: the server must divide what it has just added up, in the same
//! write. And whoever opened a bucket set the attributes that it holds for its items: the server compares
//! them, and leaves an item its own attributes if they differ. Everything else is as in the operator form,
//! which costs the server less and is used for other models. Values are literals, so a text that begins with
//! `$` is not a path.

mod expressions;
mod items;

pub(super) use self::items::split;
use self::{
    expressions::{add, call, extreme, on_insert, path},
    items::{write_held, write_items},
};
use super::{
    Statement,
    change::{Change, Op, Part, Render},
};
use crate::{
    bucket::edits::{EDITS, REMOVED},
    codec::raw::{Operand, RawWriter},
    model::{aggregate::AggregateKind, form::OwnField, measure::Number, spec::BucketSpec},
};

/// Whether updates of the model's buckets are pipelines.
pub(super) fn is_needed(spec: &BucketSpec) -> bool {
    stores_averages(spec) || spec.shared_arrays().next().is_some()
}

/// Whether the model stores an average.
pub(super) fn stores_averages(spec: &BucketSpec) -> bool {
    let mut aggregates = spec.aggregates().iter();
    aggregates.any(|aggregate| matches!(aggregate.kind, AggregateKind::Avg { .. }))
}

/// Writes the update as the field `u`.
pub(super) fn write(statement: &Statement<'_>, writer: &mut RawWriter) {
    let spec = statement.spec;
    let shares = spec.shared_arrays().next().is_some();
    let items = if shares { split(statement) } else { Vec::new() };
    let stages = writer.begin_array("u");
    let mut stage = Stages { writer, number: 0 };
    if let Some(first) = items.first() {
        stage.set(|writer| write_held(spec, first, writer));
    }
    let mut changes = Changes::default();
    statement.changes(&mut changes);
    changes.made.sort_by_key(place);
    stage.set(|writer| {
        for change in &changes.made {
            if change.op == Op::Push {
                write_items(statement, &items, writer);
            } else {
                write_change(spec, change, writer);
            }
        }
    });
    if stores_averages(spec) {
        stage.set(|writer| write_averages(spec, writer));
    }
    writer.end(stages);
}

/// The stages while they are written; each sees what the one before it has set.
struct Stages<'a> {
    writer: &'a mut RawWriter,
    number: usize,
}

impl Stages<'_> {
    fn set(&mut self, fill: impl FnOnce(&mut RawWriter)) {
        let stage = self.writer.begin_element(self.number);
        let set = self.writer.begin_document("$set");
        fill(self.writer);
        self.writer.end(set);
        self.writer.end(stage);
        self.number += 1;
    }
}

#[derive(Default)]
struct Changes<'a> {
    made: Vec<Change<'a>>,
}

impl<'a> Render<'a> for Changes<'a> {
    fn change(&mut self, change: Change<'a>) {
        self.made.push(change);
    }
}

/// The stage and place of a change. A bucket that is opened gets its fields in that order, and keeps it.
const fn place(change: &Change<'_>) -> u8 {
    match (change.op, change.part) {
        (Op::Is | Op::Push, _) => 0,
        (Op::Set, Part::Own(OwnField::Count)) => 1,
        (Op::Add, _) => 2,
        (Op::Least, _) => 3,
        (Op::Greatest, Part::Aggregate) => 4,
        (Op::Greatest, Part::Position) => 5,
        (Op::Greatest, Part::Own(OwnField::ExpireFrom)) => 6,
        (Op::Greatest, _) => 7,
        (Op::Set, _) => 8,
        (Op::SetOnOpen, _) => 9,
    }
}

fn write_change(spec: &BucketSpec, change: &Change<'_>, writer: &mut RawWriter) {
    let (field, value) = (&*change.path, change.value);
    match change.op {
        Op::Add if matches!(value, Operand::Number(Number::Int(_))) => {
            // An addition that overflows continues as a double, which is then not a 64-bit integer.
            let exact = writer.begin_document(field);
            add(writer, "$toLong", field, value);
            writer.end(exact);
        }
        Op::Add => add(writer, field, field, value),
        Op::Least => extreme(writer, field, "$min", value),
        Op::Greatest => extreme(writer, field, "$max", value),
        Op::Set => match value {
            Operand::Text(text) => {
                let literal = writer.begin_document(field);
                writer.string("$literal", text);
                writer.end(literal);
            }
            value => value.write(writer, field),
        },
        Op::SetOnOpen => on_insert(writer, spec.names().count, field, |writer, at| {
            value.write(writer, at);
        }),
        // `Is` is in the filter; `Push` is written with the attributes that the bucket holds for its items.
        Op::Is | Op::Push => {}
    }
}

/// Writes every average from what the first stage has added up; none if there is no value.
fn write_averages(spec: &BucketSpec, writer: &mut RawWriter) {
    for aggregate in spec.aggregates() {
        let AggregateKind::Avg { sum, count } = aggregate.kind else {
            continue;
        };
        let stored = |at: usize| spec.aggregates().get(at).map(|other| path(other.path));
        let sum = stored(sum).unwrap_or_default();
        let count = count.and_then(stored);
        let write_count = |writer: &mut RawWriter, at: &str| match &count {
            Some(values) => writer.string(at, values),
            None => write_records(spec, at, writer),
        };
        call(writer, aggregate.path, "$cond", |writer| {
            let any = writer.begin_element(0);
            let greater = writer.begin_array("$gt");
            write_count(writer, "0");
            writer.int32("1", 0);
            writer.end(greater);
            writer.end(any);
            let quotient = writer.begin_element(1);
            let divide = writer.begin_array("$divide");
            writer.string("0", &sum);
            write_count(writer, "1");
            writer.end(divide);
            writer.end(quotient);
            writer.string("2", "$$REMOVE");
        });
    }
}

/// The number of records: the count without the removed ones.
fn write_records(spec: &BucketSpec, at: &str, writer: &mut RawWriter) {
    call(writer, at, "$subtract", |writer| {
        writer.string("0", &path(spec.names().count));
        let removed = writer.begin_element(1);
        let or = writer.begin_array("$ifNull");
        writer.string("0", &format!("${EDITS}.{REMOVED}"));
        writer.int32("1", 0);
        writer.end(or);
        writer.end(removed);
    });
}
