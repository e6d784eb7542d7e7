//! How full buckets are: what the server is asked for, and what its rows come to.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;
#[path = "common/sample.rs"]
mod sample;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{FillReport, Limits, Record, read::FillReader};
use common::{Reading, ReadingKey};
use sample::{Sample, SampleKey};

fn now() -> DateTime {
    DateTime::from_millis(1_700_000_000_000)
}

fn reader<const F: usize>() -> FillReader<'static, Sample<F>> {
    FillReader::new(None, now())
}

fn stages(pipeline: &[Document]) -> Vec<String> {
    let names = pipeline.iter().filter_map(|stage| stage.keys().next());
    names.cloned().collect()
}

/// The cases of the state of a bucket: what each needs, without the first one, which is damage.
fn cases(pipeline: &[Document]) -> Vec<(String, Bson)> {
    let judged = pipeline[pipeline.len() - 2]
        .get_document("$project")
        .unwrap();
    let switch = judged
        .get_document("state")
        .unwrap()
        .get_document("$switch")
        .unwrap();
    let branches = switch.get_array("branches").unwrap().iter().skip(1);
    let case = |branch: &Bson| {
        let branch = branch.as_document().unwrap();
        let then = branch.get_str("then").unwrap().to_owned();
        (then, branch.get("case").unwrap().clone())
    };
    branches.map(case).collect()
}

#[test]
fn a_read_of_all_keys_names_no_index_and_one_of_a_key_names_it_and_all_its_fields() {
    let all = FillReader::<Reading>::new(None, now()).plan();
    assert_eq!(stages(&all.pipeline), ["$project", "$project", "$group"]);
    assert_eq!((all.hint.as_str(), all.spills), ("", true));
    let key = ReadingKey {
        device: "a".into(),
        channel: "$b".into(),
    };
    let of_key = FillReader::<Reading>::of_key(&key, None, now())
        .unwrap()
        .plan();
    let filter = doc! { "$match": { "device": "a", "channel": "$b" } };
    assert_eq!(of_key.pipeline[0], filter);
    assert_eq!(of_key.pipeline[1..], all.pipeline);
    assert_eq!(of_key.hint, "bucket_pages");
}

#[test]
fn each_form_decides_what_a_full_bucket_is() {
    let full = |case: Bson| ("full".to_owned(), case);
    let over = |case: Bson| ("over".to_owned(), case);
    let is_full = Bson::from(doc! { "$eq": ["$full", true] });
    let is_over = Bson::from(doc! { "$eq": ["$over", true] });
    let has = |count: i32| Bson::from(doc! { "$gte": ["$count", count] });
    let empty = (
        "empty".to_owned(),
        Bson::from(doc! { "$eq": ["$count", 0] }),
    );
    let of = cases(&reader::<{ sample::COUNT }>().plan().pipeline);
    assert_eq!(
        of,
        [
            empty.clone(),
            full(is_full.clone()),
            full(has(4)),
            over(is_over.clone())
        ]
    );
    // Those that are full with the smaller capacity stay full.
    let of = cases(&reader::<{ sample::COUNT_RAISED }>().plan().pipeline);
    assert_eq!(
        of,
        [
            empty,
            full(is_full.clone()),
            full(has(4)),
            over(is_over.clone())
        ]
    );
    let of = cases(&reader::<{ sample::WINDOW }>().plan().pipeline);
    assert_eq!(
        of,
        [
            full(is_full.clone()),
            full(has(100_000)),
            over(is_over.clone())
        ]
    );
    // A mark says it.
    for of in [
        cases(&reader::<{ sample::HYBRID_MERGE }>().plan().pipeline),
        cases(&reader::<{ sample::NUMBERED }>().plan().pipeline),
    ] {
        assert_eq!(of, [full(is_full.clone()), over(is_over.clone())]);
    }
}

