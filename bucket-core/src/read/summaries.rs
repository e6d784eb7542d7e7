//! How much is stored of each of some keys, and from when to when.
//!
//! The server reads every bucket of the keys and sends one document for each key.

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::{
    AggregatePlan, Live, ReadKey, aggregate, any_key, cut::OF_SUMMARY as CUT, has_records,
    keys::of_key, latest::key_fields, live::dates,
};
use crate::{
    bucket::{
        self,
        edits::{left, removed},
        packed::Shown,
        record::Record,
        sealed,
    },
    codec::raw::printed_id,
    error::{Damage, DamagedBucket},
    model::{
        spec::{BucketSpec, ID},
        whole,
    },
};

/// Fields of the stages and of the result.
const KEY: &str = "key";
const COUNT: &str = "count";
const LENGTH: &str = "length";
const REMOVED: &str = "removed";
const TIMES: &str = "times";
/// The first and the last time of a sealed bucket.
const ENDS: &str = "ends";
const SHOWN: &str = "shown";
const WHOLE: &str = "whole";
const BUCKETS: &str = "buckets";
const RECORDS: &str = "records";
const FIRST: &str = "first";
const LAST: &str = "last";
const DAMAGED: &str = "damaged";

/// What is shown of these keys: a document for each of them that has buckets, and one for each sealed bucket of which
/// only a part is shown. Those with the same [`summarised_key`] are for [`read_summary`].
#[must_use]
pub fn summaries(spec: &BucketSpec, live: &Live, keys: &[ReadKey]) -> AggregatePlan {
    let keys: Vec<&[u8]> = keys.iter().map(ReadKey::elements).collect();
    let mut condition = live.condition().clone();
    condition.extend(has_records(spec));
    // Plans of this crate are valid BSON.
    let filter = Document::try_from(any_key(spec, &keys, &condition)).unwrap_or_default();
    aggregate(
        spec,
        vec![
            doc! { "$match": filter },
            doc! { "$project": arrays(spec, live) },
            doc! { "$project": checked(live) },
            doc! { "$group": totals(live) },
        ],
    )
}

/// Of each bucket: its key, its count, the length of its array, and the times of its items. The
/// expressions never fail on the server, whatever is stored.
fn arrays(spec: &BucketSpec, live: &Live) -> Document {
    let items = format!("${}", spec.items());
    let times = doc! { "$map": {
        "input": left(&*items), "in": format!("$$this.{}", spec.time().name),
    } };
    let of_array =
        |value: Bson, other: Bson| doc! { "$cond": [{ "$isArray": &items }, value, other] };
    let cut = match live.range().start() {
        None => Bson::from("$$REMOVE"),
        Some(first) => doc! { "$cond": [sealed::is_cut(spec, first), &items, "$$REMOVE"] }.into(),
    };
    let ends = [sealed::FIRST, sealed::LAST].map(|name| format!("${}.{name}", sealed::SEALED));
    doc! {
        KEY: key_fields(spec),
        COUNT: format!("${}", spec.names().count),
        LENGTH: of_array(doc! { "$size": &items }.into(), Bson::Int32(-1)),
        REMOVED: removed(),
        TIMES: of_array(times.into(), Bson::Array(Vec::new())),
        ENDS: { "$cond": [sealed::is_packed(spec), Bson::from(ends.to_vec()), "$$REMOVE"] },
        CUT: cut,
    }
}

/// Of each bucket: whether it is a bucket as far as this read can see, and the times that are shown.
fn checked(live: &Live) -> Document {
    let (count, length, times) = (
        format!("${COUNT}"),
        format!("${LENGTH}"),
        format!("${TIMES}"),
    );
    let whole = doc! { "$and": [
        { "$isNumber": &count },
        { "$gt": [&count, 0] },
        { "$eq": [&count, &length] },
        { "$eq": [{ "$add": [dates(&times), format!("${REMOVED}")] }, &length] },
    ] };
    let of_rows = match live.range().start() {
        None => Bson::String(times),
        Some(first) => {
            let is_shown = doc! { "$gte": ["$$this", first] };
            doc! { "$filter": { "input": times, "cond": is_shown } }.into()
        }
    };
    let (ends, is_sealed) = (format!("${ENDS}"), doc! { "$isArray": format!("${ENDS}") });
    let of_sealed = [
        doc! { "$eq": [dates(&ends), 2] },
        doc! { "$gt": [&count, 0] },
    ];
    // How many records of it are past the limit, only its items say.
    let is_cut = sealed::has(CUT);
    let number = doc! { "$cond": [{ "$isNumber": &count }, &count, 0] };
    let left = doc! { "$subtract": [number, format!("${REMOVED}")] };
    let rows = doc! { "$size": &of_rows };
    doc! {
        KEY: 1,
        CUT: 1,
        WHOLE: { "$cond": [&is_sealed, { "$and": of_sealed.to_vec() }, whole] },
        RECORDS: { "$cond": [&is_cut, 0, { "$cond": [&is_sealed, left, rows] }] },
        SHOWN: { "$cond": [is_cut, [], { "$cond": [is_sealed, ends, of_rows] }] },
    }
}

