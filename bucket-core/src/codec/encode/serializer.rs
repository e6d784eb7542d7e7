//! Serde's calls, one for each kind of value.

use serde::{Serialize, Serializer};

use super::{
    Error,
    by_bson::Newtype,
    elements::{Elements, Entries, Fields, StructElements},
    encoder::{Encoder, length},
    special::{Special, is_special},
};
use crate::codec::raw::kind;

macro_rules! widen {
    ($($method:ident($ty:ty) as $wide:ident),+ $(,)?) => {$(
        #[inline]
        fn $method(self, value: $ty) -> Result<(), Error> {
            self.$wide(value.into())
        }
    )+};
}

impl<'e, 'a> Serializer for &'e mut Encoder<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Elements<'e, 'a>;
    type SerializeTuple = Elements<'e, 'a>;
    type SerializeTupleStruct = Elements<'e, 'a>;
    type SerializeTupleVariant = Elements<'e, 'a>;
    type SerializeMap = Entries<'e, 'a>;
    type SerializeStruct = StructElements<'e, 'a>;
    type SerializeStructVariant = Fields<'e, 'a>;

    fn is_human_readable(&self) -> bool {
        false
    }

    widen! {
        serialize_i8(i8) as serialize_i32, serialize_i16(i16) as serialize_i32,
        serialize_u8(u8) as serialize_i32, serialize_u16(u16) as serialize_i32,
        serialize_u32(u32) as serialize_i64, serialize_f32(f32) as serialize_f64,
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.value(kind::BOOLEAN, &[u8::from(value)]);
        Ok(())
    }

    #[inline]
    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.value(kind::INT32, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.value(kind::INT64, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        match i64::try_from(value) {
            Ok(value) => self.serialize_i64(value),
            // Refused there with a specific error.
            Err(_) => self.special(&value),
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.value(kind::DOUBLE, &value.to_le_bytes());
        Ok(())
    }

    #[inline]
    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.value(kind::STRING, &length(value.len() + 1));
        self.bytes.extend_from_slice(value.as_bytes());
        self.bytes.push(0);
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.value(kind::BINARY, &length(value.len()));
        // The generic subtype.
        self.bytes.push(0);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.kind(kind::NULL);
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_none()
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        if name.starts_with('$') {
            return self.special(&Newtype(name, value));
        }
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.kind(kind::DOCUMENT);
        let start = self.begin()?;
        self.name(variant)?;
        value.serialize(&mut *self)?;
        self.end(start);
        Ok(())
    }

    #[inline]
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple(self, _: usize) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'e, 'a>, Error> {
        Elements::begin(self, kind::ARRAY)
    }

    #[inline]
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements<'e, 'a>, Error> {
        self.kind(kind::DOCUMENT);
        let around = self.begin()?;
        self.name(variant)?;
        Elements::begin_within(self, Some(around), kind::ARRAY)
    }

    #[inline]
    fn serialize_map(self, len: Option<usize>) -> Result<Entries<'e, 'a>, Error> {
        // The serde form of a struct with a flattened field. Such a field may bring names that
        // other fields are read from.
        if len.is_none() {
            self.has_flattened();
        }
        Entries::begin(self)
    }

    #[inline]
    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<StructElements<'e, 'a>, Error> {
        Ok(if is_special(name) {
            StructElements::Special(Special::begin(self, name, len))
        } else {
            StructElements::Document(Fields::begin(self)?)
        })
    }

    #[inline]
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Fields<'e, 'a>, Error> {
        self.kind(kind::DOCUMENT);
        let around = self.begin()?;
        self.name(variant)?;
        Fields::begin_within(self, Some(around))
    }
}
