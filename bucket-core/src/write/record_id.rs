//! Record ids: where an item has its id, and when two ids are the same.
//!
//! An id is used as it is in the item, because that is what the server compares.

use std::ops::Range;

use bson::{RawBsonRef, RawDocument, spec::ElementType};

use crate::{
    error::EncodeError,
    model::{spec::BucketSpec, whole},
};

/// The longest id, in bytes: a statement and an index entry repeat it.
const MAX_BYTES: usize = 1_024;

/// The range, in the item's bytes, of the element that is its id, in a model with ids, and its [`identity`].
pub(super) fn read(spec: &BucketSpec, item: &[u8]) -> Result<(Range<usize>, Vec<u8>), EncodeError> {
    let field = spec.unique().unwrap_or_default();
    let refused = |message: String| EncodeError::RecordId { field, message };
    let item =
        RawDocument::from_bytes(item).map_err(|error| EncodeError::Serialize(error.into()))?;
    // After the length of the document.
    let mut start = size_of::<i32>();
    for element in item.iter_elements() {
        let element = element.map_err(|error| EncodeError::Serialize(error.into()))?;
        // A type, the name, a NUL and the value.
        let end = start + 1 + element.key().as_str().len() + 1 + element.size();
        if element.key().as_str() != field {
            start = end;
            continue;
        }
        let value = element
            .value()
            .ok()
            .filter(|_| has_equality(element.element_type()));
        let Some(identity) = value.and_then(identity) else {
            let message = format!(
                "is {:?}, which cannot be a record id",
                element.element_type()
            );
            return Err(refused(message));
        };
        if element.size() > MAX_BYTES {
            return Err(EncodeError::LongRecordId {
                field,
                bytes: element.size(),
                limit: MAX_BYTES,
            });
        }
        return Ok((start..end, identity));
    }
    Err(refused("is missing".to_owned()))
}

/// Whether equality on such a value works as an id. Arrays have an index entry for each element, patterns
/// match texts, and a missing value counts as null.
fn has_equality(kind: ElementType) -> bool {
    matches!(
        kind,
        ElementType::String
            | ElementType::Int32
            | ElementType::Int64
            | ElementType::ObjectId
            | ElementType::Binary
            | ElementType::Boolean
            | ElementType::DateTime
    )
}

/// The bytes that two ids share if the server considers them equal; `None` for what cannot be an id.
pub(crate) fn identity(value: RawBsonRef<'_>) -> Option<Vec<u8>> {
    let mut identity = vec![value.element_type() as u8];
    match value {
        RawBsonRef::String(text) => identity.extend_from_slice(text.as_bytes()),
        RawBsonRef::ObjectId(id) => identity.extend_from_slice(&id.bytes()),
        RawBsonRef::Binary(binary) => {
            identity.push(binary.subtype.into());
            identity.extend_from_slice(binary.bytes);
        }
        RawBsonRef::Boolean(value) => identity.push(u8::from(value)),
        RawBsonRef::DateTime(date) => {
            identity.extend_from_slice(&date.timestamp_millis().to_le_bytes());
        }
        number => {
            // Equal numbers are the same, whatever their type.
            identity[0] = ElementType::Int64 as u8;
            identity.extend_from_slice(&whole::of_raw(number)?.to_le_bytes());
        }
    }
    Some(identity)
}

/// The id of an item as text, for messages.
pub(super) fn text(value: RawBsonRef<'_>) -> String {
    match value {
        RawBsonRef::String(text) => format!("{text:?}"),
        RawBsonRef::Int32(number) => number.to_string(),
        RawBsonRef::Int64(number) => number.to_string(),
        RawBsonRef::Boolean(value) => value.to_string(),
        RawBsonRef::ObjectId(id) => id.to_hex(),
        RawBsonRef::DateTime(date) => date.to_string(),
        RawBsonRef::Binary(binary) => match <[u8; 16]>::try_from(binary.bytes) {
            Ok(bytes) => bson::Uuid::from_bytes(bytes).to_string(),
            Err(_) => format!("{binary:?}"),
        },
        other => format!("{other:?}"),
    }
}

/// The id of an item.
pub(super) fn of<'a>(spec: &BucketSpec, item: &'a RawDocument) -> Option<RawBsonRef<'a>> {
    item.get(spec.unique()?).ok()?
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawDocumentBuf, doc};

    use super::identity;

    fn of(value: Bson) -> Option<Vec<u8>> {
        let document = RawDocumentBuf::try_from(&doc! { "id": value }).unwrap_or_default();
        identity(document.get("id").ok()??)
    }

    #[test]
    fn ids_are_the_same_if_the_server_considers_them_equal() {
        assert_eq!(of(Bson::Int32(7)), of(Bson::Int64(7)));
        assert_eq!(of(Bson::Int32(7)), of(Bson::Double(7.0)));
        assert_ne!(of(Bson::Int32(7)), of("7".into()));
        assert_ne!(of("a".into()), of("A".into()));
        assert_ne!(of(Bson::Int32(1)), of(Bson::Boolean(true)));
        assert_eq!(of(Bson::Null), None);
        assert_eq!(of(Bson::Double(0.5)), None);
    }
}
