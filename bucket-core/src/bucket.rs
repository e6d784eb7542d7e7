//! Typed buckets: from stored bytes to the struct that the derive makes, and back.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};
use serde::{
    Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _, ser::SerializeMap,
};

use crate::{
    error::{Damage, DamagedBucket, KeyError},
    id::BucketId,
    key::{KeySource, KeyValue, RecordKey, whole_number},
    raw::RawWriter,
    record::Record,
    spec::{BucketSpec, COUNT, ID},
};

/// The parts of every bucket, whatever its fields are called.
#[derive(Debug)]
pub struct BucketParts<T: Record> {
    /// The id, from `_id`.
    pub id: BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The items in their order of arrival.
    pub items: Vec<T::Item>,
}

/// A view of the parts of a bucket.
#[derive(Debug)]
pub struct BucketRef<'a, T: Record> {
    /// The id.
    pub id: &'a BucketId<T>,
    /// The key fields.
    pub key: T::Key,
    /// The number of items.
    pub count: u32,
    /// The items in their order of arrival.
    pub items: &'a [T::Item],
}

/// The typed bucket document of a model; the derive makes one for each.
pub trait BucketDocument: Sized {
    /// The record that the buckets hold.
    type Record: Record<Bucket = Self>;

    /// The document of these parts.
    fn from_parts(parts: BucketParts<Self::Record>) -> Self;

    /// The parts of this document.
    fn into_parts(self) -> BucketParts<Self::Record>;

    /// A view of the parts.
    fn as_ref(&self) -> BucketRef<'_, Self::Record>;
}

/// Reads a stored document as a bucket.
///
/// # Errors
///
/// [`DamagedBucket`] if a field is missing or of another type, if the count is not the length of
/// the array, or if an item is not of the record's type.
///
/// ```
/// # use bucket_core::{DamagedBucket, Record, bucket};
/// fn read<T: Record>(stored: &bson::RawDocument) -> Result<T::Bucket, DamagedBucket> {
///     bucket::decode::<T>(stored)
/// }
/// ```
pub fn decode<T: Record>(stored: &RawDocument) -> Result<T::Bucket, DamagedBucket> {
    match decode_parts::<T>(stored) {
        Ok(parts) => Ok(T::Bucket::from_parts(parts)),
        Err(damage) => Err(DamagedBucket::new(printed_id(stored), damage)),
    }
}

/// The records of a bucket, each with the bucket's key.
///
/// ```
/// # use bucket_core::{BucketDocument, bucket};
/// fn records<B: BucketDocument>(bucket: B) -> Vec<B::Record> {
///     bucket::assemble_records(bucket)
/// }
/// ```
pub fn assemble_records<B: BucketDocument>(bucket: B) -> Vec<B::Record> {
    let parts = bucket.into_parts();
    let key = parts.key;
    parts
        .items
        .into_iter()
        .map(|item| B::Record::assemble(key.clone(), item))
        .collect()
}

fn decode_parts<T: Record>(stored: &RawDocument) -> Result<BucketParts<T>, Damage> {
    let spec = T::SPEC;
    let id = match field(stored, ID)? {
        Some(RawBsonRef::String(text)) => {
            text.parse::<BucketId<T>>().map_err(|error| Damage::Id {
                message: error.to_string(),
            })?
        }
        _ => return Err(wrong_field(ID, "a string")),
    };
    let key = T::Key::read(&mut StoredKey {
        stored,
        spec,
        next: 0,
    })
    .map_err(|error| Damage::Key {
        message: error.to_string(),
    })?;
    let count = stored_count(stored)?;
    let Some(RawBsonRef::Array(array)) = field(stored, spec.items())? else {
        return Err(wrong_field(spec.items(), "an array"));
    };
    let mut items =
        Vec::with_capacity(usize::try_from(count.min(i64::from(spec.capacity()))).unwrap_or(0));
    for (index, item) in array.into_iter().enumerate() {
        items.push(decode_item::<T>(index, item.map_err(bson_damage)?)?);
    }
    match u32::try_from(count) {
        Ok(whole) if usize::try_from(whole) == Ok(items.len()) => Ok(BucketParts {
            id,
            key,
            count: whole,
            items,
        }),
        _ => Err(Damage::CountMismatch {
            count,
            items: items.len(),
        }),
    }
}