fn totals(live: &Live) -> Document {
    let (whole, shown) = (format!("${WHOLE}"), format!("${SHOWN}"));
    let mut id = doc! { KEY: format!("${KEY}") };
    if live.range().start().is_some() {
        // Packed items in a result of their own: together they may be larger than a document.
        id.insert(
            CUT,
            doc! { "$cond": [sealed::has(CUT), format!("${ID}"), "$$REMOVE"] },
        );
    }
    doc! {
        "_id": id,
        BUCKETS: { "$sum": 1_i64 },
        RECORDS: { "$sum": long(format!("${RECORDS}")) },
        FIRST: { "$min": { "$min": &shown } },
        LAST: { "$max": { "$max": &shown } },
        CUT: { "$push": format!("${CUT}") },
        // One of them suffices.
        DAMAGED: { "$min": { "$cond": [whole, "$$REMOVE", { "_id": format!("${ID}") }] } },
    }
}

fn long(number: String) -> Document {
    doc! { "$convert": { "input": number, "to": "long", "onError": 0_i64, "onNull": 0_i64 } }
}

/// What is stored of a key.
///
/// ```
/// # use bucket_core::KeySummary;
/// fn mean_fill<K>(of: &KeySummary<K>) -> Option<u64> {
///     of.records.checked_div(of.buckets)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeySummary<K> {
    /// The key.
    pub key: K,
    /// The number of its buckets.
    pub buckets: u64,
    /// The number of its records.
    pub records: u64,
    /// The time of its first record.
    pub first: DateTime,
    /// The time of its last record.
    pub last: DateTime,
}

/// The key of a result of [`summaries`], as BSON.
#[must_use]
pub fn summarised_key(found: &RawDocument) -> Option<&[u8]> {
    let id = found.get_document(ID).ok()?;
    id.get_document(KEY).ok().map(RawDocument::as_bytes)
}

/// Reads the results of [`summaries`] for one key. `None` if no record of it is shown.
///
/// # Errors
///
/// [`DamagedBucket`] if a bucket of the key is damaged.
pub fn read_summary<T: Record>(
    found: &[RawDocumentBuf],
    live: &Live,
) -> Result<Option<KeySummary<T::Key>>, DamagedBucket> {
    let mut shown = Shown::default();
    let (mut key, mut buckets, mut records) = (None, 0, 0);
    for found in found {
        if let Ok(damaged) = found.get_document(DAMAGED) {
            let damage = Damage::Field {
                path: T::SPEC.items().to_owned(),
                expected: "an array with as many items as the count says, each with a date",
            };
            return Err(DamagedBucket::new(printed_id(damaged), damage));
        }
        let unreadable = |damage| DamagedBucket::new(printed_id(found), damage);
        let field = |path: &str, expected| {
            let path = path.to_owned();
            unreadable(Damage::Field { path, expected })
        };
        if key.is_none() {
            let id = found.get_document(ID).and_then(|id| id.get_document(KEY));
            let of = id.map_err(|_| field(ID, "a document"))?;
            key = Some(bucket::key_of::<T>(of).map_err(|damage| of_key(of, damage))?);
        }
        let number = |name| {
            let number = found.get(name).ok().flatten().and_then(whole::of_raw);
            let number = number.and_then(|number| u64::try_from(number).ok());
            number.ok_or_else(|| field(name, "a number"))
        };
        buckets += number(BUCKETS)?;
        records += number(RECORDS)?;
        for end in [FIRST, LAST] {
            if let Ok(end) = found.get_datetime(end) {
                shown.reach(end);
            }
        }
        if let (Ok(packed), Some(limit)) = (found.get_array(CUT), live.range().start()) {
            for packed in packed.into_iter().flatten() {
                if let RawBsonRef::Binary(packed) = packed {
                    let added = shown.add(T::SPEC, packed.bytes, limit);
                    added.map_err(unreadable)?;
                }
            }
        }
    }
    let (Some(key), Some((first, last))) = (key, shown.ends) else {
        return Ok(None);
    };
    Ok(Some(KeySummary {
        key,
        buckets,
        records: records + shown.records,
        first,
        last,
    }))
}
