//! Typed buckets: from stored bytes to the struct that the derive makes, and back.

use bson::{Bson, DateTime, Document, RawArray, RawBsonRef, RawDocument, RawDocumentBuf};
use serde::{
    Deserialize, Deserializer, Serializer, de::Error as _, ser::Error as _, ser::SerializeMap,
};

use crate::{
    error::{Damage, DamagedBucket, KeyError},
    form::Form,
    id::{BucketId, Place, parse_place},
    key::{KeySource, KeyValue, RecordKey, whole_number},
    range::TimeRange,
    raw::RawWriter,
    record::Record,
    spec::{BucketSpec, ID},
    stats::StoredStats,
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
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: StoredStats,
    /// The items in their order of arrival.
    pub items: Vec<T::Item>,
}

/// The fields of a bucket that depend on the model's form; what a form does not have is as by
/// default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BucketFields {
    /// The start of the window, or the time of the first record.
    pub start: DateTime,
    /// The end of the window, or the time of the latest record.
    pub end: DateTime,
    /// The number of the bucket.
    pub number: u64,
    /// The capacity that the bucket was opened with.
    pub size: u32,
    /// Whether the bucket takes no more records.
    pub is_full: bool,
    /// Whether the bucket takes no more records in order.
    pub is_closed: bool,
    /// Whether the bucket holds late records.
    pub is_late: bool,
    /// The size of the items in bytes.
    pub bytes: u64,
    /// When the bucket was opened by the clock of its writer.
    pub created_at: Option<DateTime>,
    /// From when on the age of the bucket counts.
    pub expire_from: Option<DateTime>,
}

impl Default for BucketFields {
    fn default() -> Self {
        Self {
            start: DateTime::MIN,
            end: DateTime::MIN,
            number: 0,
            size: 0,
            is_full: false,
            is_closed: false,
            is_late: false,
            bytes: 0,
            created_at: None,
            expire_from: None,
        }
    }
}

impl BucketFields {
    /// The span of time from the start to the end, in milliseconds; 0 where the form sets none.
    pub(crate) fn span(&self) -> i64 {
        let (start, end) = (self.start.timestamp_millis(), self.end.timestamp_millis());
        end.saturating_sub(start)
    }
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
    /// The fields that depend on the model's form.
    pub fields: BucketFields,
    /// The aggregates.
    pub stats: &'a StoredStats,
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
    decode_within::<T>(stored, TimeRange::ALL)
}

