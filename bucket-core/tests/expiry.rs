//! Retention (`expire_after`): the documents of writes and reads.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    EncodeError, Form, IntoTimeRange, Record, TimeRange, bucket,
    index::{self, Drift},
    read,
    write::Batch,
};

use self::sample::{
    COUNT, COUNT_AVG_EXPIRE, COUNT_BYTES_EXPIRE, COUNT_EXPIRE, EXPIRE_AFTER, HYBRID_EXPIRE,
    NUMBERED_EXPIRE, Sample, WINDOW_EXPIRE,
};

/// The current time of the clock.
const NOW: DateTime = DateTime::from_millis(1_700_000_000_000);
/// A minute before, and a minute ahead.
const BEFORE: DateTime = DateTime::from_millis(1_699_999_940_000);
const AHEAD: DateTime = DateTime::from_millis(1_700_000_060_000);
/// The last expired moment.
const LAST: DateTime = DateTime::from_millis(1_699_996_400_000);
const FIRST_KEPT: DateTime = DateTime::from_millis(1_699_996_400_001);

fn at<const F: usize>(at: DateTime) -> Sample<F> {
    Sample {
        device: "d".to_owned(),
        at,
        unique: 0,
        value: 1,
        level: None,
        code: String::new(),
    }
}

/// The update of the statement that opens a bucket with these records.
fn update<const F: usize>(times: &[DateTime]) -> Document {
    let mut batch = Batch::of::<Sample<F>>();
    batch.set_now(NOW);
    for (index, time) in times.iter().enumerate() {
        batch.push(index, &at::<F>(*time)).unwrap();
    }
    batch.chains_mut()[0].saw_none_open();
    let rounds = batch.rounds(None);
    let command = Document::try_from(rounds[0].command().body().to_owned()).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    if let Ok(update) = update.get_document("u") {
        return update.clone();
    }
    let stage = update.get_array("u").unwrap()[0].as_document().unwrap();
    stage.get_document("$set").unwrap().clone()
}

fn largest(update: &Document) -> DateTime {
    let largest = update.get_document("$max").unwrap();
    *largest.get_datetime("expire_from").unwrap()
}

#[test]
fn the_age_of_a_bucket_without_an_end_counts_from_its_latest_record() {
    assert_eq!(largest(&update::<COUNT_EXPIRE>(&[BEFORE])), BEFORE);
    assert_eq!(largest(&update::<COUNT_EXPIRE>(&[NOW, BEFORE])), NOW);
    assert_eq!(largest(&update::<NUMBERED_EXPIRE>(&[BEFORE])), BEFORE);
    let pipeline = update::<COUNT_AVG_EXPIRE>(&[BEFORE]);
    let expected = doc! { "$max": ["$expire_from", BEFORE] };
    assert_eq!(pipeline.get_document("expire_from").unwrap(), &expected);
    for update in [
        update::<COUNT>(&[BEFORE]),
        update::<WINDOW_EXPIRE>(&[BEFORE]),
        update::<HYBRID_EXPIRE>(&[BEFORE]),
    ] {
        assert!(!update.to_string().contains("expire_from"), "{update}");
    }
}

#[test]
fn a_record_dated_in_the_future_counts_as_current() {
    assert_eq!(largest(&update::<COUNT_EXPIRE>(&[AHEAD])), NOW);
    assert_eq!(
        largest(&update::<COUNT_EXPIRE>(&[BEFORE, DateTime::MAX])),
        NOW
    );
    assert_eq!(largest(&update::<NUMBERED_EXPIRE>(&[DateTime::MAX])), NOW);
    let pipeline = update::<COUNT_AVG_EXPIRE>(&[AHEAD]);
    let expected = doc! { "$max": ["$expire_from", NOW] };
    assert_eq!(pipeline.get_document("expire_from").unwrap(), &expected);
}

