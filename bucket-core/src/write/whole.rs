//! The changes of a statement as the whole bucket that they make of none, the document of an `insert`: what
//! the upsert would make, at a fourth of what that costs the server.

use super::{
    Put, Statement,
    change::{Change, Op, Part, Render},
    pipeline,
};
use crate::{
    bucket::write_all,
    raw::{Operand, RawWriter},
    spec::{BucketSpec, ID},
};

/// Whether buckets of this model can be inserted. Object ids are the server's to make, and so is an
/// average that is stored.
pub(super) fn is_possible(spec: &BucketSpec) -> bool {
    !spec.object_ids() && !pipeline::stores_averages(spec)
}

/// Writes the bucket's fields into a document that the caller has begun.
pub(super) fn write(statement: &Statement<'_>, put: &Put, writer: &mut RawWriter) {
    writer.string(ID, &put.id);
    writer.elements(statement.key);
    let mut made = Made::default();
    statement.identity(put, &mut made);
    statement.changes(&mut made);
    made.fields.sort_by_key(Field::place);
    let items = made
        .fields
        .partition_point(|field| field.part < Part::Items);
    let (fields, items) = made.fields.split_at(items);
    let fields: Vec<(&str, Operand<'_>)> = fields
        .iter()
        .enumerate()
        // What was so before it was set is not any more.
        .filter(|(at, field)| {
            fields
                .get(at + 1)
                .is_none_or(|next| next.path != field.path)
        })
        .map(|(_, field)| (field.path.as_str(), field.value))
        .collect();
    write_nested(&fields, writer);
    for field in items {
        if statement.spec.shared_arrays().next().is_some() {
            write_all(&pipeline::split(statement), &field.path, writer);
        } else {
            field.value.write(writer, &field.path);
        }
    }
}

/// What the changes make of no bucket.
#[derive(Default)]
struct Made<'a> {
    fields: Vec<Field<'a>>,
}

struct Field<'a> {
    part: Part,
    op: Op,
    path: String,
    value: Operand<'a>,
}

impl Field<'_> {
    /// Where the field is in the bucket: sums are after extremes.
    fn place(&self) -> (Part, bool) {
        (
            self.part,
            self.part == Part::Aggregate && self.op == Op::Add,
        )
    }
}

impl<'a> Render<'a> for Made<'a> {
    fn change(&mut self, path: &str, change: Change<'a>) {
        // To nothing, every operator does the same: the value is there.
        self.fields.push(Field {
            part: change.part,
            op: change.op,
            path: path.to_owned(),
            value: change.value,
        });
    }
}

/// Writes dotted paths as embedded documents, in the order in which they begin.
fn write_nested(fields: &[(&str, Operand<'_>)], writer: &mut RawWriter) {
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
        let inner: Vec<(&str, Operand<'_>)> = fields
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