/// Reads a stored document as a bucket with those of its items alone whose time lies in the range, and
/// the number of these as its count. Its aggregates are as stored: of all.
///
/// # Errors
///
/// As [`decode`]; items outside of the range are not looked into but for their time.
///
/// ```
/// # use bson::{DateTime, RawDocument};
/// # use bucket_core::{DamagedBucket, IntoTimeRange, Record, bucket};
/// fn since<T: Record>(stored: &RawDocument, start: DateTime) -> Result<T::Bucket, DamagedBucket> {
///     bucket::decode_within::<T>(stored, (start..).into_time_range())
/// }
/// ```
pub fn decode_within<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<T::Bucket, DamagedBucket> {
    match decode_parts::<T>(stored, range) {
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

fn decode_parts<T: Record>(
    stored: &RawDocument,
    range: TimeRange,
) -> Result<BucketParts<T>, Damage> {
    let spec = T::SPEC;
    let head = head(spec, stored)?;
    let id = match (field(stored, ID)?, spec.object_ids()) {
        (Some(RawBsonRef::ObjectId(id)), true) => BucketId::of_object(id, head.place),
        (_, true) => return Err(wrong_field(ID, "an object id")),
        (Some(RawBsonRef::String(text)), false) => {
            text.parse().map_err(|error| wrong_id(&error))?
        }
        (_, false) => return Err(wrong_field(ID, "a string")),
    };
    let key = key_of::<T>(stored)?;
    let mut inside = Vec::with_capacity(head.capacity(spec));
    let mut number = 0;
    for (index, item) in items(spec, stored)?.into_iter().enumerate() {
        let item = item.map_err(bson_damage)?;
        number = index + 1;
        if range == TimeRange::ALL || range.contains(item_time(spec, index, item)?) {
            inside.push(decode_item::<T>(index, item)?);
        }
    }
    let count = head.check_count(number)?;
    Ok(BucketParts {
        id,
        key,
        count: u32::try_from(inside.len()).unwrap_or(count),
        fields: head.fields,
        stats: StoredStats::read(spec, stored, count)?,
        items: inside,
    })
}

/// The key fields of a stored bucket.
pub(crate) fn key_of<T: Record>(stored: &RawDocument) -> Result<T::Key, Damage> {
    let mut source = StoredKey {
        stored,
        spec: T::SPEC,
        next: 0,
    };
    T::Key::read(&mut source).map_err(|error| Damage::Key {
        message: error.to_string(),
    })
}

/// What a stored bucket says of itself beside its items.
#[derive(Debug)]
pub(crate) struct Head {
    /// Where it stands among the buckets of its key.
    pub(crate) place: Place,
    pub(crate) fields: BucketFields,
    count: i64,
}

/// Reads what a bucket says of itself.
pub(crate) fn head(spec: &BucketSpec, stored: &RawDocument) -> Result<Head, Damage> {
    let fields = stored_fields(spec, stored)?;
    let place = match (field(stored, ID)?, spec.object_ids()) {
        (Some(RawBsonRef::String(text)), false) => {
            parse_place(spec, text).map_err(|error| wrong_id(&error))?
        }
        (_, true) => stored_place(spec, &fields, stored)?,
        (_, false) => return Err(wrong_field(ID, "a string")),
    };
    Ok(Head {
        place,
        fields,
        count: stored_count(spec, stored)?,
    })
}

impl Head {
    /// The number of items, as far as it can be believed.
    pub(crate) fn capacity(&self, spec: &BucketSpec) -> usize {
        usize::try_from(self.count.clamp(0, i64::from(spec.size()))).unwrap_or(0)
    }

    /// The stored count, if it is the number of items that there are.
    pub(crate) fn check_count(&self, items: usize) -> Result<u32, Damage> {
        match u32::try_from(self.count) {
            Ok(count) if usize::try_from(count) == Ok(items) => Ok(count),
            _ => Err(Damage::CountMismatch {
                count: self.count,
                items,
            }),
        }
    }
}

/// The items of a stored bucket.
pub(crate) fn items<'a>(
    spec: &BucketSpec,
    stored: &'a RawDocument,
) -> Result<&'a RawArray, Damage> {
    match field(stored, spec.items())? {
        Some(RawBsonRef::Array(array)) => Ok(array),
        _ => Err(wrong_field(spec.items(), "an array")),
    }
}

/// The time of a stored item, which is a date whatever its type in the record.
fn item_time(spec: &BucketSpec, index: usize, item: RawBsonRef<'_>) -> Result<DateTime, Damage> {
    let time = match item {
        RawBsonRef::Document(item) => field(item, spec.time().name)?,
        _ => None,
    };
    time.and_then(RawBsonRef::as_datetime).ok_or_else(|| {
        let path = format!("{}.{index}.{}", spec.items(), spec.time().name);
        wrong_field(&path, "a date")
    })
}

pub(crate) fn decode_item<T: Record>(
    index: usize,
    item: RawBsonRef<'_>,
) -> Result<T::Item, Damage> {
    let RawBsonRef::Document(item) = item else {
        return Err(wrong_field(
            &format!("{}.{index}", T::SPEC.items()),
            "a document",
        ));
    };
    crate::decode::decode(item.as_bytes()).map_err(|source| Damage::Item {
        index,
        source: source.into(),
    })
}

/// The number of items as stored, of whatever numeric type.
pub(crate) fn stored_count(spec: &BucketSpec, stored: &RawDocument) -> Result<i64, Damage> {
    whole_field(stored, spec.names().count)
}

pub(crate) fn whole_field(stored: &RawDocument, name: &str) -> Result<i64, Damage> {
    let number = match field(stored, name)? {
        Some(RawBsonRef::Int32(number)) => Some(i64::from(number)),
        Some(RawBsonRef::Int64(number)) => Some(number),
        Some(RawBsonRef::Double(number)) => whole_number(number),
        _ => None,
    };
    number.ok_or_else(|| wrong_field(name, "a whole number"))
}

pub(crate) fn date_field(stored: &RawDocument, name: &str) -> Result<DateTime, Damage> {
    match field(stored, name)? {
        Some(RawBsonRef::DateTime(date)) => Ok(date),
        _ => Err(wrong_field(name, "a date")),
    }
}

