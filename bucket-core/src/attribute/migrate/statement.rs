//! The statement of an `update` command that changes the form of one document.
//!
//! It only uses expressions: they compare whole values including arrays, distinguish null from
//! missing, and can address a field with a dot or a leading dollar in its name. Texts are compared
//! by their bytes, whatever the collation of the collection.

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::form_change::{FormChange, find};
use crate::{
    attribute::{DocumentError, DocumentFault},
    codec::raw::{Element, RawWriter, elements},
    model::size::MAX_DOCUMENT_BYTES,
};

impl FormChange {
    /// The statement, for the `updates` of an `update` command.
    ///
    /// It only matches while each affected field is as it was read. It is idempotent, so it can be
    /// sent again.
    ///
    /// # Errors
    ///
    /// [`DocumentFault::TooLarge`] if no command can hold it. It contains the affected fields
    /// twice.
    pub fn statement(&self) -> Result<RawDocumentBuf, DocumentError> {
        let statement = RawWriter::build(|to| {
            let mark = to.begin_document("q");
            self.filter(to);
            to.end(mark);
            let mark = to.begin_array("u");
            self.stages(to);
            to.end(mark);
            let mark = to.begin_document("collation");
            to.string("locale", "simple");
            to.end(mark);
        });
        let bytes = statement.as_bytes().len();
        if bytes > MAX_DOCUMENT_BYTES {
            let limit = MAX_DOCUMENT_BYTES;
            return Err(self.error(DocumentFault::TooLarge { bytes, limit }));
        }
        Ok(statement)
    }

    fn filter(&self, to: &mut RawWriter) {
        if let Some(id) = find(&self.before, "_id") {
            let mark = to.begin_document("_id");
            to.raw(id.kind, "$eq", id.bytes);
            to.end(mark);
        }
        let expr = to.begin_document("$expr");
        let and = to.begin_array("$and");
        for (index, name) in self.names().enumerate() {
            let condition = to.begin_element(index);
            let eq = to.begin_array("$eq");
            if let Some(value) = find(&self.before, name) {
                field(to, "0", name);
                literal(to, "1", value);
            } else {
                let of = to.begin_element(0);
                field(to, "$type", name);
                to.end(of);
                to.string("1", "missing");
            }
            to.end(eq);
            to.end(condition);
        }
        to.end(and);
        to.end(expr);
    }

    fn stages(&self, to: &mut RawWriter) {
        let (plain, odd): (Vec<&str>, Vec<&str>) =
            self.unset.iter().partition(|name| is_path(name));
        let mut stage = 0;
        if !plain.is_empty() {
            let mark = to.begin_element(stage);
            let unset = to.begin_array("$unset");
            for (index, name) in plain.iter().enumerate() {
                to.string(&index.to_string(), name);
            }
            to.end(unset);
            to.end(mark);
            stage += 1;
        }
        for name in odd {
            set_field(to, stage, "$unsetField", name, None);
            stage += 1;
        }
        let (plain, odd): (Vec<Element<'_>>, Vec<_>) = elements(&self.set)
            .flatten()
            .partition(|element| is_path(element.name));
        if !plain.is_empty() {
            let mark = to.begin_element(stage);
            let set = to.begin_document("$set");
            for element in plain {
                literal(to, element.name, element);
            }
            to.end(set);
            to.end(mark);
            stage += 1;
        }
        for element in odd {
            set_field(to, stage, "$setField", element.name, Some(element));
            stage += 1;
        }
    }
}

/// A stage that sets or removes a field whose name is not a path.
fn set_field(
    to: &mut RawWriter,
    stage: usize,
    operator: &str,
    name: &str,
    value: Option<Element<'_>>,
) {
    let mark = to.begin_element(stage);
    let replace = to.begin_document("$replaceWith");
    let of = to.begin_document(operator);
    text(to, "field", name);
    to.string("input", "$$ROOT");
    if let Some(value) = value {
        literal(to, "value", value);
    }
    to.end(of);
    to.end(replace);
    to.end(mark);
}

/// Whether the name of a field is also its path.
fn is_path(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('$') && !name.contains('.')
}

/// The value of a field of the document.
fn field(to: &mut RawWriter, operand: &str, name: &str) {
    if is_path(name) {
        to.string(operand, &format!("${name}"));
        return;
    }
    let mark = to.begin_document(operand);
    let get = to.begin_document("$getField");
    text(to, "field", name);
    to.string("input", "$$ROOT");
    to.end(get);
    to.end(mark);
}

/// A text that is never read as a path, whatever its first character.
fn text(to: &mut RawWriter, operand: &str, value: &str) {
    let mark = to.begin_document(operand);
    to.string("$literal", value);
    to.end(mark);
}

fn literal(to: &mut RawWriter, operand: &str, value: Element<'_>) {
    let mark = to.begin_document(operand);
    to.raw(value.kind, "$literal", value.bytes);
    to.end(mark);
}

/// A filter for documents with one of these fields.
pub(super) fn any_of(names: impl Iterator<Item = &'static str>) -> Document {
    let has = |name: &str| -> Bson {
        if is_path(name) {
            return doc! { name: { "$exists": true } }.into();
        }
        let field = doc! { "$getField": { "field": { "$literal": name }, "input": "$$ROOT" } };
        doc! { "$expr": { "$ne": [{ "$type": field }, "missing"] } }.into()
    };
    let any: Vec<Bson> = names.map(has).collect();
    // A model without attributes has nothing to move.
    if any.is_empty() {
        return doc! { "$expr": false };
    }
    doc! { "$or": any }
}
