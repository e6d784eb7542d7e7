//! From a record to its item: the record's own `Serialize`, without the key fields and with the
//! time as a BSON date.
//!
//! Running the user's implementation through a filter keeps every serde attribute exact, because
//! it is serde's own code that honours it.

use bson::{Bson, DateTime};
use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeMap, SerializeStruct},
};

use crate::{record::Record, spec::BucketSpec};

/// Appends the item of `record` to `buffer` as a BSON document.
///
/// On an error the buffer is as it was before.
pub(crate) fn append_item<T: Record>(
    record: &T,
    time: DateTime,
    buffer: &mut Vec<u8>,
) -> Result<(), bson::error::Error> {
    let start = buffer.len();
    let result = bson::serialize_to_buffer(
        &Item {
            record,
            spec: T::SPEC,
            time,
        },
        buffer,
    );
    if result.is_err() {
        buffer.truncate(start);
    }
    result
}

struct Item<'a, T> {
    record: &'a T,
    spec: &'static BucketSpec,
    time: DateTime,
}

impl<T: Serialize> Serialize for Item<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let filter = Filter {
            spec: self.spec,
            time: self.time,
            seen: 0,
        };
        self.record.serialize(ItemSerializer {
            inner: serializer,
            filter,
        })
    }
}

/// What becomes of a field.
#[derive(Clone, Copy)]
enum Fate {
    Keep,
    Drop,
    Date,
}

/// The bit of the time among the fields seen.
const TIME: u64 = 1 << 63;

/// Knows the fields that do not go into the item as they are.
struct Filter {
    spec: &'static BucketSpec,
    time: DateTime,
    /// A bit for each key field, and the highest for the time: a second value of the same name
    /// (out of a flattened map) must not vanish silently.
    seen: u64,
}

impl Filter {
    fn fate<E: serde::ser::Error>(&mut self, name: &str) -> Result<Fate, E> {
        let (bit, fate) = if name == self.spec.time().name {
            (63, Fate::Date)
        } else if let Some(index) = self.spec.keys().iter().position(|key| key.path == name) {
            (index.min(62), Fate::Drop)
        } else {
            return Ok(Fate::Keep);
        };
        if self.seen & (1 << bit) != 0 {
            return Err(E::custom(format_args!(
                "a flattened field brings a second value for `{name}`"
            )));
        }
        self.seen |= 1 << bit;
        Ok(fate)
    }
}

impl Filter {
    /// An item without its time could not be read back.
    fn has_time<E: serde::ser::Error>(&self) -> Result<(), E> {
        if self.seen & TIME == 0 {
            let name = self.spec.time().name;
            return Err(E::custom(format_args!(
                "the record's serde form has no field `{name}`"
            )));
        }
        Ok(())
    }
}

/// A serializer that takes structs and maps alone, field by field through the filter.
struct ItemSerializer<S> {
    inner: S,
    filter: Filter,
}

fn not_a_struct<E: serde::ser::Error>() -> E {
    E::custom("a record must serialise as a struct with named fields")
}

macro_rules! refuse {
    ($($method:ident($($arg:ty),*)),+ $(,)?) => {$(
        fn $method(self, $(_: $arg),*) -> Result<S::Ok, S::Error> {
            Err(not_a_struct())
        }
    )+};
}

impl<S: Serializer> Serializer for ItemSerializer<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeMap = ItemFields<S::SerializeMap>;
    type SerializeStruct = ItemFields<S::SerializeStruct>;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    fn serialize_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        let inner = self.inner.serialize_struct(name, len)?;
        Ok(ItemFields {
            inner,
            filter: self.filter,
            pending: Fate::Keep,
        })
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let inner = self.inner.serialize_map(None)?;
        Ok(ItemFields {
            inner,
            filter: self.filter,
            pending: Fate::Keep,
        })
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<S::Ok, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<S::Ok, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<S::Ok, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        Err(not_a_struct())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        Err(not_a_struct())
    }

    refuse! {
        serialize_bool(bool), serialize_i8(i8), serialize_i16(i16), serialize_i32(i32),
        serialize_i64(i64), serialize_u8(u8), serialize_u16(u16), serialize_u32(u32),
        serialize_u64(u64), serialize_f32(f32), serialize_f64(f64), serialize_char(char),
        serialize_str(&str), serialize_bytes(&[u8]), serialize_none(), serialize_unit(),
        serialize_unit_struct(&'static str), serialize_unit_variant(&'static str, u32, &'static str),
    }
}

/// The fields of a record on their way into the item.
struct ItemFields<I> {
    inner: I,
    filter: Filter,
    pending: Fate,
}

impl<I: SerializeStruct> SerializeStruct for ItemFields<I> {
    type Ok = I::Ok;
    type Error = I::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), I::Error> {
        match self.filter.fate(key)? {
            Fate::Keep => self.inner.serialize_field(key, value),
            Fate::Drop => Ok(()),
            Fate::Date => self.inner.serialize_field(key, &self.filter.time),
        }
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), I::Error> {
        self.inner.skip_field(key)
    }

    fn end(self) -> Result<I::Ok, I::Error> {
        self.filter.has_time()?;
        self.inner.end()
    }
}

/// The form of a struct with a flattened field.
impl<I: SerializeMap> SerializeMap for ItemFields<I> {
    type Ok = I::Ok;
    type Error = I::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), I::Error> {
        // A key that is no text is no name of ours, and the serializer's to judge.
        self.pending = match bson::serialize_to_bson(&key) {
            Ok(Bson::String(name)) => self.filter.fate(&name)?,
            _ => Fate::Keep,
        };
        match self.pending {
            Fate::Drop => Ok(()),
            Fate::Keep | Fate::Date => self.inner.serialize_key(key),
        }
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), I::Error> {
        match self.pending {
            Fate::Keep => self.inner.serialize_value(value),
            Fate::Drop => Ok(()),
            Fate::Date => self.inner.serialize_value(&self.filter.time),
        }
    }

    fn end(self) -> Result<I::Ok, I::Error> {
        self.filter.has_time()?;
        self.inner.end()
    }
}
