//! The types that attributes can have, and their form as text.

use bson::{Bson, DateTime, Decimal128, RawBsonRef, oid::ObjectId};

use super::ValueKind;
use crate::{
    codec::raw::{RawWriter, kind as byte},
    model::whole,
};

/// A type that attributes can have: numbers, text, dates, booleans, object ids, and options of them.
///
/// Your own types get it by `#[derive(AttributeValue)]`.
///
/// ```
/// use bson::Bson;
/// use bucket_core::AttributeValue;
///
/// assert_eq!(500_i32.to_bson(), Bson::Int32(500));
/// assert_eq!(Some("red".to_owned()).to_bson(), Bson::String("red".to_owned()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of an attribute",
    label = "attributes are numbers, text, dates, booleans or object ids, or options of them",
    note = "for values of several types use an enum with `#[derive(AttributeValue)]`"
)]
pub trait AttributeValue {
    /// The type of the stored value.
    const KIND: ValueKind;
    /// The type that filters compare with; for an option, its inner type.
    type Value: AttributeValue;

    /// The stored value; null if it is missing.
    fn to_bson(&self) -> Bson;
}

macro_rules! kinds {
    ($($kind:ident: $($type:ty),+ => |$value:ident| $bson:expr;)+) => {$($(
        impl AttributeValue for $type {
            const KIND: ValueKind = ValueKind::$kind;
            type Value = Self;

            fn to_bson(&self) -> Bson {
                let $value = self;
                $bson
            }
        }
    )+)+};
}

kinds! {
    Bool: bool => |value| Bson::Boolean(*value);
    Int32: i32 => |value| Bson::Int32(*value);
    Int32: i8, i16, u8, u16 => |value| Bson::Int32((*value).into());
    Int64: i64 => |value| Bson::Int64(*value);
    Int64: u32 => |value| Bson::Int64((*value).into());
    // Stored values never exceed 64 bits with a sign.
    Int64: u64 => |value| match i64::try_from(*value) {
        Ok(value) => Bson::Int64(value),
        #[allow(clippy::cast_precision_loss)]
        Err(_) => Bson::Double(*value as f64),
    };
    Double: f64 => |value| Bson::Double(*value);
    Double: f32 => |value| Bson::Double((*value).into());
    Decimal: Decimal128 => |value| Bson::Decimal128(*value);
    String: String, Box<str> => |value| Bson::String(str::to_owned(value));
    Date: DateTime => |value| Bson::DateTime(*value);
    ObjectId: ObjectId => |value| Bson::ObjectId(*value);
    Any: Bson => |value| value.clone();
}

impl<V: AttributeValue> AttributeValue for Option<V> {
    const KIND: ValueKind = V::KIND;
    type Value = V::Value;

    fn to_bson(&self) -> Bson {
        self.as_ref().map_or(Bson::Null, V::to_bson)
    }
}

/// The stored form of a value that is kept as text.
pub(super) fn stored_as_text<V: AttributeValue>(value: &V) -> Bson {
    let value = value.to_bson();
    let raw = bson::RawBson::try_from(value.clone());
    let text = raw.ok().and_then(|raw| V::KIND.text(raw.as_raw_bson_ref()));
    // A value without a text form, such as a date outside the format's years, is not stored as
    // text.
    text.map_or(value, Bson::String)
}

impl ValueKind {
    /// A description of its values, for messages.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Bool => "a boolean",
            Self::Int32 => "a 32-bit integer",
            Self::Int64 => "a 64-bit integer",
            Self::Double => "a number",
            Self::Decimal => "a decimal number",
            Self::String => "text",
            Self::Date => "a date",
            Self::ObjectId => "an object id",
            Self::Any => "a number, text, a date, a boolean or an object id",
        }
    }

    /// Whether a stored value belongs to this kind. Other tools write whole numbers as any of three
    /// types.
    pub(super) fn admits(self, value: RawBsonRef<'_>) -> bool {
        match self {
            Self::Bool => matches!(value, RawBsonRef::Boolean(_)),
            Self::Int32 => whole::of_raw(value).is_some_and(|number| i32::try_from(number).is_ok()),
            Self::Int64 => whole::of_raw(value).is_some(),
            Self::Double => match value {
                RawBsonRef::Double(_) | RawBsonRef::Int32(_) => true,
                RawBsonRef::Int64(number) => is_exact(number),
                _ => false,
            },
            Self::Decimal => matches!(value, RawBsonRef::Decimal128(_)),
            Self::String => matches!(value, RawBsonRef::String(_)),
            Self::Date => matches!(value, RawBsonRef::DateTime(_)),
            Self::ObjectId => matches!(value, RawBsonRef::ObjectId(_)),
            Self::Any => {
                let all = [
                    Self::Bool,
                    Self::Int64,
                    Self::Double,
                    Self::Decimal,
                    Self::String,
                    Self::Date,
                    Self::ObjectId,
                ];
                all.iter().any(|kind| kind.admits(value))
            }
        }
    }

    /// The text of a value of this kind.
    pub(super) fn text(self, value: RawBsonRef<'_>) -> Option<String> {
        // Text does not show which of several types the value had.
        let is_told = self != Self::Any || matches!(value, RawBsonRef::String(_));
        if !self.admits(value) || !is_told {
            return None;
        }
        Some(match value {
            RawBsonRef::Boolean(value) => value.to_string(),
            RawBsonRef::Int32(value) => value.to_string(),
            RawBsonRef::Int64(value) => value.to_string(),
            RawBsonRef::Double(value) => value.to_string(),
            RawBsonRef::Decimal128(value) => value.to_string(),
            RawBsonRef::String(value) => value.to_owned(),
            RawBsonRef::ObjectId(value) => value.to_hex(),
            // A date outside the format's years has no text.
            RawBsonRef::DateTime(value) => value.try_to_rfc3339_string().ok()?,
            _ => return None,
        })
    }

    /// Writes the value of this text. Returns `false` if the text does not fit the kind.
    pub(super) fn write_text(self, name: &str, text: &str, to: &mut RawWriter) -> bool {
        match self {
            Self::Bool => text.parse().map(|value| to.bool(name, value)).is_ok(),
            Self::Int32 => text.parse().map(|value| to.int32(name, value)).is_ok(),
            Self::Int64 => text.parse().map(|value| to.int64(name, value)).is_ok(),
            Self::Double => text.parse().map(|value| to.double(name, value)).is_ok(),
            Self::Decimal => {
                let value = text.parse::<Decimal128>();
                let bytes = value.map(|value| value.bytes());
                bytes
                    .map(|bytes| to.raw(byte::DECIMAL, name, &bytes))
                    .is_ok()
            }
            Self::String | Self::Any => {
                to.string(name, text);
                true
            }
            Self::Date => DateTime::parse_rfc3339_str(text)
                .map(|value| to.date(name, value.timestamp_millis()))
                .is_ok(),
            Self::ObjectId => ObjectId::parse_str(text)
                .map(|value| to.object_id(name, value))
                .is_ok(),
        }
    }
}

/// Whether a floating point number represents it exactly.
fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= 1 << 53
}
