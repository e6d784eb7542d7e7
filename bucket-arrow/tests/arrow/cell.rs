//! What a column has at a row, read without the code that wrote it.

use bucket_arrow::arrow_array::{
    Array, BinaryArray, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
    TimestampMillisecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};

/// A value, with the bits of floats.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Bool(bool),
    /// The number and the name of its type.
    Int(i128, &'static str),
    Float32(u32),
    Float64(u64),
    Date(i64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Cell>),
    Struct(Vec<(String, Cell)>),
    Map(Vec<(String, Cell)>),
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn float(value: f64) -> Self {
        Self::Float64(value.to_bits())
    }

    pub fn fields<const N: usize>(fields: [(&str, Cell); N]) -> Self {
        Self::Struct(fields.map(|(name, cell)| (name.to_owned(), cell)).to_vec())
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(value: Option<C>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! ints {
    ($($ty:ident $array:ident),+) => {
        $(impl From<$ty> for Cell {
            fn from(value: $ty) -> Self {
                Self::Int(value.into(), stringify!($ty))
            }
        })+

        fn int(array: &dyn Array, row: usize) -> Option<Cell> {
            $(if let Some(array) = array.as_any().downcast_ref::<$array>() {
                return Some(array.value(row).into());
            })+
            None
        }
    };
}

ints!(
    i8 Int8Array, i16 Int16Array, i32 Int32Array, i64 Int64Array, u8 UInt8Array, u16 UInt16Array,
    u32 UInt32Array, u64 UInt64Array
);

/// The value at a row.
pub fn cell(array: &dyn Array, row: usize) -> Cell {
    if array.is_null(row) {
        return Cell::Null;
    }
    if let Some(int) = int(array, row) {
        return int;
    }
    let any = array.as_any();
    if let Some(array) = any.downcast_ref::<BooleanArray>() {
        Cell::Bool(array.value(row))
    } else if let Some(array) = any.downcast_ref::<Float32Array>() {
        Cell::Float32(array.value(row).to_bits())
    } else if let Some(array) = any.downcast_ref::<Float64Array>() {
        Cell::Float64(array.value(row).to_bits())
    } else if let Some(array) = any.downcast_ref::<TimestampMillisecondArray>() {
        assert_eq!(array.timezone(), Some("UTC"));
        Cell::Date(array.value(row))
    } else if let Some(array) = any.downcast_ref::<StringArray>() {
        Cell::text(array.value(row))
    } else if let Some(array) = any.downcast_ref::<BinaryArray>() {
        Cell::Bytes(array.value(row).to_vec())
    } else if let Some(array) = any.downcast_ref::<ListArray>() {
        let items = array.value(row);
        Cell::List((0..items.len()).map(|at| cell(&items, at)).collect())
    } else if let Some(array) = any.downcast_ref::<MapArray>() {
        let entries = array.value(row);
        let entry = |at| match cell(entries.column(0), at) {
            Cell::Text(key) => (key, cell(entries.column(1), at)),
            other => panic!("{other:?}"),
        };
        Cell::Map((0..entries.len()).map(entry).collect())
    } else if let Some(array) = any.downcast_ref::<StructArray>() {
        let names = array.fields().iter().map(|field| field.name().clone());
        let columns = array.columns().iter();
        Cell::Struct(names.zip(columns.map(|column| cell(column, row))).collect())
    } else {
        panic!("{:?}", array.data_type())
    }
}

/// The rows of batches.
pub fn rows(batches: &[RecordBatch]) -> Vec<Cell> {
    let mut rows = Vec::new();
    for batch in batches {
        let all = StructArray::from(batch.clone());
        rows.extend((0..batch.num_rows()).map(|row| cell(&all, row)));
    }
    rows
}