#[test]
fn only_limits_that_are_not_stored_make_the_server_send_each_bucket() {
    let limits = |_: &SampleKey| Some(Limits::new().capacity(2));
    let stages_of =
        |reader: &FillReader<'_, Sample<{ sample::WINDOW }>>| stages(&reader.plan().pipeline);
    let each = ["$project", "$project", "$project"];
    assert_eq!(stages_of(&FillReader::new(Some(&limits), now())), each);
    assert_eq!(
        stages_of(&FillReader::new(None, now())),
        ["$project", "$project", "$group"]
    );
    let numbered = FillReader::<Sample<{ sample::NUMBERED }>>::new(Some(&limits), now());
    assert_eq!(
        stages(&numbered.plan().pipeline),
        ["$project", "$project", "$group"]
    );
    let refused = FillReader::<Sample<{ sample::WINDOW }>>::of_key(
        &"a".into(),
        Some(Limits::new().capacity(0)),
        now(),
    );
    assert!(refused.is_err());
}

/// A row as the server sends it for some buckets.
fn row(state: &str, due: impl Into<Bson>, buckets: i64, count: i64) -> RawDocumentBuf {
    let used = Bson::Double(0.25);
    let row = doc! {
        "_id": { "state": state, "due": due, "by_capacity": 2, "by_records": 1, "by_bytes": 3 },
        "buckets": buckets, "count": count, "removed": 1_i64, "capacity": buckets * 4, "bytes": buckets * 1_000,
        "least": used.clone(), "most": used, "example": { "_id": "x" },
    };
    RawDocumentBuf::try_from(&row).unwrap()
}

fn report<const F: usize>(rows: &[RawDocumentBuf]) -> FillReport {
    let mut reader = reader::<F>();
    for row in rows {
        reader.take(row);
    }
    reader.finish()
}