fn bool_field(stored: &RawDocument, name: &str) -> Result<bool, Damage> {
    match field(stored, name)? {
        Some(RawBsonRef::Boolean(value)) => Ok(value),
        _ => Err(wrong_field(name, "a boolean")),
    }
}

/// Where a bucket with an object id stands among the buckets of its key.
pub(crate) fn stored_place(
    spec: &BucketSpec,
    fields: &BucketFields,
    stored: &RawDocument,
) -> Result<Place, Damage> {
    if let Form::Numbered { .. } = spec.form() {
        return Ok(Place {
            time: i64::try_from(fields.number).unwrap_or(i64::MAX),
            sequence: 0,
        });
    }
    let part = match field(stored, spec.names().part)? {
        None => 0,
        Some(_) => whole_field(stored, spec.names().part)?,
    };
    Ok(Place {
        sequence: u64::try_from(part).map_err(|_| wrong_field(spec.names().part, "a number"))?,
        ..Place::at(fields.start, spec.id_unit())
    })
}

/// The fields that the model's form asks for.
pub(crate) fn stored_fields(
    spec: &BucketSpec,
    stored: &RawDocument,
) -> Result<BucketFields, Damage> {
    let names = spec.names();
    let mut fields = BucketFields::default();
    match spec.form() {
        Form::Count { .. } => {}
        Form::Window { .. } => {
            fields.start = date_field(stored, names.start)?;
            fields.end = date_field(stored, names.end)?;
        }
        Form::Hybrid { .. } => {
            fields.start = date_field(stored, names.start)?;
            fields.end = date_field(stored, names.end)?;
            fields.is_closed = bool_field(stored, names.closed)?;
            fields.is_late =
                field(stored, names.late)?.is_some_and(|late| late.as_bool() == Some(true));
        }
        Form::Numbered { .. } => {
            let positive = |name: &str| {
                let number = whole_field(stored, name)?;
                u64::try_from(number)
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or_else(|| wrong_field(name, "a positive number"))
            };
            fields.number = positive(names.number)?;
            fields.size = u32::try_from(positive(names.size)?).unwrap_or(u32::MAX);
            fields.is_full = bool_field(stored, names.full)?;
        }
    }
    // A bucket from before the model counted bytes has none.
    if spec.max_bytes().is_some() && field(stored, names.bytes)?.is_some() {
        let bytes = whole_field(stored, names.bytes)?;
        fields.bytes = u64::try_from(bytes).map_err(|_| wrong_field(names.bytes, "a size"))?;
    }
    if let Some(name) = names.created_at {
        // A bucket that was opened before the model asked for it has none.
        fields.created_at = field(stored, name)?.and_then(RawBsonRef::as_datetime);
    }
    if let Some(name) = spec.dated_by() {
        // Nor has one that was filled before the model had a limit.
        fields.expire_from = field(stored, name)?.and_then(RawBsonRef::as_datetime);
    }
    Ok(fields)
}

pub(crate) fn field<'a>(
    stored: &'a RawDocument,
    name: &str,
) -> Result<Option<RawBsonRef<'a>>, Damage> {
    stored.get(name).map_err(bson_damage)
}

pub(crate) fn bson_damage(source: bson::error::Error) -> Damage {
    Damage::Bson(source.into())
}

fn wrong_id(error: &impl ToString) -> Damage {
    Damage::Id {
        message: error.to_string(),
    }
}

pub(crate) fn wrong_field(path: &str, expected: &'static str) -> Damage {
    Damage::Field {
        path: path.to_owned(),
        expected,
    }
}

/// The `_id` as it prints, for messages.
pub(crate) fn printed_id(stored: &RawDocument) -> String {
    match stored.get(ID) {
        Ok(Some(id)) => Bson::try_from(id).map_or_else(|_| "?".to_owned(), |id| id.to_string()),
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
    map.serialize_entry(spec.items(), parts.items)?;
    map.end()
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
/// Those of the deserializer, and [`DamagedBucket`] as its message.
pub fn deserialize_bucket<'de, B: BucketDocument, D: Deserializer<'de>>(
    from: D,
) -> Result<B, D::Error> {
    let stored = RawDocumentBuf::deserialize(from)?;
    decode::<B::Record>(&stored).map_err(D::Error::custom)
}
