//! Documents of columns, one after the other: put together, or field by field.

use bson::RawDocument;
use pco::wrapped::FileDecompressor;

use crate::{
    MOST_BYTES, MOST_LEVELS,
    blobs::{self, Blobs},
    bytes::Input,
    element::{is_value, kind},
    error::{Read, damaged},
    node::{AS_IT_IS, MISSING},
    row::{Packed, Row},
    tags::{self, Tags},
    values::{Values, put_prefix},
};

/// The documents at one place.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// Which of them are kept as they are.
    kept: Tags,
    as_they_are: Blobs<'a>,
    fields: Vec<Field<'a>>,
    /// The next document, the next one that is kept as it is, and the next one with columns.
    next: usize,
    next_kept: usize,
    next_row: usize,
}

#[derive(Debug)]
pub(crate) struct Field<'a> {
    /// With its NUL.
    name: Vec<u8>,
    /// Without it, if it is UTF-8.
    text: Option<Box<str>>,
    kinds: Tags,
    /// The values of each type, and the next of them.
    values: Vec<(u8, Values<'a>, usize)>,
}

impl<'a> Part<'a> {
    /// Reads this many documents.
    pub(crate) fn read(
        input: &mut Input<'a>,
        format: &FileDecompressor,
        count: usize,
        level: usize,
    ) -> Read<Self> {
        if level > MOST_LEVELS {
            return damaged("documents are nested too deep");
        }
        input.reserve(count, 5)?;
        let kept = tags::unpack(input, count)?;
        let mut as_they_are = 0;
        for (tag, count) in kept.counts(count) {
            match tag {
                MISSING => {}
                AS_IT_IS => as_they_are = count,
                _ => return damaged("a document is kept in an unknown form"),
            }
        }
        let rows = count - as_they_are;
        let as_they_are = blobs::unpack(input, format, as_they_are)?;
        if !as_they_are
            .different()
            .all(|document| is_value(kind::DOCUMENT, document))
        {
            return damaged("a document that is kept as it is is none");
        }
        let mut part = Self {
            kept,
            as_they_are,
            fields: Vec::new(),
            next: 0,
            next_kept: 0,
            next_row: 0,
        };
        if rows == 0 {
            return Ok(part);
        }
        for _ in 0..input.length(MOST_BYTES)? {
            part.fields.push(Field::read(input, format, rows, level)?);
        }
        Ok(part)
    }

    /// The next document, field by field; `None` if there is none, or if it is kept as it is.
    pub(crate) fn row(&self) -> Option<Row<'_>> {
        (self.kept.get(self.next) == MISSING).then(|| Row::new(&self.fields, self.next_row))
    }

    /// Passes over the next document.
    fn pass(&mut self) {
        let is_kept = self.kept.get(self.next) == AS_IT_IS;
        self.next += 1;
        if is_kept {
            self.next_kept += 1;
            return;
        }
        for field in &mut self.fields {
            field.pass(self.next_row);
        }
        self.next_row += 1;
    }

    /// Writes the next document, of which there is one.
    pub(crate) fn write_next(&mut self, out: &mut Vec<u8>) {
        let is_kept = self.kept.get(self.next) == AS_IT_IS;
        self.next += 1;
        if is_kept {
            out.extend(self.as_they_are.get(self.next_kept));
            self.next_kept += 1;
            return;
        }
        let start = out.len();
        put_prefix(0, out);
        for field in &mut self.fields {
            field.write(self.next_row, out);
        }
        self.next_row += 1;
        out.push(0);
        let length = out.len() - start;
        if let Some(prefix) = out.get_mut(start..start + 4) {
            let length = i32::try_from(length).unwrap_or(i32::MAX);
            prefix.copy_from_slice(&length.to_le_bytes());
        }
    }
}