#[test]
fn a_record_is_refused_from_the_moment_reads_hide_it() {
    let mut batch = Batch::of::<Sample<WINDOW_EXPIRE>>();
    batch.set_now(NOW);
    batch.push(0, &at::<WINDOW_EXPIRE>(FIRST_KEPT)).unwrap();
    let refused = batch.push(1, &at::<WINDOW_EXPIRE>(LAST)).unwrap_err();
    assert!(
        matches!(refused, EncodeError::Expired { time, before } if (time, before) == (LAST, FIRST_KEPT)),
        "{refused}"
    );
    assert_eq!(batch.records(), 1);
    let spec = <Sample<WINDOW_EXPIRE>>::SPEC;
    assert_eq!(spec.expired_before(NOW), Some(FIRST_KEPT));
    let shown = read::live(spec, NOW).range();
    assert!(shown.contains(FIRST_KEPT) && !shown.contains(LAST));
    // Without a limit, nothing is refused.
    let mut batch = Batch::of::<Sample<COUNT>>();
    batch.set_now(NOW);
    batch.push(0, &at::<COUNT>(DateTime::MIN)).unwrap();
    assert_eq!(
        read::live(<Sample<COUNT>>::SPEC, NOW).range(),
        TimeRange::ALL
    );
    // Nor with a clock at the end of time.
    for now in [DateTime::MIN, DateTime::MAX] {
        assert!(spec.expired_before(now).is_some());
    }
}

#[test]
fn the_server_only_removes_buckets_that_accept_no_more_records() {
    let of = |spec| -> Vec<Document> {
        let plans = index::plan(spec).into_iter();
        let plans = plans.filter(|plan| plan.expire_after.is_some());
        plans.map(|plan| plan.definition()).collect()
    };
    let index = |field: &str, full: Document| {
        doc! {
            "name": "bucket_expire", "key": { field: 1 },
            "partialFilterExpression": full, "expireAfterSeconds": 3_600,
        }
    };
    assert_eq!(
        of(<Sample<COUNT_EXPIRE>>::SPEC),
        [index("expire_from", doc! { "count": { "$gte": 4 } })]
    );
    assert_eq!(
        of(<Sample<NUMBERED_EXPIRE>>::SPEC),
        [index("expire_from", doc! { "is_full": true })]
    );
    assert_eq!(
        of(<Sample<HYBRID_EXPIRE>>::SPEC),
        [index("bucket_end", doc! { "is_closed": true })]
    );
    let window =
        doc! { "name": "bucket_expire", "key": { "bucket_end": 1 }, "expireAfterSeconds": 3_600 };
    assert_eq!(of(<Sample<WINDOW_EXPIRE>>::SPEC), [window]);
    let mut by_bytes = index("expire_from", doc! { "bytes": { "$gte": 400_i64 } });
    by_bytes.insert("name", "bucket_expire_bytes");
    let by_count = index("expire_from", doc! { "count": { "$gte": 100 } });
    assert_eq!(of(<Sample<COUNT_BYTES_EXPIRE>>::SPEC), [by_count, by_bytes]);
    assert_eq!(of(<Sample<COUNT>>::SPEC), <[Document; 0]>::default());
}

#[test]
fn another_limit_is_drift_of_its_own_kind() {
    let spec = <Sample<WINDOW_EXPIRE>>::SPEC;
    let mut found: Vec<Document> = index::plan(spec)
        .iter()
        .map(index::IndexPlan::definition)
        .collect();
    let at = found
        .iter()
        .position(|index| index.get_str("name").unwrap() == "bucket_expire")
        .unwrap();
    // As the shell writes it.
    found[at].insert("expireAfterSeconds", 3_600.0);
    assert_eq!(index::compare(spec, &found), (Vec::new(), Vec::new()));
    found[at].insert("expireAfterSeconds", 60_i64);
    let is = |drift: &Drift, limits: (Option<u32>, u32)| {
        matches!(
            drift,
            Drift::Expiry { name, expected, found: Some(found), removes: None, .. }
                if name == "bucket_expire" && (*expected, *found) == limits
        )
    };
    let (_, drift) = index::compare(spec, &found);
    assert!(
        matches!(&drift[..], [drift] if is(drift, (Some(EXPIRE_AFTER), 60))),
        "{drift:?}"
    );
    let (_, of_none) = index::compare(<Sample<COUNT>>::SPEC, &found);
    assert!(
        of_none.iter().any(|drift| is(drift, (None, 60))),
        "{of_none:?}"
    );
    // An index that removes nothing, or has an unusable limit, is another index.
    found[at].insert("expireAfterSeconds", f64::NAN);
    assert!(matches!(
        &index::compare(spec, &found).1[..],
        [Drift::Index { .. }]
    ));
    found[at].remove("expireAfterSeconds");
    assert!(matches!(
        &index::compare(spec, &found).1[..],
        [Drift::Index { .. }]
    ));
}

