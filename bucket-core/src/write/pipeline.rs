//! The update of a statement as a pipeline, for models that store an average, and for those whose
//! buckets hold attributes for their items.
//!
//! An average is no sum of what writers add: the server has to divide what it has just added up,
//! in the same write. And what a bucket holds for its items was set by whoever opened it: the server
//! compares, and leaves an item its own attributes where they are others. Everything else is as in the
//! operator form, which costs the server less and is what other models are written with. Values are
//! literals: a text that begins with `$` is no path here.

mod items;

pub(super) use self::items::split;
use self::items::{write_held, write_items};
use super::{Action, Statement};
use crate::{
    aggregate::AggregateKind,
    fold::Folded,
    measure::Number,
    raw::RawWriter,
    spec::{BucketSpec, ID},
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
    stage.set(|writer| {
        write_items(statement, &items, writer);
        write_records(statement, writer);
        write_marks(statement, writer);
    });
    if stores_averages(spec) {
        stage.set(|writer| write_averages(spec, writer));
    }
    writer.end(stages);
}

/// The stages as they are written; each sees what the one before it has set.
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

/// The counts and the aggregates.
fn write_records(statement: &Statement<'_>, writer: &mut RawWriter) {
    let names = statement.spec.names();
    if statement.begins() {
        // Of the type that counts have.
        writer.int32(names.count, statement.taken());
    } else {
        add(writer, names.count, names.count, |writer| {
            writer.int32("1", statement.taken());
        });
    }
    if let Some(bytes) = statement.counted_bytes() {
        add(writer, names.bytes, names.bytes, |writer| {
            writer.int64("1", bytes);
        });
    }
    statement.fold.each_sum(|path, sum| {
        if let Folded::Number(Number::Int(_)) = sum {
            // An addition that overflows goes on as a double, which is then no 64-bit integer.
            let exact = writer.begin_document(path);
            add(writer, "$toLong", path, |writer| sum.write(writer, "1"));
            writer.end(exact);
        } else {
            add(writer, path, path, |writer| sum.write(writer, "1"));
        }
    });
    statement.fold.each_smallest(|field, value| {
        call(writer, field, "$min", |writer| {
            writer.string("0", &path(field));
            value.write(writer, "1");
        });
    });
    statement.fold.each_largest(|field, value| {
        call(writer, field, "$max", |writer| {
            writer.string("0", &path(field));
            value.write(writer, "1");
        });
    });
    if let Some(positions) = statement.positions {
        call(writer, positions.path, "$max", |writer| {
            writer.string("0", &path(positions.path));
            writer.int64("1", positions.last);
        });
    }
    if let Some((name, date)) = statement.expire_from() {
        call(writer, name, "$max", |writer| {
            writer.string("0", &path(name));
            writer.date("1", date.timestamp_millis());
        });
    }
    if statement.moves_end() {
        call(writer, names.end, "$max", |writer| {
            writer.string("0", &path(names.end));
            writer.date("1", statement.latest.timestamp_millis());
        });
    }
}

/// What is set whatever was there, and what is set where a bucket is opened.
fn write_marks(statement: &Statement<'_>, writer: &mut RawWriter) {
    let names = statement.spec.names();
    if let Action::Open { id, .. } | Action::Place { id, .. } = statement.action {
        // On a match this must fail.
        let literal = writer.begin_document(ID);
        writer.string("$literal", id);
        writer.end(literal);
    }
    if statement.fills() {
        writer.bool(statement.mark(), true);
    }
    if let Some(name) = names.created_at {
        on_insert(writer, names.count, name, |writer, at| {
            writer.date(at, statement.now.timestamp_millis());
        });
    }
    if statement.opens_late() {
        for name in [names.closed, names.late] {
            on_insert(writer, names.count, name, |writer, at| {
                writer.bool(at, true);
            });
        }
    }
}

/// Every average from what the first stage has added up; none where there is no value.
fn write_averages(spec: &BucketSpec, writer: &mut RawWriter) {
    for aggregate in spec.aggregates() {
        let AggregateKind::Avg { sum, count } = aggregate.kind else {
            continue;
        };
        let stored = |at: usize| spec.aggregates().get(at).map(|other| path(other.path));
        let sum = stored(sum).unwrap_or_default();
        let count = count
            .and_then(stored)
            .unwrap_or_else(|| path(spec.names().count));
        call(writer, aggregate.path, "$cond", |writer| {
            let any = writer.begin_element(0);
            let greater = writer.begin_array("$gt");
            writer.string("0", &count);
            writer.int32("1", 0);
            writer.end(greater);
            writer.end(any);
            let quotient = writer.begin_element(1);
            let divide = writer.begin_array("$divide");
            writer.string("0", &sum);
            writer.string("1", &count);
            writer.end(divide);
            writer.end(quotient);
            writer.string("2", "$$REMOVE");
        });
    }
}

/// `field: {operator: [..]}`.
fn call(writer: &mut RawWriter, field: &str, operator: &str, fill: impl FnOnce(&mut RawWriter)) {
    let document = writer.begin_document(field);
    let arguments = writer.begin_array(operator);
    fill(writer);
    writer.end(arguments);
    writer.end(document);
}

/// `name: {$add: [{$ifNull: ["$field", 0]}, ..]}`.
fn add(writer: &mut RawWriter, name: &str, field: &str, by: impl FnOnce(&mut RawWriter)) {
    call(writer, name, "$add", |writer| {
        let old = writer.begin_element(0);
        let or = writer.begin_array("$ifNull");
        writer.string("0", &path(field));
        writer.int32("1", 0);
        writer.end(or);
        writer.end(old);
        by(writer);
    });
}

/// A value where the bucket is opened; else what is there, if anything is.
fn on_insert(
    writer: &mut RawWriter,
    count: &str,
    field: &str,
    value: impl FnOnce(&mut RawWriter, &str),
) {
    call(writer, field, "$cond", |writer| {
        let is_new = writer.begin_element(0);
        let equal = writer.begin_array("$eq");
        let kind = writer.begin_element(0);
        writer.string("$type", &path(count));
        writer.end(kind);
        writer.string("1", "missing");
        writer.end(equal);
        writer.end(is_new);
        value(writer, "1");
        writer.string("2", &path(field));
    });
}

/// The value of a field.
fn path(field: &str) -> String {
    format!("${field}")
}
