//! The machine of edits: what it reads and sends next.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, RawDocumentBuf, doc};
use bucket_core::{
    Which,
    edit::{Change, Edit, EditError, EditFailure, EditNext},
    read::ReadLevel,
    write::Answer,
};

use self::sample::{Sample, SampleKey};

type Identified = Sample<{ sample::COUNT_IDS }>;
type Windowed = Sample<{ sample::WINDOW_IDS }>;

fn key() -> SampleKey {
    "a".into()
}

fn level(edit: &Edit<'_, Identified>) -> Option<ReadLevel> {
    match edit.next() {
        EditNext::Read(plan) => Some(plan.level),
        _ => None,
    }
}

/// A bucket of a key, opened by another tool: it has no record.
fn empty() -> RawDocumentBuf {
    let bucket = doc! { "_id": "a_1", "device": "a", "count": 0, "items": [] };
    RawDocumentBuf::try_from(&bucket).unwrap()
}

#[test]
fn an_edit_that_finds_nothing_asks_what_a_majority_has() {
    let mut edit = Edit::<Identified>::delete(key(), &Which::id(&1_i64));
    assert_eq!(level(&edit), Some(ReadLevel::Local));
    edit.found(&[], DateTime::now());
    assert_eq!(level(&edit), Some(ReadLevel::CausalMajority));
    edit.found(&[], DateTime::now());
    assert_eq!(edit.next(), EditNext::Done);
    assert_eq!(edit.end().unwrap().records, 0);
}

#[test]
fn an_edit_in_a_transaction_or_without_a_majority_reads_once() {
    let mut edit = Edit::<Identified>::delete(key(), &Which::id(&1_i64)).weak();
    edit.found(&[], DateTime::now());
    assert_eq!(edit.next(), EditNext::Done);
    let mut edit = Edit::<Identified>::delete_key(key()).dry_run();
    edit.found(&[empty()], DateTime::now());
    assert_eq!(edit.next(), EditNext::Done);
    assert_eq!(edit.end().unwrap().buckets, 1);
}

#[test]
fn an_edit_that_others_overtake_begins_again_until_the_deadline() {
    let mut edit = Edit::<Identified>::delete_key(key());
    let overtaken = || Answer::sure(doc! { "ok": 1, "n": 0 });
    for attempt in 0..5 {
        edit.found(&[empty()], DateTime::now());
        assert!(matches!(edit.next(), EditNext::Send { statements: 1, .. }));
        edit.answered(&overtaken(), attempt == 4);
        if let EditNext::Pause { ceiling } = edit.next() {
            assert!(attempt >= 2 && ceiling > 0);
            edit.paused();
        }
    }
    let failure = edit.end().unwrap_err();
    assert!(
        matches!(failure, EditFailure::Contention { attempts: 5 }),
        "{failure:?}"
    );
}

#[test]
fn a_removal_of_a_key_counts_no_record_that_another_one_may_have_removed() {
    let items = [1, 2].map(|id| {
        doc! { "at": DateTime::from_millis(id), "unique": id, "value": 1_i64, "level": 1.0, "code": "" }
    });
    let two = doc! { "_id": "a_2", "device": "a", "count": 2, "items": items.to_vec() };
    let one = doc! { "_id": "a_1", "device": "a", "count": 1, "items": items[..1].to_vec() };
    let found = [two, one].map(|bucket| RawDocumentBuf::try_from(&bucket).unwrap());
    let removed = |made: i32| {
        let mut edit = Edit::<Identified>::delete_key(key()).weak();
        edit.found(&found, DateTime::now());
        edit.answered(&Answer::sure(doc! { "ok": 1, "n": made }), false);
        edit.found(&[], DateTime::now());
        let made = edit.end().unwrap();
        (made.records, made.buckets)
    };
    assert_eq!(removed(2), (3, 2));
    assert_eq!(removed(1), (1, 1));
    assert_eq!(removed(0), (0, 0));
}

#[test]
fn a_lost_try_leaves_the_outcome_open() {
    let mut edit = Edit::<Identified>::delete_key(key());
    edit.found(&[empty()], DateTime::now());
    let mut answer = Answer::sure(doc! { "ok": 1, "n": 0 });
    answer.repeated = true;
    edit.answered(&answer, false);
    assert!(matches!(edit.end(), Err(EditFailure::LostTry)));
}

#[test]
fn a_record_goes_to_no_other_bucket_under_another_id() {
    let times = [0, 1_000, 2_000].map(DateTime::from_millis);
    let item = doc! { "at": times[0], "unique": 1_i64, "value": 1_i64, "level": 1.0, "code": "" };
    let bucket = doc! {
        "_id": "a_0", "device": "a", "bucket_start": times[0], "bucket_end": times[1], "count": 1,
        "items": [item],
    };
    let bucket = RawDocumentBuf::try_from(&bucket).unwrap();
    for (id, is_refused) in [(1, false), (2, true)] {
        let change = Change::Update(Box::new(move |record: &mut Windowed| {
            record.at = times[2];
            record.unique = id;
        }));
        let mut edit = Edit::update(key(), &Which::id(&1_i64), None, change).may_move();
        edit.found(std::slice::from_ref(&bucket), DateTime::now());
        assert_eq!(edit.next() == EditNext::Done, is_refused);
        let id_changes = matches!(edit.end(), Err(EditFailure::Edit(EditError::Id)));
        assert_eq!(id_changes, is_refused);
    }
}
