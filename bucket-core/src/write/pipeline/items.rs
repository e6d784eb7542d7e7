//! The items of a statement, and the attributes that a bucket holds for them.

use bson::RawDocument;

use super::expressions::{call, on_insert, path};
use crate::{
    bucket::{SplitItem, has_exact_equality},
    codec::raw::{Element, Operand, RawWriter},
    model::spec::BucketSpec,
    write::Statement,
};

/// The items in two parts, for models whose buckets hold attributes for them.
pub(in crate::write) fn split<'a>(statement: &Statement<'a>) -> Vec<SplitItem<'a>> {
    let items = statement.items.iter();
    // The encoder made them, so each is a document.
    let items = items.filter_map(|item| RawDocument::from_bytes(item).ok());
    items
        .map(|item| SplitItem::new(statement.spec, item))
        .collect()
}

/// The attributes that an opened bucket holds for its items: those of the first one.
pub(super) fn write_held(spec: &BucketSpec, first: &SplitItem<'_>, writer: &mut RawWriter) {
    for array in &first.shared {
        on_insert(writer, spec.names().count, array.name, |writer, at| {
            write_literal(at, array, writer);
        });
    }
}

/// Writes the existing items and the new ones.
pub(super) fn write_items(
    statement: &Statement<'_>,
    items: &[SplitItem<'_>],
    writer: &mut RawWriter,
) {
    let spec = statement.spec;
    call(writer, spec.items(), "$concatArrays", |writer| {
        let old = writer.begin_element(0);
        let or = writer.begin_array("$ifNull");
        writer.string("0", &path(spec.items()));
        let none = writer.begin_array("1");
        writer.end(none);
        writer.end(or);
        writer.end(old);
        if items.is_empty() {
            let new = writer.begin_element(1);
            Operand::Items(statement.items).write(writer, "$literal");
            writer.end(new);
        }
        // Most records of a key share their attributes: consecutive ones are written with one comparison.
        let runs = items.chunk_by(SplitItem::shares_with);
        for (at, run) in runs.enumerate() {
            let new = writer.begin_element(at + 1);
            write_run(spec, run, writer);
            writer.end(new);
        }
    });
}

/// Writes items with the same attributes: without them if the bucket holds exactly these.
fn write_run(spec: &BucketSpec, run: &[SplitItem<'_>], writer: &mut RawWriter) {
    let map = writer.begin_document("$map");
    let input = writer.begin_document("input");
    let literal = writer.begin_array("$literal");
    for (index, item) in run.iter().enumerate() {
        writer.element(index, item.own.as_bytes());
    }
    writer.end(literal);
    writer.end(input);
    let of_each = writer.begin_document("in");
    let merged = writer.begin_array("$mergeObjects");
    writer.string("0", "$$this");
    let shared = run.first().map_or(&[][..], |item| &item.shared);
    for (at, array) in shared.iter().enumerate() {
        let own = writer.begin_element(at + 1);
        if !has_exact_equality(spec, array) {
            write_literal(array.name, array, writer);
            writer.end(own);
            continue;
        }
        let choice = writer.begin_array("$cond");
        let is_held = writer.begin_element(0);
        let equal = writer.begin_array("$eq");
        writer.string("0", &path(array.name));
        write_literal("1", array, writer);
        writer.end(equal);
        writer.end(is_held);
        let nothing = writer.begin_element(1);
        writer.end(nothing);
        let own_array = writer.begin_element(2);
        write_literal(array.name, array, writer);
        writer.end(own_array);
        writer.end(choice);
        writer.end(own);
    }
    writer.end(merged);
    writer.end(of_each);
    writer.end(map);
}

/// `name: {$literal: [..]}`.
fn write_literal(name: &str, array: &Element<'_>, writer: &mut RawWriter) {
    let literal = writer.begin_document(name);
    writer.raw(array.kind, "$literal", array.bytes);
    writer.end(literal);
}
