//! The names of map entries: text, in every way that serde may pass it.

use serde::{
    Serialize, Serializer,
    ser::{Error as _, Impossible},
};

use super::{Encoder, Error, by_bson::no_name};

impl Encoder<'_> {
    /// Begins an element with this map key as its name. Its value must follow.
    ///
    /// # Errors
    ///
    /// If the key is not text, or is text with a NUL.
    #[inline]
    pub(crate) fn key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        let written = key.serialize(EntryName(self));
        // `bson` reports what is wrong with the key.
        written.map_err(|_| no_name(key))
    }
}

/// Accepts only text, like the key serializer of `bson`, in the human-readable form.
struct EntryName<'e, 'a>(&'e mut Encoder<'a>);

#[cold]
fn not_text() -> Error {
    Error::custom("the name of an entry must be text")
}

type Nothing = Impossible<(), Error>;

macro_rules! refuse {
    ($($method:ident($($arg:ty),*) -> $out:ty),+ $(,)?) => {$(
        fn $method(self, $(_: $arg),*) -> Result<$out, Error> {
            Err(not_text())
        }
    )+};
}

impl Serializer for EntryName<'_, '_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Nothing;
    type SerializeTuple = Nothing;
    type SerializeTupleStruct = Nothing;
    type SerializeTupleVariant = Nothing;
    type SerializeMap = Nothing;
    type SerializeStruct = Nothing;
    type SerializeStructVariant = Nothing;

    #[inline]
    fn serialize_str(self, name: &str) -> Result<(), Error> {
        self.0.name(name)
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.0.name(variant)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(not_text())
    }

    refuse! {
        serialize_bool(bool) -> (), serialize_i8(i8) -> (), serialize_i16(i16) -> (),
        serialize_i32(i32) -> (), serialize_i64(i64) -> (), serialize_u8(u8) -> (),
        serialize_u16(u16) -> (), serialize_u32(u32) -> (), serialize_u64(u64) -> (),
        serialize_f32(f32) -> (), serialize_f64(f64) -> (), serialize_char(char) -> (),
        serialize_bytes(&[u8]) -> (), serialize_none() -> (), serialize_unit() -> (),
        serialize_unit_struct(&'static str) -> (),
        serialize_seq(Option<usize>) -> Nothing, serialize_tuple(usize) -> Nothing,
        serialize_tuple_struct(&'static str, usize) -> Nothing,
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Nothing,
        serialize_map(Option<usize>) -> Nothing, serialize_struct(&'static str, usize) -> Nothing,
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Nothing,
    }
}