#[test]
fn reads_request_only_unexpired_buckets() {
    let filter = |plan: read::FindPlan| Document::try_from(plan.filter).unwrap();
    let key = read::key_elements::<Sample<COUNT_EXPIRE>>(&sample::SampleKey("d".to_owned()));
    let not_due = |field: &str| doc! { "device": "d", field: { "$not": { "$lte": LAST } } };
    for (spec, field) in [
        (<Sample<COUNT_EXPIRE>>::SPEC, "expire_from"),
        (<Sample<NUMBERED_EXPIRE>>::SPEC, "expire_from"),
        (<Sample<HYBRID_EXPIRE>>::SPEC, "bucket_end"),
        (<Sample<WINDOW_EXPIRE>>::SPEC, "bucket_end"),
    ] {
        let live = read::live(spec, NOW);
        let mut shown = not_due(field);
        if let Form::Count { .. } = spec.form() {
            let empty = doc! { "count": 0, "items": { "$size": 0 } };
            shown.insert("$nor", vec![empty]);
        }
        assert_eq!(filter(live.find(read::pages(spec, &key, None))), shown);
        let count = live.page_count(spec, &doc! { "device": "d" }, None);
        assert_eq!(count.pipeline[0], doc! { "$match": not_due(field) });
    }
    let spec = <Sample<COUNT>>::SPEC;
    let plan = read::pages(spec, &key, None);
    assert_eq!(read::live(spec, NOW).find(plan.clone()), plan);
    let of_key = doc! { "device": "d" };
    let counted = read::live(spec, NOW).record_count(spec, &of_key);
    assert_eq!(counted, read::record_count(spec, &of_key));
}

fn stored(count: i32) -> Document {
    let item = |at: DateTime| doc! { "at": at, "unique": 0_i64, "value": 1_i64, "level": null, "code": "" };
    doc! {
        "_id": "d_1699996400", "device": "d", "count": count, "expire_from": NOW,
        "items": [item(LAST), item(FIRST_KEPT), item(NOW)],
    }
}

#[test]
fn a_bucket_is_read_without_its_expired_records() {
    let shown = read::live(<Sample<COUNT_EXPIRE>>::SPEC, NOW).range();
    let raw = |document: Document| RawDocumentBuf::try_from(&document).unwrap();
    let bucket = bucket::decode_within::<Sample<COUNT_EXPIRE>>(&raw(stored(3)), shown).unwrap();
    let times: Vec<DateTime> = bucket.items.iter().map(|item| item.at).collect();
    assert_eq!((bucket.count, times), (2, vec![FIRST_KEPT, NOW]));
    assert_eq!(bucket.fields.expire_from, Some(NOW));
    let all = bucket::decode::<Sample<COUNT_EXPIRE>>(&raw(stored(3))).unwrap();
    assert_eq!((all.count, all.items.len()), (3, 3));
    let none = (DateTime::MAX..).into_time_range();
    let none = bucket::decode_within::<Sample<COUNT_EXPIRE>>(&raw(stored(3)), none).unwrap();
    assert_eq!((none.count, none.items.len()), (0, 0));
}

#[test]
fn damage_is_reported_whether_hidden_or_shown() {
    let shown = read::live(<Sample<COUNT_EXPIRE>>::SPEC, NOW).range();
    let read = |document: &Document| {
        let raw = RawDocumentBuf::try_from(document).unwrap();
        match bucket::decode_within::<Sample<COUNT_EXPIRE>>(&raw, shown) {
            Ok(_) => panic!("it is damaged"),
            Err(damaged) => damaged.to_string(),
        }
    };
    assert!(read(&stored(2)).contains('3'), "{}", read(&stored(2)));
    let mut dateless = stored(3);
    let items = dateless.get_array_mut("items").unwrap();
    items[0]
        .as_document_mut()
        .unwrap()
        .insert("at", "yesterday");
    assert!(
        read(&dateless).contains("items.0.at"),
        "{}",
        read(&dateless)
    );
    let items = dateless.get_array_mut("items").unwrap();
    items[0] = 7.into();
    assert!(read(&dateless).contains("items.0"), "{}", read(&dateless));
}
