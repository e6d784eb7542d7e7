//! Values that `bson` writes, and its errors for values that it refuses.

use bson::Bson;
use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeStruct},
};

use super::Error;

/// The error for a name that is not text, or is text with a NUL.
#[cold]
pub(super) fn no_name<K: Serialize + ?Sized>(name: &K) -> Error {
    error_of(&OneElement(name, &()))
}

/// The error for a record that serialises as a special value.
#[cold]
pub(crate) fn no_document(name: &'static str) -> Error {
    error_of(&SpecialStruct::<()>(name, &[], None))
}

/// Why `bson` does not accept it as a document.
#[cold]
pub(super) fn error_of<T: Serialize>(value: &T) -> Error {
    bson::serialize_to_vec(value)
        .err()
        .unwrap_or_else(|| Error::custom("this cannot be encoded"))
}

/// A document of one element.
pub(super) struct OneElement<'v, K: ?Sized, T: ?Sized>(pub(super) &'v K, pub(super) &'v T);

impl<K: Serialize + ?Sized, T: Serialize + ?Sized> Serialize for OneElement<'_, K, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(self.0, self.1)?;
        map.end()
    }
}

/// A newtype of this name.
pub(super) struct Newtype<'v, T: ?Sized>(pub(super) &'static str, pub(super) &'v T);

impl<T: Serialize + ?Sized> Serialize for Newtype<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct(self.0, self.1)
    }
}

/// A struct of this name and these fields.
pub(super) struct SpecialStruct<'v, T: ?Sized>(
    pub(super) &'static str,
    pub(super) &'v [(&'static str, Bson)],
    pub(super) Option<(&'static str, &'v T)>,
);

impl<T: Serialize + ?Sized> Serialize for SpecialStruct<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(name, held, last) = self;
        let len = held.len() + usize::from(last.is_some());
        let mut fields = to.serialize_struct(name, len)?;
        for (name, value) in *held {
            fields.serialize_field(name, value)?;
        }
        if let Some((name, value)) = last {
            fields.serialize_field(name, value)?;
        }
        fields.end()
    }
}
