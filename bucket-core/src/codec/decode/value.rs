//! What serde asks of a value, wherever the value is stored.

use std::cell::Cell;

use bson::error::Error;
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};

/// The newtype name that requests a date in milliseconds.
pub(crate) const DATE: &str = "$bucket_date";

/// Where a value is stored.
pub(super) trait Stored<'de>: Copy {
    /// Gives it to the visitor; leaves it, if `bson` must read it.
    fn visit<V: Visitor<'de>>(self, visitor: V, leave: Leave<'_>) -> Result<V::Value, Error>;

    /// If it is a text.
    fn text(self) -> Result<Option<&'de str>, Error>;

    /// In milliseconds, if it is a date.
    fn date(self) -> Result<Option<i64>, Error>;

    fn is_null(self) -> bool;
}

/// The elements of a document or of an array, one after the other.
pub(super) trait Elements<'de> {
    type Value: Stored<'de>;

    fn next(&mut self) -> Result<Next<'de, Self::Value>, Error>;
}

pub(super) enum Next<'de, V> {
    Element(&'de str, V),
    End,
    /// `bson` must read it.
    Foreign,
}

/// How a value is left to `bson`.
#[derive(Clone, Copy)]
pub(super) struct Leave<'a> {
    /// Whether one was.
    foreign: &'a Cell<bool>,
}

impl<'a> Leave<'a> {
    pub(super) const fn new(foreign: &'a Cell<bool>) -> Self {
        Self { foreign }
    }

    #[cold]
    pub(super) fn it<T>(self) -> Result<T, Error> {
        self.foreign.set(true);
        Err(Error::custom("this decoder does not read the type"))
    }

    /// These elements, for a visitor.
    pub(super) const fn with<S, E>(self, elements: E) -> Access<'a, S, E> {
        Access {
            elements,
            value: None,
            leave: self,
        }
    }
}

/// A value.
#[derive(Clone, Copy)]
pub(super) struct Value<'a, S> {
    pub(super) stored: S,
    pub(super) leave: Leave<'a>,
}

impl<'de, S: Stored<'de>> Deserializer<'de> for Value<'_, S> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.stored.visit(visitor, self.leave)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.stored.is_null() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.stored.text()? {
            Some(text) => visitor.visit_enum(text.into_deserializer()),
            None => self.leave.it(),
        }
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        if name == DATE
            && let Some(millis) = self.stored.date()?
        {
            return visitor.visit_i64(millis);
        }
        // `bson` uses such names for requests to itself.
        if name.starts_with('$') {
            return self.leave.it();
        }
        visitor.visit_newtype_struct(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    forward_to_deserialize_any! {
        bool char str bytes byte_buf unit unit_struct string identifier seq tuple tuple_struct struct
        map ignored_any i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
    }
}

/// The elements that serde has not asked for yet.
pub(super) struct Access<'a, S, E> {
    elements: E,
    /// The value of the name that was given last.
    value: Option<S>,
    leave: Leave<'a>,
}

impl<'de, S: Stored<'de>, E: Elements<'de, Value = S>> Access<'_, S, E> {
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "otherwise each value goes through memory"
    )]
    fn next(&mut self) -> Result<Option<(&'de str, S)>, Error> {
        match self.elements.next()? {
            Next::Element(name, value) => Ok(Some((name, value))),
            Next::End => Ok(None),
            Next::Foreign => self.leave.it(),
        }
    }

    #[inline]
    fn read<T: DeserializeSeed<'de>>(&self, seed: T, stored: S) -> Result<T::Value, Error> {
        let leave = self.leave;
        seed.deserialize(Value { stored, leave })
    }
}

impl<'de, S: Stored<'de>, E: Elements<'de, Value = S>> MapAccess<'de> for Access<'_, S, E> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let Some((name, value)) = self.next()? else {
            return Ok(None);
        };
        self.value = Some(value);
        let name = BorrowedStrDeserializer::new(name);
        seed.deserialize(name).map(Some)
    }

    #[inline]
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        match self.value.take() {
            Some(value) => self.read(seed, value),
            None => Err(Error::custom("a value is asked for before its name")),
        }
    }
}

impl<'de, S: Stored<'de>, E: Elements<'de, Value = S>> SeqAccess<'de> for Access<'_, S, E> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        match self.next()? {
            None => Ok(None),
            Some((_, value)) => self.read(seed, value).map(Some),
        }
    }
}
