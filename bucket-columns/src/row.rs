//! A document field by field, without putting it together.

use crate::{rows::Field, values::Values};

/// A document of columns; from [`Rows::row`](crate::Rows::row).
#[derive(Debug, Clone, Copy)]
pub struct Row<'r> {
    fields: &'r [Field<'r>],
    row: usize,
}

impl<'r> Row<'r> {
    pub(crate) const fn new(fields: &'r [Field<'r>], row: usize) -> Self {
        Self { fields, row }
    }

    /// Its fields, in their order.
    #[must_use]
    pub const fn fields(self) -> Fields<'r> {
        let Self { fields, row } = self;
        Fields { fields, row }
    }
}

/// The fields of a document: their names and their values. The name is `None` if it is no UTF-8.
#[derive(Debug, Clone)]
pub struct Fields<'r> {
    fields: &'r [Field<'r>],
    row: usize,
}

impl<'r> Iterator for Fields<'r> {
    type Item = (Option<&'r str>, Packed<'r>);

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "otherwise each value goes through memory"
    )]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (field, rest) = self.fields.split_first()?;
            self.fields = rest;
            if let Some(value) = field.value(self.row) {
                return Some((field.text(), value));
            }
        }
    }
}

/// A value in a column that was not looked at.
#[derive(Debug, Clone, Copy)]
pub struct Packed<'r> {
    values: &'r Values<'r>,
    kind: u8,
    row: usize,
}

impl<'r> Packed<'r> {
    #[inline]
    pub(crate) const fn new(values: &'r Values<'r>, kind: u8, row: usize) -> Self {
        Self { values, kind, row }
    }

    /// The value.
    #[must_use]
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "otherwise each value goes through memory"
    )]
    pub fn value(self) -> Value<'r> {
        self.values.get(self.kind, self.row)
    }
}

/// A value in a column.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Value<'r> {
    /// A 64-bit floating point number.
    Double(f64),
    /// A 32-bit integer.
    Int32(i32),
    /// A 64-bit integer.
    Int64(i64),
    /// A date, in milliseconds since 1970.
    Date(i64),
    /// A truth value.
    Boolean(bool),
    /// Null.
    Null,
    /// A text. That it is UTF-8 was not checked.
    Text(&'r [u8]),
    /// A document with columns of its own.
    Document(Row<'r>),
    /// Any other value: it is read from the whole document.
    Other,
}
