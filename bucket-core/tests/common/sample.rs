//! One record type with every aggregate, in every form.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use bucket_core::private::bson::DateTime;
use bucket_core::{
    BucketDocument, BucketId, BucketKey, BucketSpec, Form, KeyValue, LatePolicy, Record, RecordKey,
    Window,
    aggregate::{Aggregate, AggregateKind, Input, InputSink, NonFinite},
    attribute::{ArrayPlace, AttributeArray, AttributeField, EntryNames, ValueKind},
    bucket::{BucketFields, BucketParts, BucketRef},
    key::{KeySink, KeySource},
    private::SpecParts,
    spec::{IdSegment, KeyField, Names, TimeField, TimeUnit},
    stats::StoredStats,
};
use bucket_core::{KeyError, Measure};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample<const F: usize> {
    pub device: String,
    pub at: DateTime,
    pub unique: i64,
    pub value: i64,
    pub level: Option<f64>,
    pub code: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleItem {
    pub at: DateTime,
    pub unique: i64,
    pub value: i64,
    pub level: Option<f64>,
    pub code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SampleKey(pub String);

pub struct SampleBucket<const F: usize> {
    pub id: BucketId<Sample<F>>,
    pub key: SampleKey,
    pub count: u32,
    pub fields: BucketFields,
    pub stats: StoredStats,
    pub items: Vec<SampleItem>,
}

pub const COUNT: usize = 0;
pub const WINDOW: usize = 1;
pub const WINDOW_CAPACITY: usize = 2;
pub const HYBRID_MERGE: usize = 3;
pub const HYBRID_SIDE: usize = 4;
pub const HYBRID_REJECT: usize = 5;
pub const NUMBERED: usize = 6;
pub const WINDOW_BYTES: usize = 7;
pub const HYBRID_BYTES: usize = 8;
pub const NUMBERED_BYTES: usize = 9;
pub const COUNT_BYTES: usize = 10;

/// With stored averages.
pub const COUNT_AVG: usize = 11;
pub const WINDOW_AVG: usize = 12;
pub const HYBRID_AVG: usize = 13;
pub const NUMBERED_AVG: usize = 14;
/// With ids that the server makes.
pub const WINDOW_OBJECT: usize = 15;
pub const NUMBERED_OBJECT: usize = 16;
/// After the capacity was raised.
pub const COUNT_RAISED: usize = 17;
/// With record ids.
pub const COUNT_IDS: usize = 18;
pub const WINDOW_IDS: usize = 19;
pub const WINDOW_BYTES_IDS: usize = 20;
pub const HYBRID_IDS: usize = 21;
pub const NUMBERED_IDS: usize = 22;
/// With a limit.
pub const COUNT_EXPIRE: usize = 23;
pub const WINDOW_EXPIRE: usize = 24;
pub const HYBRID_EXPIRE: usize = 25;
pub const NUMBERED_EXPIRE: usize = 26;
pub const COUNT_AVG_EXPIRE: usize = 27;
pub const COUNT_BYTES_EXPIRE: usize = 28;
/// With record ids and attributes: one array in each item, and one that a bucket holds for its items.
pub const COUNT_ATTRIBUTES: usize = 29;
pub const WINDOW_ATTRIBUTES: usize = 30;
pub const HYBRID_ATTRIBUTES: usize = 31;
pub const NUMBERED_ATTRIBUTES: usize = 32;

/// With sealed buckets that are merged.
pub const WINDOW_MERGED: usize = 33;
pub const WINDOW_BYTES_MERGED: usize = 34;
/// With statistics that are kept for longer than records.
pub const WINDOW_KEPT_MERGED: usize = 35;

/// In parts, which take no more records than they were opened with.
pub const PARTS: usize = 36;
pub const PARTS_IDS: usize = 37;
/// Opened by upserts.
pub const PARTS_OBJECT: usize = 38;
pub const PARTS_MERGED: usize = 39;
/// Hybrid ones, with sealed buckets that are merged.
pub const HYBRID_MERGED: usize = 40;
/// With ids of whole seconds.
pub const HYBRID_SECONDS_MERGED: usize = 41;
pub const HYBRID_KEPT_MERGED: usize = 42;

/// The limit, in seconds.
pub const EXPIRE_AFTER: u32 = 3_600;

pub const RAISED: u32 = 9;

pub const CAPACITY: u32 = 4;
pub const DURATION: i64 = 1_000;
pub const MAX_BYTES: u32 = 400;

/// The aggregates by their index.
pub mod at {
    pub const MIN: usize = 0;
    pub const MAX: usize = 1;
    pub const SUM: usize = 2;
    pub const LEVEL_SUM: usize = 3;
    pub const LEVEL_COUNT: usize = 4;
    pub const SQUARES: usize = 5;
    pub const ODD: usize = 6;
    pub const CODES: usize = 7;
    pub const FIRST: usize = 8;
    pub const LAST: usize = 9;
    pub const FIRST_TIME: usize = 10;
    pub const LAST_TIME: usize = 11;
    pub const SKETCH: usize = 12;
    pub const AVG: usize = 13;
    pub const LEVEL_AVG: usize = 14;
}

const fn aggregate(path: &'static str, kind: AggregateKind, input: usize) -> Aggregate {
    Aggregate { path, kind, input }
}

const AGGREGATES: &[Aggregate] = &[
    aggregate("stats.min", AggregateKind::Min, 0),
    aggregate("stats.max", AggregateKind::Max, 0),
    aggregate("stats.sum", AggregateKind::Sum, 0),
    aggregate("stats.level_sum", AggregateKind::Sum, 1),
    aggregate("stats.level_count", AggregateKind::Count, 1),
    aggregate("stats.squares", AggregateKind::SumOfSquares, 0),
    aggregate("stats.odd", AggregateKind::CountIf, 2),
    aggregate("stats.codes", AggregateKind::Tally, 3),
    aggregate("stats.first", AggregateKind::First, 0),
    aggregate("stats.last", AggregateKind::Last, 0),
    aggregate("first_at", AggregateKind::FirstTime, 0),
    aggregate("last_at", AggregateKind::LastTime, 0),
    aggregate(
        "stats.p",
        AggregateKind::Percentiles { error_ppm: 10_000 },
        0,
    ),
];

const AVERAGED: &[Aggregate] = &{
    let mut all = [AGGREGATES[0]; 15];
    let mut index = 0;
    while index < AGGREGATES.len() {
        all[index] = AGGREGATES[index];
        index += 1;
    }
    let avg = AggregateKind::Avg {
        sum: at::SUM,
        count: None,
    };
    all[at::AVG] = aggregate("stats.avg", avg, 0);
    let avg = AggregateKind::Avg {
        sum: at::LEVEL_SUM,
        count: Some(at::LEVEL_COUNT),
    };
    all[at::LEVEL_AVG] = aggregate("stats.level_avg", avg, 1);
    all
};

const fn input(field: &'static str, non_finite: NonFinite) -> Input {
    Input {
        field,
        name: field,
        non_finite,
        optional: matches!(non_finite, NonFinite::Skip),
    }
}

const INPUTS: &[Input] = &[
    input("value", NonFinite::Reject),
    input("level", NonFinite::Skip),
    input("value", NonFinite::Reject),
    input("code", NonFinite::Reject),
];

const fn spec(form: Form, max_bytes: Option<u32>) -> BucketSpec {
    spec_of(form, max_bytes, AGGREGATES, false)
}

/// With record ids.
const fn with_ids(form: Form, max_bytes: Option<u32>) -> BucketSpec {
    let aggregates = AGGREGATES;
    let parts = parts_of(form, max_bytes, aggregates, false);
    BucketSpec::__new(SpecParts {
        unique: Some("unique"),
        ..parts
    })
}

const fn attribute(name: &'static str, kind: ValueKind) -> AttributeField {
    AttributeField {
        name,
        k: name,
        u: None,
        kind,
        text: false,
        null: false,
    }
}

/// The array of attributes in each item.
pub const TAGS: AttributeArray = AttributeArray::new(
    "tags",
    EntryNames::KVU,
    &[attribute("code", ValueKind::String)],
    None,
)
.at(ArrayPlace::Items("items"));

/// The array of attributes that a bucket holds for its items.
pub const STATE: AttributeArray = AttributeArray::new(
    "state",
    EntryNames::KVU,
    &[attribute("level", ValueKind::Double)],
    None,
)
.at(ArrayPlace::Bucket("items"));

/// With record ids and attributes.
const fn with_attributes(form: Form, aggregates: &'static [Aggregate]) -> BucketSpec {
    let parts = parts_of(form, None, aggregates, false);
    BucketSpec::__new(SpecParts {
        unique: Some("unique"),
        arrays: &[TAGS, STATE],
        ..parts
    })
}

/// With sealed buckets that are merged.
const fn merged(
    form: Form,
    max_bytes: Option<u32>,
    aggregates: &'static [Aggregate],
) -> BucketSpec {
    BucketSpec::__new(SpecParts {
        seal_after: Some(1),
        merge: Some(Window::Seconds(3)),
        ..parts_of(form, max_bytes, aggregates, false)
    })
}

/// The same with ids of whole seconds.
const fn merged_by_seconds(form: Form, max_bytes: Option<u32>) -> BucketSpec {
    BucketSpec::__new(SpecParts {
        seal_after: Some(1),
        merge: Some(Window::Seconds(3)),
        id: &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Time(TimeUnit::Seconds),
        ],
        ..parts_of(form, max_bytes, AGGREGATES, false)
    })
}

/// With sealed buckets that are merged, and statistics that are kept for longer than records.
const fn kept(form: Form) -> BucketSpec {
    BucketSpec::__new(SpecParts {
        seal_after: Some(1),
        merge: Some(Window::Seconds(3)),
        expire_after: Some(EXPIRE_AFTER),
        keep_stats: Some(100 * EXPIRE_AFTER),
        ..parts_of(form, None, AVERAGED, false)
    })
}

/// With a limit.
const fn expiring(
    form: Form,
    max_bytes: Option<u32>,
    aggregates: &'static [Aggregate],
) -> BucketSpec {
    BucketSpec::__new(SpecParts {
        expire_after: Some(EXPIRE_AFTER),
        ..parts_of(form, max_bytes, aggregates, false)
    })
}

const fn spec_of(
    form: Form,
    max_bytes: Option<u32>,
    aggregates: &'static [Aggregate],
    object_ids: bool,
) -> BucketSpec {
    BucketSpec::__new(parts_of(form, max_bytes, aggregates, object_ids))
}

const fn parts_of(
    form: Form,
    max_bytes: Option<u32>,
    aggregates: &'static [Aggregate],
    object_ids: bool,
) -> SpecParts {
    let last = match form {
        Form::Numbered { .. } => IdSegment::Number,
        Form::Hybrid { .. } => IdSegment::Time(TimeUnit::Millis),
        _ => IdSegment::Time(TimeUnit::Seconds),
    };
    let id: &'static [IdSegment] = match last {
        IdSegment::Number => &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Number,
        ],
        IdSegment::Time(TimeUnit::Millis) => &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Time(TimeUnit::Millis),
        ],
        _ => &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Time(TimeUnit::Seconds),
        ],
    };
    SpecParts {
        record: "Sample",
        collection: "samples",
        items: "items",
        form,
        id,
        keys: &[KeyField {
            field: "device",
            path: "device",
        }],
        time: TimeField {
            field: "at",
            name: "at",
        },
        names: Names {
            created_at: Some("created_at"),
            ..Names::DEFAULT
        },
        max_bytes,
        raised_from: if object_ids || max_bytes.is_some() {
            None
        } else {
            raised_from(form)
        },
        expire_after: None,
        keep_stats: None,
        seal_after: None,
        merge: None,
        merge_stats: None,
        object_ids,
        compression: None,
        inputs: INPUTS,
        aggregates,
        unique: None,
        arrays: &[],
        fields: &[],
    }
}