impl<'a> Field<'a> {
    fn read(
        input: &mut Input<'a>,
        format: &FileDecompressor,
        rows: usize,
        level: usize,
    ) -> Read<Self> {
        let length = input.length(MOST_BYTES)?;
        let mut name = input.take(length)?.to_vec();
        if name.contains(&0) {
            return damaged("a name contains NUL");
        }
        name.push(0);
        input.reserve(rows, 1)?;
        let kinds = tags::unpack(input, rows)?;
        let mut values = Vec::new();
        for (kind, count) in kinds.counts(rows) {
            if kind != MISSING {
                input.reserve(count, name.len())?;
                let of_kind = Values::read(kind, input, format, count, level + 1)?;
                values.push((kind, of_kind, 0));
            }
        }
        let text = name
            .strip_suffix(&[0])
            .and_then(|name| str::from_utf8(name).ok());
        Ok(Self {
            text: text.map(Into::into),
            name,
            kinds,
            values,
        })
    }

    /// Its name, if that is UTF-8.
    #[inline]
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The value of the next row, if it has the field.
    #[inline]
    pub(crate) fn value(&self, row: usize) -> Option<Packed<'_>> {
        let kind = self.kinds.get(row);
        if kind == MISSING {
            return None;
        }
        let mut values = self.values.iter();
        let (_, values, next) = values.find(|(of, ..)| *of == kind)?;
        Some(Packed::new(values, kind, *next))
    }

    fn pass(&mut self, row: usize) {
        let kind = self.kinds.get(row);
        let mut values = self.values.iter_mut();
        if let Some((_, values, next)) = values.find(|(of, ..)| *of == kind) {
            if let Values::Documents(part) = values {
                part.pass();
            }
            *next += 1;
        }
    }

    fn write(&mut self, row: usize, out: &mut Vec<u8>) {
        let kind = self.kinds.get(row);
        if kind == MISSING {
            return;
        }
        out.push(kind);
        out.extend(&self.name);
        let mut values = self.values.iter_mut();
        if let Some((_, values, next)) = values.find(|(of, ..)| *of == kind) {
            values.write(*next, out);
            *next += 1;
        }
    }
}

/// Documents, one after the other; from [`Columns::into_rows`](crate::Columns::into_rows).
#[derive(Debug)]
pub struct Rows<'a> {
    part: Part<'a>,
    left: usize,
    row: Vec<u8>,
}

impl<'a> Rows<'a> {
    pub(crate) const fn new(part: Part<'a>, len: usize) -> Self {
        Self {
            part,
            left: len,
            row: Vec::new(),
        }
    }

    /// The next document field by field, without passing it. `None` if there is none, or if it was not taken apart: then
    /// [`next_row`](Self::next_row) has it.
    ///
    /// ```
    /// use bson::rawdoc;
    /// use bucket_columns::{Columns, Value, pack};
    ///
    /// let packed = pack([&*rawdoc! { "value": 20.5 }, &*rawdoc! { "value": 21.0 }])?;
    /// let mut rows = Columns::read(&packed)?.into_rows();
    /// let mut values = Vec::new();
    /// while let Some(row) = rows.row() {
    ///     for (name, value) in row.fields() {
    ///         if let (Some("value"), Value::Double(value)) = (name, value.value()) {
    ///             values.push(value);
    ///         }
    ///     }
    ///     rows.pass();
    /// }
    /// assert_eq!(values, [20.5, 21.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn row(&self) -> Option<Row<'_>> {
        if self.left == 0 {
            return None;
        }
        self.part.row()
    }

    /// Passes over the next document, if there is one.
    pub fn pass(&mut self) {
        if let Some(left) = self.left.checked_sub(1) {
            self.left = left;
            self.part.pass();
        }
    }

    /// The next document, which lives until the one after it.
    pub fn next_row(&mut self) -> Option<&RawDocument> {
        self.left = self.left.checked_sub(1)?;
        self.row.clear();
        self.part.write_next(&mut self.row);
        RawDocument::from_bytes(&self.row).ok()
    }

    /// Writes the next document after these bytes, and says whether there was one.
    pub fn write_row(&mut self, out: &mut Vec<u8>) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        self.part.write_next(out);
        true
    }

    /// How many are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.left
    }
}
