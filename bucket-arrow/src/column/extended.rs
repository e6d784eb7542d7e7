//! Values as BSON, the way a bucket stores them: for columns of JSON and for rare types.

use bucket_mongo::bson::{self, Bson, Document};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::misfit::Misfit;
use crate::extended_json;

/// The value as BSON.
pub(super) fn bson<T: Serialize + ?Sized>(value: &T) -> Result<Bson, Misfit> {
    #[derive(Serialize)]
    struct Holder<'a, T: ?Sized> {
        v: &'a T,
    }
    // Not `serialize_to_bson`, which is for formats that people read.
    let raw = bson::serialize_to_raw_document_buf(&Holder { v: value });
    let document = raw.ok().and_then(|raw| Document::try_from(raw).ok());
    let value = document.and_then(|mut document| document.remove("v"));
    value.ok_or_else(|| Misfit::new("is no value of BSON"))
}

/// The value as canonical extended JSON; `None` if it is null.
pub(super) fn json<T: Serialize + ?Sized>(value: &T) -> Result<Option<String>, Misfit> {
    Ok(match bson(value)? {
        Bson::Null => None,
        value => Some(extended_json::text(&value)),
    })
}

/// A struct of `bson` with its only field.
pub(super) struct Magic<'a, T: ?Sized> {
    pub(super) name: &'static str,
    pub(super) value: &'a T,
}

impl<T: Serialize + ?Sized> Serialize for Magic<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct(self.name, 1)?;
        fields.serialize_field(self.name, self.value)?;
        fields.end()
    }
}

/// A newtype of `bson`.
pub(super) struct Newtype<'a, T: ?Sized> {
    pub(super) name: &'static str,
    pub(super) value: &'a T,
}

impl<T: Serialize + ?Sized> Serialize for Newtype<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_newtype_struct(self.name, self.value)
    }
}
