//! The expressions of a pipeline.

use crate::codec::raw::{Operand, RawWriter};

/// `field: {operator: [..]}`.
pub(super) fn call(
    writer: &mut RawWriter,
    field: &str,
    operator: &str,
    fill: impl FnOnce(&mut RawWriter),
) {
    let document = writer.begin_document(field);
    let arguments = writer.begin_array(operator);
    fill(writer);
    writer.end(arguments);
    writer.end(document);
}

/// `name: {$add: [{$ifNull: ["$field", 0]}, value]}`.
pub(super) fn add(writer: &mut RawWriter, name: &str, field: &str, value: Operand<'_>) {
    call(writer, name, "$add", |writer| {
        let old = writer.begin_element(0);
        let or = writer.begin_array("$ifNull");
        writer.string("0", &path(field));
        writer.int32("1", 0);
        writer.end(or);
        writer.end(old);
        value.write(writer, "1");
    });
}

/// `field: {operator: ["$field", value]}`.
pub(super) fn extreme(writer: &mut RawWriter, field: &str, operator: &str, value: Operand<'_>) {
    call(writer, field, operator, |writer| {
        writer.string("0", &path(field));
        value.write(writer, "1");
    });
}

/// A value if the bucket is opened; otherwise the existing value, if any.
pub(super) fn on_insert(
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
pub(super) fn path(field: &str) -> String {
    format!("${field}")
}