#[test]
fn rows_are_added_up_by_their_state() {
    let rows = [
        row("open", Bson::Null, 3, 5),
        row("full", Bson::Null, 10, 41),
        row("over", Bson::Null, 1, 2),
        row("empty", Bson::Null, 7, 99),
        row("damaged", Bson::Null, 2, i64::MAX),
        row("damaged", Bson::Null, 1, -5),
    ];
    let report = report::<{ sample::WINDOW_CAPACITY }>(&rows);
    assert_eq!(
        (report.buckets, report.records, report.removed),
        (14, 45, 3)
    );
    assert_eq!((report.empty, report.damaged, report.bytes), (7, 3, 14_000));
    assert_eq!(
        (
            report.open.records,
            report.full.records,
            report.over.records
        ),
        (4, 40, 1)
    );
    assert_eq!(report.damaged_example.as_deref(), Some("\"x\""));
    let capacity = report.capacity.as_ref().unwrap();
    assert_eq!(
        (capacity.places, capacity.used, capacity.least),
        (56, 48, 0.25)
    );
    assert_eq!(report.by_records[0].buckets, 14);
    assert_eq!(report.expiry, None);
    let text = report.to_string();
    for line in [
        "45 records in 14 buckets, 13.7 KB; 3.2 records and 1000 B a bucket",
        "3 places of removed records",
        "open: 3 buckets, 4 records, 2.9 KB",
        "over: 1 buckets, 1 records, 1000 B",
        "empty: 7 buckets",
        "damaged and not counted: 3 buckets, 2.9 KB, such as \"x\"",
        "85.7 % of the capacity is used, 25.0 to 25.0 % of a bucket's",
        "             20 to 29       14  ########################################",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
}

#[test]
fn nothing_is_an_empty_report() {
    let empty = report::<{ sample::COUNT }>(&[]);
    assert_eq!(empty, FillReport::default());
    assert_eq!((empty.mean_records(), empty.mean_bytes()), (None, None));
    assert_eq!(empty.to_string(), "0 records in 0 buckets, 0 B");
}

#[test]
fn what_goes_is_listed_by_steps_that_fit_the_limit() {
    let rows = [
        row("full", -1, 1, 4),
        row("full", 0, 2, 8),
        row("full", 2, 3, 12),
        row("full", 60, 4, 16),
        row("full", "open", 5, 20),
        row("open", "hidden", 6, 24),
        row("full", "undated", 7, 28),
    ];
    let expiry = report::<{ sample::COUNT_EXPIRE }>(&rows).expiry.unwrap();
    // An hour is 60 minutes.
    assert_eq!(
        (expiry.expire_after, expiry.step, expiry.at),
        (3_600, 60, now())
    );
    let steps: Vec<_> = expiry
        .steps
        .iter()
        .map(|step| {
            (
                step.until.timestamp_millis() - now().timestamp_millis(),
                step.removed.buckets,
            )
        })
        .collect();
    assert_eq!(steps, [(60_000, 2), (120_000, 0), (180_000, 3)]);
    let rest = [
        expiry.overdue,
        expiry.later,
        expiry.open,
        expiry.hidden,
        expiry.undated,
    ];
    assert_eq!(rest.map(|of| of.buckets), [1, 4, 5, 6, 7]);
    let text = expiry.to_string();
    assert!(text.starts_with("past the limit of 3600 s: 1 buckets, 3 records, 1000 B\nuntil 20"));
    assert!(
        text.contains("\nnever, because they have no date: 7 buckets"),
        "{text}"
    );
}

#[test]
fn the_due_date_follows_the_field_from_which_the_age_counts() {
    let due = |pipeline: &[Document]| pipeline[0].get_document("$project").unwrap().to_string();
    let count = due(&reader::<{ sample::COUNT_EXPIRE }>().plan().pipeline);
    assert!(
        count.contains("$expire_from") && count.contains("\"hidden\""),
        "{count}"
    );
    let window = due(&reader::<{ sample::WINDOW_EXPIRE }>().plan().pipeline);
    assert!(window.contains("$bucket_end") && !window.contains("$expire_from"));
    assert!(!due(&reader::<{ sample::WINDOW }>().plan().pipeline).contains("due"));
}

#[test]
fn a_bucket_is_compared_with_the_capacity_of_its_key() {
    let limits = |key: &SampleKey| Some(Limits::new().capacity(if key.0 == "a" { 2 } else { 8 }));
    let mut reader = FillReader::<Sample<{ sample::WINDOW_CAPACITY }>>::new(Some(&limits), now());
    for (key, count) in [("a", 2), ("a", 1), ("b", 2), ("b", 8), ("b", 9)] {
        let mut row = Document::try_from(row("open", Bson::Null, 1, count)).unwrap();
        row.insert("key", doc! { "device": key });
        reader.take(&RawDocumentBuf::try_from(&row).unwrap());
    }
    // A key that cannot be read has the model's capacity of 4.
    let mut row = Document::try_from(row("over", Bson::Null, 1, 3)).unwrap();
    row.insert("key", doc! { "device": 5 });
    reader.take(&RawDocumentBuf::try_from(&row).unwrap());
    let report = reader.finish();
    assert_eq!(
        (
            report.full.buckets,
            report.open.buckets,
            report.over.buckets
        ),
        (3, 2, 1)
    );
    let capacity = report.capacity.unwrap();
    assert_eq!((capacity.places, capacity.used), (2 + 2 + 8 * 3 + 4, 25));
    assert_eq!((capacity.least, capacity.most), (0.25, 9.0 / 8.0));
    let of = |from| {
        let class = capacity.by_percent.iter().find(|class| class.from == from);
        class.map_or(0, |class| class.buckets)
    };
    assert_eq!([20, 50, 70, 100, 101].map(of), [1, 1, 1, 2, 1]);
    assert_eq!(
        <Sample<{ sample::WINDOW_CAPACITY }>>::SPEC.capacity(),
        Some(4)
    );
}
