//! From a record to its item: the record's own `Serialize`, without the key fields and with the
//! time as a BSON date.
//!
//! The derive could list the fields of the struct and their types, but it cannot know what `Serialize` makes
//! of them: a user can write it by hand. So the user's implementation runs through a filter, straight into
//! the buffer. This keeps every serde attribute exact, because serde's own code handles it. The filter's
//! names are constants of the record type, so the compiler decides most of it in advance.

use std::marker::PhantomData;

use bson::{DateTime, RawDocument};
use serde::{
    Serialize, Serializer,
    ser::{Error as _, Impossible, SerializeMap, SerializeStruct},
};

use crate::{
    attribute::fold_item,
    bucket::{edits::MARK, record::Record},
    codec::encode::{
        Constants, DataNames, Encoder, Error, Findings, ITEM_LEVELS, KnownNames, check_read,
        is_special, no_document,
    },
    error::EncodeError,
};

/// Appends the item of `record` to `buffer` as a BSON document.
///
/// On an error the buffer is as it was before. Struct names that were checked once are looked up in `known`.
pub(crate) fn append_item<T: Record>(
    record: &T,
    time: DateTime,
    buffer: &mut Vec<u8>,
    known: &mut KnownNames,
) -> Result<(), EncodeError> {
    let start = buffer.len();
    let mut findings = Findings::default();
    let written = record.serialize(ItemSerializer::<T> {
        encoder: Encoder::over(buffer, start, ITEM_LEVELS, &mut findings, known),
        filter: Filter {
            time,
            seen: 0,
            record: PhantomData,
        },
    });
    if written.is_ok() && findings.are_none() && T::SPEC.arrays().is_empty() {
        return Ok(());
    }
    let result = finish::<T>(written, findings, buffer, start);
    if result.is_err() {
        buffer.truncate(start);
    }
    result
}

/// Finishes an item with more than plain fields.
fn finish<T: Record>(
    written: Result<(), Error>,
    mut findings: Findings,
    buffer: &mut Vec<u8>,
    start: usize,
) -> Result<(), EncodeError> {
    let checked = findings.of(written).and_then(|()| {
        if findings.is_doubtful() {
            let item = buffer.get(start..).unwrap_or_default();
            check_read::<T::Item>(item, &findings)?;
        }
        Ok(())
    });
    checked.map_err(|refusal| refusal.of_record(ITEM_LEVELS))?;
    fold_behind::<T>(buffer, start)
}

/// Turns the attributes of the item that begins at `start` into arrays.
fn fold_behind<T: Record>(buffer: &mut Vec<u8>, start: usize) -> Result<(), EncodeError> {
    let arrays = T::SPEC.arrays();
    if arrays.is_empty() {
        return Ok(());
    }
    let fields = RawDocument::from_bytes(buffer.get(start..).unwrap_or_default())
        .map_err(|source| EncodeError::Serialize(source.into()))?;
    let item = fold_item(arrays, fields).map_err(EncodeError::Attribute)?;
    buffer.truncate(start);
    buffer.extend_from_slice(item.as_bytes());
    Ok(())
}

/// Refuses the names of fields that mean something else in an item: the index in the array, `items.3`, that the
/// filter uses to check for room, and the mark of a removed record. The derive refuses them for the struct's own
/// fields.
///
/// With an index in each item, no further record would find room. An item with the mark would be taken for a removed
/// record.
#[inline]
fn is_free<T: Record>(name: &str) -> Result<(), Error> {
    if name == MARK {
        return Err(taken(name, "marks removed records"));
    }
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && T::SPEC.asks_for_places() {
        return Err(taken(name, "is an index of the items array"));
    }
    Ok(())
}

#[cold]
fn taken(name: &str, why: &str) -> Error {
    Error::custom(format_args!(
        "a flattened field adds the name `{name}`, which {why}"
    ))
}

/// What happens to a field.
#[derive(Clone, Copy)]
enum Fate {
    Keep,
    Drop,
    Date,
}

/// The bit of the time among the fields seen.
const TIME: u64 = 1 << 63;

/// Finds the fields that do not go into the item unchanged.
struct Filter<T> {
    time: DateTime,
    /// A bit for each key field, and the highest for the time: a second value with the same name (from a
    /// flattened map) must not vanish silently.
    seen: u64,
    record: PhantomData<fn() -> T>,
}

impl<T: Record> Filter<T> {
    /// What happens to a field; `None` for a repeated key or time. Other repeated fields are found in the item.
    #[inline]
    fn fate(&mut self, name: &str) -> Option<Fate> {
        let (bit, fate) = if name == T::SPEC.time().name {
            (63, Fate::Date)
        } else if let Some(index) = T::SPEC.keys().iter().position(|key| key.path == name) {
            (index.min(62), Fate::Drop)
        } else {
            return Some(Fate::Keep);
        };
        if self.seen & (1 << bit) != 0 {
            return None;
        }
        self.seen |= 1 << bit;
        Some(fate)
    }
}

