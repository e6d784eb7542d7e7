//! The changes of a statement as update operators.

use super::{
    Statement,
    change::{Change, Op, Render},
};
use crate::codec::raw::{Mark, Operand, RawWriter};

/// Writes the update as the field `u`.
pub(super) fn write(statement: &Statement<'_>, writer: &mut RawWriter) {
    let update = writer.begin_document("u");
    let mut operators = Operators { writer, open: None };
    statement.changes(&mut operators);
    operators.end();
    writer.end(update);
}

/// The operators as they are written, each with all of its fields.
struct Operators<'w> {
    writer: &'w mut RawWriter,
    open: Option<(Op, Mark)>,
}

impl Operators<'_> {
    fn end(&mut self) {
        if let Some((_, mark)) = self.open.take() {
            self.writer.end(mark);
        }
    }
}

impl<'a> Render<'a> for Operators<'_> {
    #[inline]
    fn change(&mut self, change: Change<'a>) {
        let Change { op, path, .. } = change;
        if self.open.is_none_or(|(open, _)| open != op) {
            self.end();
            let name = match op {
                // It is in the filter, and the server sets the filter's equalities.
                Op::Is => return,
                Op::Push => "$push",
                Op::Add => "$inc",
                Op::Least => "$min",
                Op::Greatest => "$max",
                Op::Set => "$set",
                Op::SetOnOpen => "$setOnInsert",
            };
            self.open = Some((op, self.writer.begin_document(name)));
        }
        match (op, change.value) {
            (Op::Push, Operand::Items([item])) => self.writer.document_bytes(&path, item),
            (Op::Push, items) => {
                let field = self.writer.begin_document(&path);
                items.write(self.writer, "$each");
                self.writer.end(field);
            }
            (_, value) => value.write(self.writer, &path),
        }
    }
}
