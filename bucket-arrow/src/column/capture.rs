//! What is in the structs that the types of `bson` show themselves as.

use bucket_mongo::bson::Decimal128;
use serde::{
    Serialize,
    ser::{SerializeStruct, Serializer},
};

use super::misfit::Misfit;
use crate::refuse::refuse_parts;

/// The only text or bytes in a value.
#[derive(Debug)]
pub(crate) enum Caught {
    Number(i64),
    Id([u8; 24]),
    Decimal(Decimal128),
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Capture {
    /// The milliseconds of a date.
    Date,
    /// The hexadecimal text of an object id.
    ObjectId,
    /// The bytes of a decimal.
    Decimal,
}

fn other() -> Misfit {
    Misfit::new("has a form that this version of `bson` does not give its values")
}

macro_rules! refused {
    ($($method:ident($($argument:ty),*)),+ $(,)?) => {$(
        fn $method(self, $(_: $argument),*) -> Result<Caught, Misfit> {
            Err(other())
        }
    )+};
}

impl Serializer for Capture {
    type Ok = Caught;
    type Error = Misfit;
    type SerializeStruct = Inside;

    refused! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32), serialize_u8(u8),
        serialize_u16(u16), serialize_u32(u32), serialize_u64(u64), serialize_f32(f32), serialize_f64(f64),
        serialize_char(char), serialize_none(), serialize_unit(), serialize_unit_struct(&'static str),
        serialize_unit_variant(&'static str, u32, &'static str),
    }

    refuse_parts!(Caught, Misfit, other());

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_i64(self, value: i64) -> Result<Caught, Misfit> {
        Ok(Caught::Number(value))
    }

    fn serialize_str(self, text: &str) -> Result<Caught, Misfit> {
        match self {
            Self::Date => text.parse().map(Caught::Number).map_err(|_| other()),
            Self::ObjectId => {
                let bytes = text.as_bytes().try_into();
                bytes.map(Caught::Id).map_err(|_| other())
            }
            Self::Decimal => Err(other()),
        }
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Caught, Misfit> {
        let bytes: [u8; 16] = bytes.try_into().map_err(|_| other())?;
        Ok(Caught::Decimal(Decimal128::from_bytes(bytes)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Caught, Misfit> {
        value.serialize(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside, Misfit> {
        Ok(Inside {
            capture: self,
            caught: None,
        })
    }
}

/// A struct with one field.
pub(crate) struct Inside {
    capture: Capture,
    caught: Option<Caught>,
}

impl SerializeStruct for Inside {
    type Ok = Caught;
    type Error = Misfit;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Misfit> {
        self.caught = Some(value.serialize(self.capture)?);
        Ok(())
    }

    fn end(self) -> Result<Caught, Misfit> {
        self.caught.ok_or_else(other)
    }
}
