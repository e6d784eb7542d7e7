//! The shape of a value: what serde's calls say about its type, and the Arrow type of its column.

mod observe;

use std::{collections::HashMap, sync::Arc};

use arrow_schema::{DataType, Field, Fields, TimeUnit};

pub(crate) use self::observe::observe;

/// A value and whether it may be null.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Place {
    pub(crate) shape: Shape,
    pub(crate) null: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Shape {
    /// No value was seen: its column is JSON.
    #[default]
    Unknown,
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float32,
    Float64,
    Text,
    Bytes,
    /// A BSON date.
    Date,
    ObjectId,
    Decimal,
    Uuid,
    /// Binary data whose subtype is not the generic one.
    Binary,
    /// Values without a common shape, as canonical extended JSON.
    Json,
    List(Box<Place>),
    /// With texts as keys.
    Map(Box<Place>),
    Tuple(Vec<Place>),
    /// Fields in the order in which they were first seen.
    Struct(Vec<(String, Place)>),
    /// Variants, each with its data if it has some.
    Enum(Vec<(String, Option<Place>)>),
}

impl Place {
    /// A value that is never null.
    pub(crate) const fn of(shape: Shape) -> Self {
        Self { shape, null: false }
    }

    /// A value that was null.
    pub(crate) const fn null() -> Self {
        Self {
            shape: Shape::Unknown,
            null: true,
        }
    }

    /// What both are.
    pub(crate) fn join(self, other: Self) -> Self {
        Self {
            shape: self.shape.join(other.shape),
            null: self.null || other.null,
        }
    }

    /// Without shapes that no column has: unknown ones become JSON, tuples lists or structs.
    pub(crate) fn settled(self) -> Self {
        let shape = self.shape.settled();
        Self {
            // A null is one of the values that have no common shape.
            null: self.null || shape == Shape::Json,
            shape,
        }
    }
}

impl Shape {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, shape) | (shape, Self::Unknown) => shape,
            (Self::List(one), Self::List(other)) => Self::List(Box::new(one.join(*other))),
            (Self::Map(one), Self::Map(other)) => Self::Map(Box::new(one.join(*other))),
            (Self::Tuple(one), Self::Tuple(other)) if one.len() == other.len() => {
                let both = one.into_iter().zip(other);
                Self::Tuple(both.map(|(one, other)| one.join(other)).collect())
            }
            (Self::Struct(one), Self::Struct(other)) => Self::Struct(join_fields(one, other)),
            (Self::Enum(one), Self::Enum(other)) => Self::Enum(join_variants(one, other)),
            // Of binary data the generic subtype shows itself as bytes.
            (Self::Bytes, Self::Binary) | (Self::Binary, Self::Bytes) => Self::Binary,
            (one, other) if one == other => one,
            _ => Self::Json,
        }
    }

    fn settled(self) -> Self {
        match self {
            Self::Unknown => Self::Json,
            Self::List(item) => Self::List(Box::new(item.settled())),
            Self::Map(value) => Self::Map(Box::new(value.settled())),
            // Parquet has no struct without fields.
            Self::Tuple(items) if items.is_empty() => Self::Json,
            Self::Struct(fields) if fields.is_empty() => Self::Json,
            Self::Tuple(items) => {
                let joined = items
                    .iter()
                    .cloned()
                    .reduce(Place::join)
                    .map(Place::settled);
                let items = items.into_iter().map(Place::settled);
                match joined {
                    // An array of JSON would lose what each place is.
                    Some(item) if item.shape != Self::Json => Self::List(Box::new(item)),
                    _ => Self::Struct(
                        items
                            .enumerate()
                            .map(|(at, item)| (at.to_string(), item))
                            .collect(),
                    ),
                }
            }
            Self::Struct(fields) => {
                let fields = fields.into_iter();
                Self::Struct(
                    fields
                        .map(|(name, place)| (name, place.settled()))
                        .collect(),
                )
            }
            Self::Enum(variants) => {
                let settled = |(name, data): (String, Option<Place>)| {
                    let data = data.map(|place| Place {
                        null: true,
                        ..place.settled()
                    });
                    (name, data)
                };
                Self::Enum(variants.into_iter().map(settled).collect())
            }
            shape => shape,
        }
    }

    /// The number of values inside of each other.
    pub(crate) fn levels(&self) -> usize {
        let deepest = match self {
            Self::List(place) | Self::Map(place) => place.shape.levels(),
            Self::Tuple(places) => {
                let levels = places.iter().map(|place| place.shape.levels());
                levels.max().unwrap_or(0)
            }
            Self::Struct(fields) => {
                let levels = fields.iter().map(|(_, place)| place.shape.levels());
                levels.max().unwrap_or(0)
            }
            Self::Enum(variants) => {
                let data = variants.iter().filter_map(|(_, data)| data.as_ref());
                data.map(|place| place.shape.levels()).max().unwrap_or(0)
            }
            _ => 0,
        };
        deepest + 1
    }

    /// The type of the column of a settled shape.
    pub(crate) fn data_type(&self) -> DataType {
        match self {
            Self::Bool => DataType::Boolean,
            Self::Int8 => DataType::Int8,
            Self::Int16 => DataType::Int16,
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt8 => DataType::UInt8,
            Self::UInt16 => DataType::UInt16,
            Self::UInt32 => DataType::UInt32,
            Self::UInt64 => DataType::UInt64,
            Self::Float32 => DataType::Float32,
            Self::Float64 => DataType::Float64,
            Self::Bytes => DataType::Binary,
            Self::Date => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
            Self::Text
            | Self::ObjectId
            | Self::Decimal
            | Self::Uuid
            | Self::Json
            | Self::Unknown => DataType::Utf8,
            Self::Binary => DataType::Struct(binary_fields()),
            Self::List(item) => DataType::List(Arc::new(item.field("item"))),
            Self::Map(value) => DataType::Map(Arc::new(entries_field(value)), false),
            Self::Tuple(items) => {
                let items = items.iter().enumerate();
                DataType::Struct(
                    items
                        .map(|(at, item)| item.field(&at.to_string()))
                        .collect(),
                )
            }
            Self::Struct(fields) => {
                let fields = fields.iter();
                DataType::Struct(fields.map(|(name, place)| place.field(name)).collect())
            }
            Self::Enum(variants) => match enum_fields(variants) {
                None => DataType::Utf8,
                Some(fields) => DataType::Struct(fields),
            },
        }
    }

    /// What the type of the column does not say.
    fn note(&self) -> Option<&'static str> {
        Some(match self {
            Self::ObjectId => "objectId",
            Self::Decimal => "decimal",
            Self::Uuid => "uuid",
            Self::Json | Self::Unknown => "json",
            Self::Binary => "binary",
            Self::Enum(_) => "enum",
            _ => return None,
        })
    }
}

