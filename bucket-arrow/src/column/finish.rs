//! A full column as an array.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
    TimestampMillisecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, Field};

use super::{Column, Values, offsets::offsets, texts::Texts};
use crate::shape::{Shape, binary_fields, entries_fields, enum_fields};

impl Column {
    /// The values as an array; none are left.
    pub(crate) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let nulls = self.nulls.finish();
        let len = std::mem::take(&mut self.len);
        let shape = &self.place.shape;
        macro_rules! numbers {
            ($array:ty, $values:ident) => {
                // It panics if there are not as many nulls as values, and each push adds one to both.
                Arc::new(<$array>::new(std::mem::take($values).into(), nulls))
            };
        }
        Ok(match &mut self.values {
            Values::Bool(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Int8(values) => numbers!(Int8Array, values),
            Values::Int16(values) => numbers!(Int16Array, values),
            Values::Int32(values) => numbers!(Int32Array, values),
            Values::Int64(values) => numbers!(Int64Array, values),
            Values::UInt8(values) => numbers!(UInt8Array, values),
            Values::UInt16(values) => numbers!(UInt16Array, values),
            Values::UInt32(values) => numbers!(UInt32Array, values),
            Values::UInt64(values) => numbers!(UInt64Array, values),
            Values::Float32(values) => numbers!(Float32Array, values),
            Values::Float64(values) => numbers!(Float64Array, values),
            Values::Date(values) => {
                let dates = TimestampMillisecondArray::new(std::mem::take(values).into(), nulls);
                Arc::new(dates.with_timezone("UTC"))
            }
            Values::Text(texts)
            | Values::ObjectId(texts)
            | Values::Decimal(texts)
            | Values::Uuid(texts)
            | Values::Json(texts) => Arc::new(strings(texts, nulls)?),
            Values::Bytes(bytes) => Arc::new(binary(bytes, nulls)?),
            Values::Binary { subtypes, bytes } => {
                let columns: Vec<ArrayRef> = vec![
                    Arc::new(UInt8Array::new(std::mem::take(subtypes).into(), None)),
                    Arc::new(binary(bytes, None)?),
                ];
                Arc::new(StructArray::try_new(binary_fields(), columns, nulls)?)
            }
            Values::List { ends, items } => {
                let field = Arc::new(items.place.field("item"));
                let ends = std::mem::replace(ends, vec![0]);
                let items = items.finish()?;
                Arc::new(ListArray::try_new(field, offsets(ends)?, items, nulls)?)
            }
            Values::Map { ends, keys, values } => {
                let fields = entries_fields(&values.place);
                let ends = std::mem::replace(ends, vec![0]);
                let columns: Vec<ArrayRef> = vec![Arc::new(strings(keys, None)?), values.finish()?];
                let entries = StructArray::try_new(fields, columns, None)?;
                let field = Field::new_struct("entries", entries.fields().clone(), false);
                let field = Arc::new(field);
                Arc::new(MapArray::try_new(
                    field,
                    offsets(ends)?,
                    entries,
                    nulls,
                    false,
                )?)
            }
            Values::Struct(fields) => {
                let described = fields.iter().map(|(name, column)| column.place.field(name));
                let described = described.collect();
                let columns = fields.iter_mut().map(|(_, column)| column.finish());
                let columns = columns.collect::<Result<_, _>>()?;
                Arc::new(StructArray::try_new_with_length(
                    described, columns, nulls, len,
                )?)
            }
            Values::Enum { tags, variants } => {
                let Shape::Enum(places) = shape else {
                    let message = "a column of variants is no enum".to_owned();
                    return Err(ArrowError::SchemaError(message));
                };
                let Some(fields) = enum_fields(places) else {
                    return Ok(Arc::new(strings(tags, nulls)?));
                };
                let mut columns: Vec<ArrayRef> = vec![Arc::new(strings(tags, None)?)];
                for column in variants.iter_mut().filter_map(|(_, data)| data.as_mut()) {
                    columns.push(column.finish()?);
                }
                Arc::new(StructArray::try_new(fields, columns, nulls)?)
            }
        })
    }

    /// About the number of bytes that the values take.
    pub(crate) fn bytes(&self) -> usize {
        match &self.values {
            Values::Text(texts)
            | Values::ObjectId(texts)
            | Values::Decimal(texts)
            | Values::Uuid(texts)
            | Values::Json(texts)
            | Values::Bytes(texts) => texts.bytes(),
            Values::Binary { bytes, .. } => bytes.bytes(),
            Values::List { items, .. } => items.bytes(),
            Values::Map { keys, values, .. } => keys.bytes() + values.bytes(),
            Values::Struct(fields) => fields.iter().map(|(_, field)| field.bytes()).sum(),
            Values::Enum { variants, .. } => {
                let with_data = variants.iter().filter_map(|(_, data)| data.as_ref());
                with_data.map(Self::bytes).sum::<usize>() + 8 * self.len
            }
            _ => 8 * self.len,
        }
    }
}

/// Only texts were pushed.
fn strings(texts: &mut Texts, nulls: Option<NullBuffer>) -> Result<StringArray, ArrowError> {
    let (offsets, bytes) = texts.take()?;
    StringArray::try_new(offsets, bytes, nulls)
}

fn binary(texts: &mut Texts, nulls: Option<NullBuffer>) -> Result<BinaryArray, ArrowError> {
    let (offsets, bytes) = texts.take()?;
    BinaryArray::try_new(offsets, bytes, nulls)
}