const fn raised_from(form: Form) -> Option<u32> {
    match form {
        Form::Count { capacity: RAISED } => Some(CAPACITY),
        _ => None,
    }
}

const fn hybrid(late: LatePolicy) -> Form {
    Form::Hybrid {
        capacity: CAPACITY,
        max_duration: DURATION,
        late,
    }
}

const WINDOW_OF_ONE: Window = Window::Seconds(1);

const IN_PARTS: Form = Form::Window {
    window: WINDOW_OF_ONE,
    capacity: Some(CAPACITY),
    parts: true,
};

static SPECS: [BucketSpec; 43] = [
    spec(Form::Count { capacity: CAPACITY }, None),
    spec(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: None,
            parts: false,
        },
        None,
    ),
    spec(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        None,
    ),
    spec(hybrid(LatePolicy::Merge), None),
    spec(hybrid(LatePolicy::Side), None),
    spec(hybrid(LatePolicy::Reject), None),
    spec(Form::Numbered { capacity: CAPACITY }, None),
    spec(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: None,
            parts: false,
        },
        Some(MAX_BYTES),
    ),
    spec(hybrid(LatePolicy::Merge), Some(MAX_BYTES)),
    spec(Form::Numbered { capacity: 100 }, Some(MAX_BYTES)),
    spec(Form::Count { capacity: 100 }, Some(MAX_BYTES)),
    spec_of(Form::Count { capacity: CAPACITY }, None, AVERAGED, false),
    spec_of(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        None,
        AVERAGED,
        false,
    ),
    spec_of(hybrid(LatePolicy::Side), Some(MAX_BYTES), AVERAGED, false),
    spec_of(Form::Numbered { capacity: CAPACITY }, None, AVERAGED, false),
    spec_of(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: None,
            parts: false,
        },
        Some(MAX_BYTES),
        AGGREGATES,
        true,
    ),
    spec_of(
        Form::Numbered { capacity: CAPACITY },
        None,
        AGGREGATES,
        true,
    ),
    spec(Form::Count { capacity: RAISED }, None),
    with_ids(Form::Count { capacity: CAPACITY }, None),
    with_ids(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        None,
    ),
    with_ids(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: None,
            parts: false,
        },
        Some(MAX_BYTES),
    ),
    with_ids(hybrid(LatePolicy::Merge), None),
    with_ids(Form::Numbered { capacity: CAPACITY }, None),
    expiring(Form::Count { capacity: CAPACITY }, None, AGGREGATES),
    expiring(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        None,
        AGGREGATES,
    ),
    expiring(hybrid(LatePolicy::Merge), None, AGGREGATES),
    expiring(Form::Numbered { capacity: CAPACITY }, None, AGGREGATES),
    expiring(Form::Count { capacity: CAPACITY }, None, AVERAGED),
    expiring(Form::Count { capacity: 100 }, Some(MAX_BYTES), AGGREGATES),
    with_attributes(Form::Count { capacity: CAPACITY }, AVERAGED),
    with_attributes(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        AGGREGATES,
    ),
    with_attributes(hybrid(LatePolicy::Side), AGGREGATES),
    with_attributes(Form::Numbered { capacity: CAPACITY }, AGGREGATES),
    merged(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: Some(CAPACITY),
            parts: false,
        },
        None,
        AVERAGED,
    ),
    merged(
        Form::Window {
            window: WINDOW_OF_ONE,
            capacity: None,
            parts: false,
        },
        Some(MAX_BYTES),
        AGGREGATES,
    ),
    kept(Form::Window {
        window: WINDOW_OF_ONE,
        capacity: Some(CAPACITY),
        parts: false,
    }),
    spec(IN_PARTS, None),
    with_ids(IN_PARTS, None),
    spec_of(IN_PARTS, Some(MAX_BYTES), AVERAGED, true),
    merged(IN_PARTS, None, AVERAGED),
    merged(hybrid(LatePolicy::Merge), None, AVERAGED),
    merged_by_seconds(hybrid(LatePolicy::Side), Some(MAX_BYTES)),
    kept(hybrid(LatePolicy::Side)),
];

