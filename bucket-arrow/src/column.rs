//! A column that is being filled.

mod capture;
mod extended;
mod finish;
mod misfit;
mod offsets;
mod texts;
mod write;

use arrow_buffer::{BooleanBufferBuilder, NullBufferBuilder};

use self::{offsets::end, texts::Texts};
use crate::shape::{Place, Shape};

/// The values of a place, one after the other.
#[derive(Debug)]
pub(crate) struct Column {
    place: Place,
    nulls: NullBufferBuilder,
    len: usize,
    values: Values,
    /// Of a record: the field of its time, and the time of the next one.
    time: Option<(usize, i64)>,
}

#[derive(Debug)]
enum Values {
    Bool(BooleanBufferBuilder),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    /// Milliseconds.
    Date(Vec<i64>),
    Text(Texts),
    ObjectId(Texts),
    Decimal(Texts),
    Uuid(Texts),
    Json(Texts),
    Bytes(Texts),
    Binary {
        subtypes: Vec<u8>,
        bytes: Texts,
    },
    List {
        ends: Vec<i32>,
        items: Box<Column>,
    },
    Map {
        ends: Vec<i32>,
        keys: Texts,
        values: Box<Column>,
    },
    Struct(Vec<(String, Column)>),
    Enum {
        tags: Texts,
        variants: Vec<(String, Option<Column>)>,
    },
}

impl Column {
    /// A column of a settled place.
    pub(crate) fn new(place: &Place) -> Self {
        Self {
            nulls: NullBufferBuilder::new(0),
            len: 0,
            time: None,
            values: Values::of(&place.shape),
            place: place.clone(),
        }
    }

    /// The number of values.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Sets the time of the next record, which the field of this number has whatever its own form is.
    pub(crate) const fn set_time(&mut self, field: usize, millis: i64) {
        self.time = Some((field, millis));
    }

    fn valid(&mut self) {
        self.len += 1;
        self.nulls.append_non_null();
    }

    /// Appends a null, whether the place may be null or not.
    fn push_null(&mut self) {
        self.len += 1;
        self.nulls.append_null();
        match &mut self.values {
            Values::Bool(values) => values.append(false),
            Values::Int8(values) => values.push(0),
            Values::Int16(values) => values.push(0),
            Values::Int32(values) => values.push(0),
            Values::Int64(values) | Values::Date(values) => values.push(0),
            Values::UInt8(values) => values.push(0),
            Values::UInt16(values) => values.push(0),
            Values::UInt32(values) => values.push(0),
            Values::UInt64(values) => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Text(texts)
            | Values::ObjectId(texts)
            | Values::Decimal(texts)
            | Values::Uuid(texts)
            | Values::Json(texts)
            | Values::Bytes(texts) => texts.push(&[]),
            Values::Binary { subtypes, bytes } => {
                subtypes.push(0);
                bytes.push(&[]);
            }
            Values::List { ends, items } => ends.push(end(items.len)),
            Values::Map { ends, values, .. } => ends.push(end(values.len)),
            Values::Struct(fields) => fields.iter_mut().for_each(|(_, field)| field.push_null()),
            Values::Enum { tags, variants } => {
                tags.push(&[]);
                let with_data = variants.iter_mut().filter_map(|(_, data)| data.as_mut());
                with_data.for_each(Self::push_null);
            }
        }
    }

    /// Whether its values may be null.
    const fn may_be_null(&self) -> bool {
        self.place.null
    }
}

impl Values {
    fn of(shape: &Shape) -> Self {
        let texts = Texts::default;
        match shape {
            Shape::Bool => Self::Bool(BooleanBufferBuilder::new(0)),
            Shape::Int8 => Self::Int8(Vec::new()),
            Shape::Int16 => Self::Int16(Vec::new()),
            Shape::Int32 => Self::Int32(Vec::new()),
            Shape::Int64 => Self::Int64(Vec::new()),
            Shape::UInt8 => Self::UInt8(Vec::new()),
            Shape::UInt16 => Self::UInt16(Vec::new()),
            Shape::UInt32 => Self::UInt32(Vec::new()),
            Shape::UInt64 => Self::UInt64(Vec::new()),
            Shape::Float32 => Self::Float32(Vec::new()),
            Shape::Float64 => Self::Float64(Vec::new()),
            Shape::Date => Self::Date(Vec::new()),
            Shape::Text => Self::Text(texts()),
            Shape::ObjectId => Self::ObjectId(texts()),
            Shape::Decimal => Self::Decimal(texts()),
            Shape::Uuid => Self::Uuid(texts()),
            Shape::Json | Shape::Unknown => Self::Json(texts()),
            Shape::Bytes => Self::Bytes(texts()),
            Shape::Binary => Self::Binary {
                subtypes: Vec::new(),
                bytes: texts(),
            },
            Shape::List(item) => Self::List {
                ends: vec![0],
                items: Box::new(Column::new(item)),
            },
            Shape::Map(value) => Self::Map {
                ends: vec![0],
                keys: texts(),
                values: Box::new(Column::new(value)),
            },
            Shape::Tuple(items) => {
                let items = items.iter().enumerate();
                Self::Struct(
                    items
                        .map(|(at, item)| (at.to_string(), Column::new(item)))
                        .collect(),
                )
            }
            Shape::Struct(fields) => {
                let fields = fields.iter();
                Self::Struct(
                    fields
                        .map(|(name, place)| (name.clone(), Column::new(place)))
                        .collect(),
                )
            }
            Shape::Enum(variants) => {
                let variants = variants.iter();
                let column = |(name, data): &(String, Option<Place>)| {
                    (name.clone(), data.as_ref().map(Column::new))
                };
                Self::Enum {
                    tags: texts(),
                    variants: variants.map(column).collect(),
                }
            }
        }
    }
}
