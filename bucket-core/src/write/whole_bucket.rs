//! The changes of a statement as the whole bucket, the document of an `insert`: the same as the upsert would
//! create, at a quarter of the server's cost.

use std::borrow::Cow;

use super::{
    Put, Statement,
    change::{Change, Op, Part, Render},
    pipeline,
};
use crate::{
    bucket::write_all,
    codec::raw::{Operand, RawWriter},
    model::{
        form::OwnField,
        spec::{BucketSpec, ID},
    },
};

/// Whether buckets of this model can be inserted. The server must make object ids, and stored averages.
pub(super) fn is_possible(spec: &BucketSpec) -> bool {
    !spec.object_ids() && !pipeline::stores_averages(spec)
}

/// Writes the bucket's fields into a document that the caller has begun.
pub(super) fn write(statement: &Statement<'_>, put: &Put, writer: &mut RawWriter) {
    let spec = statement.spec;
    let mut made = Made::default();
    statement.identity(put, &mut made);
    statement.changes(&mut made);
    writer.string(ID, &put.id);
    writer.elements(statement.key);
    for (own, value) in OwnField::ALL.iter().zip(&made.own) {
        if let Some(value) = value {
            value.write(writer, own.name(spec.names()));
        }
    }
    made.extremes.append(&mut made.sums);
    made.extremes.extend(made.position);
    if !made.extremes.is_empty() {
        let fields = made.extremes.iter();
        let fields = fields.map(|(path, value)| (&**path, *value));
        write_nested(&fields.collect::<Vec<_>>(), writer);
    }
    if spec.shared_arrays().next().is_some() {
        write_all(&pipeline::split(statement), spec.items(), writer);
    } else if let Some(items) = made.items {
        items.write(writer, spec.items());
    }
}

/// The bucket that the changes create from nothing, where every operator just sets the value.
#[derive(Default)]
struct Made<'a> {
    /// By the index in [`OwnField::ALL`].
    own: [Option<Operand<'a>>; OwnField::ALL.len()],
    extremes: Vec<(Cow<'a, str>, Operand<'a>)>,
    sums: Vec<(Cow<'a, str>, Operand<'a>)>,
    position: Option<(Cow<'a, str>, Operand<'a>)>,
    items: Option<Operand<'a>>,
}

impl<'a> Render<'a> for Made<'a> {
    #[inline]
    fn change(&mut self, change: Change<'a>) {
        let Change {
            op,
            part,
            path,
            value,
        } = change;
        match part {
            // The id of the put is used.
            Part::Id => {}
            Part::Own(own) => self.own[own as usize] = Some(value),
            Part::Aggregate if op == Op::Add => self.sums.push((path, value)),
            Part::Aggregate | Part::Closing => self.extremes.push((path, value)),
            Part::Position => self.position = Some((path, value)),
            Part::Items => self.items = Some(value),
        }
    }
}

/// Writes dotted paths as embedded documents, in the order in which they first appear.
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
        let inner = fields.iter().filter_map(|(path, value)| {
            let (other, rest) = path.split_once('.')?;
            (other == name).then_some((rest, *value))
        });
        let inner: Vec<(&str, Operand<'_>)> = inner.collect();
        let document = writer.begin_document(name);
        write_nested(&inner, writer);
        writer.end(document);
    }
}