impl Place {
    /// The field of the column.
    pub(crate) fn field(&self, name: &str) -> Field {
        let field = Field::new(name, self.shape.data_type(), self.null);
        match self.shape.note() {
            None => field,
            Some(note) => field.with_metadata(HashMap::from([(BSON.to_owned(), note.to_owned())])),
        }
    }
}

/// The metadata of a field whose values have another type in MongoDB than their column says.
const BSON: &str = "bson";

/// The subtype and the bytes of binary data.
pub(crate) fn binary_fields() -> Fields {
    Fields::from(vec![
        Field::new("subtype", DataType::UInt8, false),
        Field::new("bytes", DataType::Binary, false),
    ])
}

/// The entries of a map.
pub(crate) fn entries_fields(value: &Place) -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        value.field("value"),
    ])
}

fn entries_field(value: &Place) -> Field {
    Field::new("entries", DataType::Struct(entries_fields(value)), false)
}

/// The name of the variant, then a field for each variant with data; `None` if no variant has data.
pub(crate) fn enum_fields(variants: &[(String, Option<Place>)]) -> Option<Fields> {
    let with_data = |(name, data): &(String, Option<Place>)| Some((name.clone(), data.clone()?));
    let with_data: Vec<(String, Place)> = variants.iter().filter_map(with_data).collect();
    if with_data.is_empty() {
        return None;
    }
    let mut tag = "variant".to_owned();
    while with_data.iter().any(|(name, _)| *name == tag) {
        tag.push('_');
    }
    let tag = Field::new(tag, DataType::Utf8, false);
    let data = with_data.iter().map(|(name, place)| place.field(name));
    Some(std::iter::once(tag).chain(data).collect())
}

/// A field that one of them lacks may be null.
fn join_fields(mut one: Vec<(String, Place)>, other: Vec<(String, Place)>) -> Vec<(String, Place)> {
    for (name, place) in &mut one {
        place.null |= !other.iter().any(|(of_other, _)| of_other == name);
    }
    for (name, mut place) in other {
        if let Some((_, known)) = one.iter_mut().find(|(known, _)| *known == name) {
            *known = std::mem::take(known).join(place);
        } else {
            place.null = true;
            one.push((name, place));
        }
    }
    one
}

fn join_variants(
    mut one: Vec<(String, Option<Place>)>,
    other: Vec<(String, Option<Place>)>,
) -> Vec<(String, Option<Place>)> {
    for (name, data) in other {
        if let Some((_, known)) = one.iter_mut().find(|(known, _)| *known == name) {
            *known = match (known.take(), data) {
                (Some(one), Some(other)) => Some(one.join(other)),
                // All fields of the other one were left out.
                (Some(data), None) | (None, Some(data)) => Some(match data.shape {
                    Shape::Struct(fields) => Place {
                        shape: Shape::Struct(join_fields(fields, Vec::new())),
                        null: data.null,
                    },
                    shape => Place { shape, ..data },
                }),
                (None, None) => None,
            };
        } else {
            one.push((name, data));
        }
    }
    one
}
