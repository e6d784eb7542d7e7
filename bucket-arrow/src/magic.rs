//! The names under which the types of `bson` show themselves to a serializer that is not its own.

use serde::{Serialize, Serializer, ser::Impossible};

use crate::{refuse::refuse_parts, shape::Shape};

/// The prefix of newtypes that only a serializer of `bson` should see.
const PRIVATE: &str = "$__";
const UUID: &str = "$__bson_private_uuid";

/// The shape of a newtype of `bson`.
pub(crate) fn newtype(name: &str) -> Option<Shape> {
    match name {
        UUID => Some(Shape::Uuid),
        // Raw documents and the like.
        _ if name.starts_with(PRIVATE) => Some(Shape::Json),
        _ => None,
    }
}

/// The shape of a struct of `bson`.
pub(crate) fn structure(name: &str) -> Option<Shape> {
    Some(match name {
        "$date" => Shape::Date,
        "$oid" => Shape::ObjectId,
        "$numberDecimal" => Shape::Decimal,
        "$binary" => Shape::Binary,
        // Timestamps, regular expressions, code: no column of an analysis has them.
        "$timestamp" | "$regularExpression" | "$code" | "$codeWithScope" | "$symbol"
        | "$undefined" | "$minKey" | "$maxKey" | "$dbPointer" => Shape::Json,
        _ => return None,
    })
}

/// The name of an entry of a map: texts, and what becomes a text in BSON as well.
pub(crate) fn name_of<T: Serialize + ?Sized>(key: &T) -> Result<String, String> {
    let name = key.serialize(Name);
    name.map_err(|_| "has a key that is no text".to_owned())
}

struct Name;

type NoName = std::fmt::Error;

macro_rules! names {
    ($($method:ident: $ty:ty),+ $(,)?) => {$(
        fn $method(self, value: $ty) -> Result<String, NoName> {
            Ok(value.to_string())
        }
    )+};
}

impl Serializer for Name {
    type Ok = String;
    type Error = NoName;
    type SerializeStruct = Impossible<String, NoName>;

    names! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
        serialize_str: &str,
    }

    refuse_parts!(String, NoName, NoName {});

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_f32(self, _: f32) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_f64(self, _: f64) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_none(self) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_unit(self) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<String, NoName> {
        Err(NoName {})
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<String, NoName> {
        Ok(variant.to_owned())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<String, NoName> {
        value.serialize(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, NoName> {
        Err(NoName {})
    }
}