impl<T: Record> Filter<T> {
    /// An item without its time could not be read back.
    #[inline]
    fn has_time(&self) -> Result<(), Error> {
        if self.seen & TIME == 0 {
            let name = T::SPEC.time().name;
            return Err(Error::custom(format_args!(
                "the record's serde form has no field `{name}`"
            )));
        }
        Ok(())
    }
}

/// A serializer that takes only structs and maps, field by field through the filter.
struct ItemSerializer<'a, T> {
    encoder: Encoder<'a>,
    filter: Filter<T>,
}

impl<'a, T: Record> ItemSerializer<'a, T> {
    #[inline]
    fn begin(mut self) -> ItemFields<'a, T> {
        let start = self.encoder.begin_first();
        ItemFields {
            encoder: self.encoder,
            start,
            names: Constants::default(),
            filter: self.filter,
        }
    }
}

#[cold]
fn not_a_struct() -> Error {
    Error::custom("a record must serialise as a struct with named fields")
}

macro_rules! refuse {
    ($($method:ident($($arg:ty),*)),+ $(,)?) => {$(
        fn $method(self, $(_: $arg),*) -> Result<(), Error> {
            Err(not_a_struct())
        }
    )+};
}

impl<'a, R: Record> Serializer for ItemSerializer<'a, R> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = ItemEntries<'a, R>;
    type SerializeStruct = ItemFields<'a, R>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_struct(self, name: &'static str, _: usize) -> Result<ItemFields<'a, R>, Error> {
        if is_special(name) {
            return Err(no_document(name));
        }
        Ok(self.begin())
    }

    #[inline]
    fn serialize_map(mut self, _: Option<usize>) -> Result<ItemEntries<'a, R>, Error> {
        self.encoder.has_flattened();
        Ok(ItemEntries {
            fields: self.begin(),
            names: DataNames::default(),
            pending: Fate::Keep,
        })
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_some<T: Serialize + ?Sized>(self, _: &T) -> Result<(), Error> {
        Err(not_a_struct())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(not_a_struct())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        Err(not_a_struct())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        Err(not_a_struct())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        Err(not_a_struct())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
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

/// Passes the fields of a record into the item.
struct ItemFields<'a, T> {
    encoder: Encoder<'a>,
    start: usize,
    names: Constants,
    filter: Filter<T>,
}

impl<T: Record> ItemFields<'_, T> {
    /// What happens to the field with this name.
    #[inline]
    fn fate(&mut self, name: &str) -> Result<Fate, Error> {
        match self.filter.fate(name) {
            Some(fate) => Ok(fate),
            None => Err(self.encoder.repeats(name)),
        }
    }

    #[inline]
    fn finish(mut self) -> Result<(), Error> {
        self.filter.has_time()?;
        self.encoder.end(self.start);
        Ok(())
    }
}

impl<R: Record> SerializeStruct for ItemFields<'_, R> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let fate = self.fate(name)?;
        if let Fate::Drop = fate {
            return Ok(());
        }
        // Of a `Serialize` that is written by hand.
        if name == MARK {
            return Err(taken(name, "marks removed records"));
        }
        self.names.add(name);
        self.encoder.name(name)?;
        if let Fate::Date = fate {
            self.encoder.date(self.filter.time.timestamp_millis());
            return Ok(());
        }
        value.serialize(&mut self.encoder)
    }

    #[inline]
    fn end(mut self) -> Result<(), Error> {
        self.encoder.all_constants(self.names, self.start)?;
        self.finish()
    }
}

/// The same for a struct with a flattened field, whose names are data.
struct ItemEntries<'a, T> {
    fields: ItemFields<'a, T>,
    names: DataNames,
    pending: Fate,
}

impl<R: Record> SerializeMap for ItemEntries<'_, R> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let fields = &mut self.fields;
        fields.encoder.key(key)?;
        let (_, name) = fields.encoder.last_name();
        // It was text when it was written.
        let name = std::str::from_utf8(name).unwrap_or_default();
        is_free::<R>(name)?;
        let Some(fate) = fields.filter.fate(name) else {
            let name = name.to_owned();
            return Err(fields.encoder.repeats(&name));
        };
        self.pending = fate;
        if let Fate::Drop = self.pending {
            fields.encoder.take_back();
            return Ok(());
        }
        let start = fields.start;
        fields.encoder.written_name(&mut self.names, start)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let fields = &mut self.fields;
        match self.pending {
            Fate::Keep => value.serialize(&mut fields.encoder),
            Fate::Drop => Ok(()),
            Fate::Date => {
                let time = fields.filter.time;
                fields.encoder.date(time.timestamp_millis());
                Ok(())
            }
        }
    }

    fn end(mut self) -> Result<(), Error> {
        let start = self.fields.start;
        self.fields.encoder.all_written(&self.names, start)?;
        self.fields.finish()
    }
}
