//! Which types attributes can have, and how they are written as text.

use bson::{Bson, DateTime, Decimal128, RawBsonRef, oid::ObjectId};

use super::ValueKind;
use crate::{
    codec::raw::{RawWriter, kind as byte},
    model::whole,
};

/// A type that attributes can have: numbers, text, dates, booleans, object ids, and options of them.
///
/// Types of one's own have it by `#[derive(AttributeValue)]`.
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
    /// How it is stored.
    const KIND: ValueKind;
    /// What it is compared with: of an option what may be in it.
    type Value: AttributeValue;

    /// The value as it is stored; null where there is none.
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
    // Nothing that is stored is beyond 64 bits with a sign.
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

/// A value as it is stored as text.
pub(super) fn stored_as_text<V: AttributeValue>(value: &V) -> Bson {
    let value = value.to_bson();
    let raw = bson::RawBson::try_from(value.clone());
    let text = raw.ok().and_then(|raw| V::KIND.text(raw.as_raw_bson_ref()));
    // What has no text, such as a date of no year of the format, is stored nowhere as text either.
    text.map_or(value, Bson::String)
}

impl ValueKind {
    /// What a value of it is, for messages.
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

    /// Whether a stored value is one of it. Other tools write whole numbers as any of three types.
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

    /// The text of a value of it.
    pub(super) fn text(self, value: RawBsonRef<'_>) -> Option<String> {
        // Text does not tell of which of several types it was.
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
            // A date beyond the years of the format has no text.
            RawBsonRef::DateTime(value) => value.try_to_rfc3339_string().ok()?,
            _ => return None,
        })
    }

    /// Writes the value of this text; false if it is none of the kind.
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

/// Whether a floating point number holds it exactly.
fn is_exact(number: i64) -> bool {
    number.unsigned_abs() <= 1 << 53
}