impl From<&str> for SampleKey {
    fn from(device: &str) -> Self {
        Self(device.to_owned())
    }
}

impl RecordKey for SampleKey {
    fn visit(&self, sink: &mut dyn KeySink) {
        sink.part(KeyValue::String(&self.0));
    }

    fn read(source: &mut dyn KeySource) -> Result<Self, KeyError> {
        String::from_key(source.part()?).map(Self)
    }
}

impl<const F: usize> Record for Sample<F> {
    const SPEC: &'static BucketSpec = &SPECS[F];
    type Key = SampleKey;
    type Item = SampleItem;
    type Bucket = SampleBucket<F>;
    type Stats = StoredStats;
    const __DERIVED: bucket_core::__private::Derived = bucket_core::__private::Derived;

    fn visit_key(&self, sink: &mut dyn KeySink) {
        sink.part(KeyValue::String(&self.device));
    }

    fn key(&self) -> SampleKey {
        SampleKey(self.device.clone())
    }

    fn time(&self) -> DateTime {
        self.at
    }

    fn visit_inputs(&self, sink: &mut dyn InputSink) {
        sink.number(self.value.to_number());
        sink.number(self.level.to_number());
        sink.flag(self.value % 2 != 0);
        sink.tally(self.code.to_key());
    }

    fn assemble(key: SampleKey, item: SampleItem) -> Self {
        Self {
            device: key.0,
            at: item.at,
            unique: item.unique,
            value: item.value,
            level: item.level,
            code: item.code,
        }
    }
}

impl<const F: usize> BucketDocument for SampleBucket<F> {
    type Record = Sample<F>;

    fn from_parts(parts: BucketParts<Sample<F>>) -> Self {
        Self {
            id: parts.id,
            key: parts.key,
            count: parts.count,
            fields: parts.fields,
            stats: parts.stats,
            items: parts.items,
        }
    }

    fn into_parts(self) -> BucketParts<Sample<F>> {
        BucketParts {
            id: self.id,
            key: self.key,
            count: self.count,
            fields: self.fields,
            stats: self.stats,
            items: self.items,
        }
    }

    fn as_ref(&self) -> BucketRef<'_, Sample<F>> {
        BucketRef {
            id: &self.id,
            key: self.key.clone(),
            count: self.count,
            fields: self.fields,
            stats: &self.stats,
            items: &self.items,
        }
    }
}