fn decode_item<T: Record>(index: usize, item: RawBsonRef<'_>) -> Result<T::Item, Damage> {
    let RawBsonRef::Document(item) = item else {
        return Err(wrong_field(
            &format!("{}.{index}", T::SPEC.items()),
            "a document",
        ));
    };
    bson::deserialize_from_slice(item.as_bytes()).map_err(|source| Damage::Item {
        index,
        source: source.into(),
    })
}

/// The number under `count`, of whatever numeric type it was stored.
pub(crate) fn stored_count(stored: &RawDocument) -> Result<i64, Damage> {
    let count = match field(stored, COUNT)? {
        Some(RawBsonRef::Int32(count)) => Some(i64::from(count)),
        Some(RawBsonRef::Int64(count)) => Some(count),
        Some(RawBsonRef::Double(count)) => whole_number(count),
        _ => None,
    };
    count.ok_or_else(|| wrong_field(COUNT, "a whole number"))
}

fn field<'a>(stored: &'a RawDocument, name: &str) -> Result<Option<RawBsonRef<'a>>, Damage> {
    stored.get(name).map_err(bson_damage)
}

fn bson_damage(source: bson::error::Error) -> Damage {
    Damage::Bson(source.into())
}

fn wrong_field(path: &str, expected: &'static str) -> Damage {
    Damage::Field {
        path: path.to_owned(),
        expected,
    }
}

/// The `_id` as it prints, for messages.
pub(crate) fn printed_id(stored: &RawDocument) -> String {
    match stored.get(ID) {
        Ok(Some(id)) => {
            bson::Bson::try_from(id).map_or_else(|_| "?".to_owned(), |id| id.to_string())
        }
        _ => "without an `_id`".to_owned(),
    }
}

/// Reads key fields off the top level of a stored bucket.
pub(crate) struct StoredKey<'a> {
    pub(crate) stored: &'a RawDocument,
    pub(crate) spec: &'static BucketSpec,
    pub(crate) next: usize,
}

impl KeySource for StoredKey<'_> {
    fn part(&mut self) -> Result<KeyValue<'_>, KeyError> {
        let Some(key) = self.spec.keys().get(self.next) else {
            return Err(KeyError::new("the model has fewer key fields"));
        };
        self.next += 1;
        match self.stored.get(key.path) {
            Ok(Some(value)) => KeyValue::from_raw(value).ok_or_else(|| {
                KeyError::new(format!(
                    "its field `{}` is of no type that a key has",
                    key.path
                ))
            }),
            _ => Err(KeyError::new(format!(
                "its field `{}` is missing",
                key.path
            ))),
        }
    }
}

/// Serialises a bucket as the stored document, so that it works with the plain driver too.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize_bucket<B: BucketDocument, S: Serializer>(
    bucket: &B,
    to: S,
) -> Result<S::Ok, S::Error> {
    let spec = B::Record::SPEC;
    let parts = bucket.as_ref();
    let key = RawWriter::build(|writer| {
        parts
            .key
            .visit(&mut crate::write::ElementSink::new(spec, writer));
    });
    let mut map = to.serialize_map(Some(3 + spec.keys().len()))?;
    map.serialize_entry(ID, parts.id.as_str())?;
    for element in &key {
        let (name, value) = element.map_err(S::Error::custom)?;
        map.serialize_entry(&name, &value)?;
    }
    // As the server counts: 32 bits where they suffice.
    match i32::try_from(parts.count) {
        Ok(count) => map.serialize_entry(COUNT, &count)?,
        Err(_) => map.serialize_entry(COUNT, &parts.count)?,
    }
    map.serialize_entry(spec.items(), parts.items)?;
    map.end()
}

/// Deserialises a stored document as a bucket.
///
/// # Errors
///
/// Those of the deserializer, and [`DamagedBucket`] as its message.
pub fn deserialize_bucket<'de, B: BucketDocument, D: Deserializer<'de>>(
    from: D,
) -> Result<B, D::Error> {
    let stored = RawDocumentBuf::deserialize(from)?;
    decode::<B::Record>(&stored).map_err(D::Error::custom)
}
