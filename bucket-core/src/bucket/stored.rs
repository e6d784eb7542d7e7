//! Typed buckets with the plain driver: as the stored document, and back.

use bson::{Bson, Document, RawDocumentBuf};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _,
    ser::SerializeMap,
};

use super::{BucketDocument, BucketFields, SplitItem, decode::decode, shared::write_all};
use crate::{
    attribute::fold,
    form::Form,
    key::RecordKey,
    raw::RawWriter,
    record::Record,
    spec::{BucketSpec, ID},
};

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
    let mut map = to.serialize_map(None)?;
    match parts.id.object_id() {
        Some(id) => map.serialize_entry(ID, &id)?,
        None => map.serialize_entry(ID, parts.id.as_str())?,
    }
    for element in &key {
        let (name, value) = element.map_err(S::Error::custom)?;
        map.serialize_entry(&name, &value)?;
    }
    if spec.object_ids() && parts.id.sequence() > 0 && matches!(spec.form(), Form::Window { .. }) {
        let part = i64::try_from(parts.id.sequence()).unwrap_or(i64::MAX);
        map.serialize_entry(spec.names().part, &integer(part))?;
    }
    for (name, value) in form_fields(spec, &parts.fields) {
        map.serialize_entry(&name, &value)?;
    }
    map.serialize_entry(spec.names().count, &integer(i64::from(parts.count)))?;
    for (name, value) in parts.stats.to_document(spec) {
        map.serialize_entry(&name, &value)?;
    }
    if spec.arrays().is_empty() {
        map.serialize_entry(spec.items(), parts.items)?;
        return map.end();
    }
    let items = folded(spec, parts.items).map_err(S::Error::custom)?;
    let items: Vec<SplitItem<'_>> = items
        .iter()
        .map(|item| SplitItem::new(spec, item))
        .collect();
    for element in &RawWriter::build(|writer| write_all(&items, spec.items(), writer)) {
        let (name, value) = element.map_err(S::Error::custom)?;
        map.serialize_entry(&name, &value)?;
    }
    map.end()
}

/// The items with their attributes in arrays.
fn folded<I: Serialize>(
    spec: &BucketSpec,
    items: &[I],
) -> Result<Vec<RawDocumentBuf>, Box<dyn std::error::Error>> {
    let each = items.iter().map(|item| {
        let fields = bson::serialize_to_raw_document_buf(item)?;
        Ok(fold(spec.arrays(), &fields)?)
    });
    each.collect()
}

/// The fields that the model's form asks for, as they are stored.
fn form_fields(spec: &BucketSpec, fields: &BucketFields) -> Document {
    let names = spec.names();
    let mut document = Document::new();
    match spec.form() {
        Form::Count { .. } => {}
        Form::Window { .. } => {
            document.insert(names.start, fields.start);
            document.insert(names.end, fields.end);
        }
        Form::Hybrid { .. } => {
            document.insert(names.start, fields.start);
            document.insert(names.end, fields.end);
            document.insert(names.closed, fields.is_closed);
            if fields.is_late {
                document.insert(names.late, true);
            }
        }
        Form::Numbered { .. } => {
            let number = i64::try_from(fields.number).unwrap_or(i64::MAX);
            document.insert(names.number, integer(number));
            document.insert(names.size, integer(i64::from(fields.size)));
            document.insert(names.full, fields.is_full);
        }
    }
    if spec.max_bytes().is_some() {
        let bytes = i64::try_from(fields.bytes).unwrap_or(i64::MAX);
        document.insert(names.bytes, bytes);
    }
    if let (Some(name), Some(date)) = (names.created_at, fields.created_at) {
        document.insert(name, date);
    }
    if let (Some(name), Some(date)) = (spec.dated_by(), fields.expire_from) {
        document.insert(name, date);
    }
    document
}

/// As the server counts: 32 bits where they suffice.
fn integer(value: i64) -> Bson {
    i32::try_from(value).map_or(Bson::Int64(value), Bson::Int32)
}

/// Deserialises a stored document as a bucket.
///
/// # Errors
///
/// Those of the deserializer, and [`DamagedBucket`](crate::DamagedBucket) as its message.
pub fn deserialize_bucket<'de, B: BucketDocument, D: Deserializer<'de>>(
    from: D,
) -> Result<B, D::Error> {
    let stored = RawDocumentBuf::deserialize(from)?;
    decode::<B::Record>(&stored).map_err(D::Error::custom)
}
