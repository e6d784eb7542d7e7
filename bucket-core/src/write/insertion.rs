//! A bucket as the document of an `insert`: what the upsert of its first statement would make, at a
//! fourth of what that costs the server.

use super::{Kind, Put, Statement, pipeline};
use crate::form::InWindow;
use crate::{
    bucket::write_all,
    fold::Folded,
    measure::Number,
    raw::RawWriter,
    spec::{BucketSpec, ID},
};

/// Whether buckets of this model can be inserted. Object ids are the server's to make, and so is an
/// average that is stored.
pub(super) fn is_possible(spec: &BucketSpec) -> bool {
    !spec.object_ids() && !pipeline::stores_averages(spec)
}

/// Writes the bucket's fields into a document that the caller has begun.
pub(super) fn write(statement: &Statement<'_>, put: &Put, writer: &mut RawWriter) {
    let names = statement.spec.names();
    writer.string(ID, &put.id);
    writer.elements(statement.key);
    write_identity(statement, put, writer);
    writer.int32(names.count, statement.taken());
    if let Some(bytes) = statement.counted_bytes() {
        writer.int64(names.bytes, bytes);
    }
    if let Some(name) = names.created_at {
        writer.date(name, statement.now.timestamp_millis());
    }
    if let Some((name, date)) = statement.expire_from() {
        writer.date(name, date.timestamp_millis());
    }
    write_aggregates(statement, writer);
    let items = statement.spec.items();
    if statement.spec.shared_arrays().next().is_some() {
        write_all(&pipeline::split(statement), items, writer);
    } else {
        statement.write_items(writer, items);
    }
}

fn write_identity(statement: &Statement<'_>, put: &Put, writer: &mut RawWriter) {
    let names = statement.spec.names();
    let latest = statement.latest.timestamp_millis();
    match statement.kind {
        Kind::Count(_) => {}
        Kind::Window(InWindow { start, end, .. }) => {
            writer.date(names.start, start.timestamp_millis());
            writer.date(names.end, end.timestamp_millis());
        }
        Kind::Hybrid(_) => {
            writer.date(names.start, put.start.timestamp_millis());
            writer.date(names.end, latest);
            writer.bool(names.closed, statement.fills());
        }
        Kind::Late(_) => {
            writer.date(names.start, put.start.timestamp_millis());
            writer.date(names.end, latest);
            writer.bool(names.closed, true);
            writer.bool(names.late, true);
        }
        Kind::Numbered(_) => {
            writer.integer(names.number, put.number);
            writer.integer(names.size, i64::from(put.size));
            writer.bool(names.full, statement.fills());
        }
    }
}

fn write_aggregates(statement: &Statement<'_>, writer: &mut RawWriter) {
    let mut fields: Vec<(String, Folded)> = Vec::new();
    let mut add = |path: &str, value: Folded| fields.push((path.to_owned(), value));
    statement.fold.each_smallest(&mut add);
    statement.fold.each_largest(&mut add);
    statement.fold.each_sum(&mut add);
    if let Some(positions) = statement.positions {
        let last = Folded::Number(Number::Int(positions.last));
        fields.push((positions.path.to_owned(), last));
    }
    let fields: Vec<(&str, Folded)> = fields
        .iter()
        .map(|(path, value)| (path.as_str(), *value))
        .collect();
    write_nested(&fields, writer);
}

/// Writes dotted paths as embedded documents, in the order in which they begin.
fn write_nested(fields: &[(&str, Folded)], writer: &mut RawWriter) {
    let mut begun: Vec<&str> = Vec::new();
    for (path, value) in fields {
        let Some((name, _)) = path.split_once('.') else {
            value.write(writer, path);
            continue;
        };
        if begun.contains(&name) {
            continue;
        }
        begun.push(name);
        let inner: Vec<(&str, Folded)> = fields
            .iter()
            .filter_map(|(path, value)| match path.split_once('.') {
                Some((other, rest)) if other == name => Some((rest, *value)),
                _ => None,
            })
            .collect();
        let document = writer.begin_document(name);
        write_nested(&inner, writer);
        writer.end(document);
    }
}
