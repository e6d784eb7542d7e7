//! Typed buckets for the plain driver: as the stored document, and back.

use bson::{Bson, RawDocumentBuf};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _,
    ser::SerializeMap,
};

use super::{
    BucketDocument, BucketFields, ElementSink, SplitItem, record::Record, shared::write_all,
    typed::decode,
};
use crate::{
    attribute::fold_item,
    codec::raw::RawWriter,
    model::{
        form::{OrderedBy, OwnField},
        key::RecordKey,
        spec::{BucketSpec, ID},
        whole,
    },
};

/// Serialises a bucket as the stored document, so that it also works with the plain driver.
///
/// # Errors
///
/// The errors of the serializer.
pub fn serialize_bucket<B: BucketDocument, S: Serializer>(
    bucket: &B,
    to: S,
) -> Result<S::Ok, S::Error> {
    let spec = B::Record::SPEC;
    let parts = bucket.as_ref();
    let key = RawWriter::build(|writer| {
        parts.key.visit(&mut ElementSink::new(spec, writer));
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
    if spec.identified_by() == OrderedBy::Start && parts.id.sequence() > 0 {
        let part = i64::try_from(parts.id.sequence()).unwrap_or(i64::MAX);
        map.serialize_entry(spec.names().part, &whole::counted(part))?;
    }
    for own in spec.own_fields() {
        if let Some(value) = parts.fields.value(own) {
            map.serialize_entry(own.name(spec.names()), &value)?;
        }
    }
    map.serialize_entry(spec.names().count, &whole::counted(i64::from(parts.count)))?;
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
        Ok(fold_item(spec.arrays(), &fields)?)
    });
    each.collect()
}

impl BucketFields {
    /// A field as stored, if the bucket has it.
    fn value(&self, own: OwnField) -> Option<Bson> {
        let whole = |number: u64| whole::counted(i64::try_from(number).unwrap_or(i64::MAX));
        Some(match own {
            OwnField::Start => self.start.into(),
            OwnField::End => self.end.into(),
            OwnField::Closed => self.is_closed.into(),
            OwnField::Late if self.is_late => true.into(),
            OwnField::Number => whole(self.number),
            OwnField::Size => whole(self.size.into()),
            OwnField::Full => self.is_full.into(),
            OwnField::Bytes => i64::try_from(self.bytes).unwrap_or(i64::MAX).into(),
            OwnField::CreatedAt => self.created_at?.into(),
            OwnField::ExpireFrom => self.expire_from?.into(),
            // They are written separately.
            OwnField::Late | OwnField::Part | OwnField::Count => return None,
        })
    }
}

/// Deserialises a stored document as a bucket.
///
/// # Errors
///
/// The errors of the deserializer, and [`DamagedBucket`](crate::DamagedBucket) as its message.
pub fn deserialize_bucket<'de, B: BucketDocument, D: Deserializer<'de>>(
    from: D,
) -> Result<B, D::Error> {
    let stored = RawDocumentBuf::deserialize(from)?;
    decode::<B::Record>(&stored).map_err(D::Error::custom)
}
