//! Models of every form, and documents that keep all promises.

use bson::{Bson, DateTime, Document, doc};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", crate = ::bucket_core, $($attributes)*)]
        pub(crate) struct $name {
            #[bucket(key)]
            key: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i32,
            #[bucket(sum, avg = "avg")]
            v: f64,
        }
    )*};
}

models! {
    Counted: [capacity = 2, id = "{key}_{at:s}"];
    Aging: [capacity = 2, expire_after = "1d", max_bytes = "1KB", created_at];
    Windowed: [window = "1m", capacity = 2];
    Objects: [window = "1m", capacity = 2, object_ids];
    Hybrid: [capacity = 2, max_duration = "1m"];
    Numbered: [capacity = 2, numbered];
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "items", capacity = 2, crate = ::bucket_core)]
#[bucket(attributes(array = "state", store = "bucket"))]
pub(crate) struct Scan {
    #[bucket(key)]
    key: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume: Option<i32>,
    #[bucket(attribute(array = "specs", k = "height"))]
    height: Option<i32>,
    #[bucket(attribute(array = "state", k = "heat"))]
    heat: Option<i32>,
}

pub(crate) const MINUTE: i64 = 60_000;
pub(crate) const NOW: DateTime = DateTime::from_millis(1_000 * MINUTE);

pub(crate) fn time(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

pub(crate) fn item(at: i64, id: i32, v: f64) -> Document {
    doc! { "at": time(at), "id": id, "v": v }
}

/// What the form adds, then count, aggregates and items.
pub(crate) fn bucket(id: impl Into<Bson>, own: Document, items: &[(i64, i32, f64)]) -> Document {
    let mut bucket = doc! { "_id": id, "key": "a" };
    bucket.extend(own);
    let sum: f64 = items.iter().map(|item| item.2).sum();
    #[allow(clippy::cast_precision_loss)]
    let avg = sum / items.len() as f64;
    let items: Vec<Document> = items.iter().map(|of| item(of.0, of.1, of.2)).collect();
    let count = i32::try_from(items.len()).unwrap();
    let stats = doc! { "sum": sum, "avg": avg };
    bucket.extend(doc! { "count": count, "stats": stats, "items": items });
    bucket
}

pub(crate) fn with(mut bucket: Document, name: &str, value: impl Into<Bson>) -> Document {
    bucket.insert(name, value);
    bucket
}

pub(crate) fn with_stats(bucket: Document, sum: f64, avg: f64) -> Document {
    with(bucket, "stats", doc! { "sum": sum, "avg": avg })
}

pub(crate) fn pages() -> Vec<Document> {
    let none = Document::new();
    vec![
        bucket(
            "a_0000000001",
            none.clone(),
            &[(1_000, 1, 0.1), (2_000, 2, 0.2)],
        ),
        bucket("a_0000000003", none, &[(3_000, 3, 0.7)]),
    ]
}

pub(crate) fn aging() -> Document {
    let items = [(1_000, 1, 0.1), (2_000, 2, 0.2)];
    let bytes: i64 = items
        .iter()
        .map(|of| i64::try_from(item(of.0, of.1, of.2).to_vec().unwrap().len()).unwrap() + 8)
        .sum();
    let own = doc! { "bytes": bytes, "created_at": time(2_500), "expire_from": time(2_000) };
    bucket("a_0000000001", own, &items)
}

pub(crate) fn windows() -> Vec<Document> {
    let own = || doc! { "bucket_start": time(0), "bucket_end": time(MINUTE) };
    vec![
        bucket("a_0000000000", own(), &[(1_000, 1, 0.1), (2_000, 2, 0.2)]),
        bucket("a_0000000000_1", own(), &[(0, 3, 0.7), (59_999, 4, 0.7)]),
        bucket("a_0000000000_2", own(), &[(4_000, 5, 0.7)]),
    ]
}

pub(crate) fn hybrids() -> Vec<Document> {
    let own = |start, end, closed: bool| {
        doc! { "bucket_start": time(start), "bucket_end": time(end), "is_closed": closed }
    };
    vec![
        bucket(
            "a_0000000001000",
            own(1_000, 2_000, true),
            &[(1_000, 1, 0.1), (2_000, 2, 0.2)],
        ),
        bucket(
            "a_0000000003000",
            own(3_000, 3_000, false),
            &[(3_000, 3, 0.7)],
        ),
    ]
}

/// As the index has them: the last one first.
pub(crate) fn numbers() -> Vec<Document> {
    let own = |number: i32, full: bool| {
        doc! { "bucket_number": number, "bucket_size": 2, "is_full": full }
    };
    vec![
        bucket("a_0000000003", own(3, false), &[(4_000, 5, 0.7)]),
        bucket(
            "a_0000000002",
            own(2, true),
            &[(3_000, 3, 0.7), (3_000, 4, 0.7)],
        ),
        bucket(
            "a_0000000001",
            own(1, true),
            &[(1_000, 1, 0.1), (2_000, 2, 0.2)],
        ),
    ]
}

pub(crate) fn scan() -> Document {
    let entry = |k: &str, v: i32| doc! { "k": k, "v": v };
    let specs = vec![
        doc! { "k": "volume", "v": 5, "u": "ml" },
        entry("height", 7),
    ];
    let items = vec![
        doc! { "at": time(1_000), "specs": specs.clone() },
        doc! { "at": time(2_000), "specs": specs, "state": [entry("heat", 9)] },
    ];
    doc! { "_id": "a_0000000001", "key": "a", "state": [entry("heat", 8)], "count": 2, "items": items }
}
