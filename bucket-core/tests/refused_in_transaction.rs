//! A statement that the server refuses in a transaction: nothing that is sent after it says why.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use bson::DateTime;
use bucket_core::{
    Record,
    write::{Batch, Call, Reason, Report, Terms},
};

use self::{
    call::{Failure, answered, run},
    collection::Collection,
    sample::{COUNT, Sample},
};

const DEVICES: usize = 3;
const RECORDS: usize = 300;

/// Records of some devices in turn, of which the server refuses one; the number of commands after the refusal.
fn store(in_transaction: bool) -> (Report<Failure>, usize) {
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    collection.refuse("value", &[4]);
    let mut batch = Batch::of::<Sample<COUNT>>();
    for index in 0..RECORDS {
        let number = i64::try_from(index).unwrap();
        let sample = Sample::<COUNT> {
            device: format!("device {}", index % DEVICES),
            at: DateTime::from_millis(number * 1_000),
            unique: number,
            value: number,
            level: None,
            code: String::new(),
        };
        batch.push(index, &sample).unwrap();
    }
    let mut terms = Terms::default();
    terms.in_session = true;
    terms.in_transaction = in_transaction;
    let (mut is_refused, mut after) = (false, 0);
    let report = run(
        Call::new(batch, terms),
        &collection,
        |_| {},
        |collection, command| {
            after += usize::from(is_refused);
            let answer = answered(collection, command);
            is_refused |= format!("{answer:?}").contains("writeErrors");
            answer
        },
    );
    (report, after)
}

#[test]
fn a_refusal_in_a_transaction_is_the_last_command_and_the_reason_of_its_records() {
    let (report, after) = store(true);
    assert_eq!(after, 0);
    assert!(matches!(report.stopped_by, Some(Reason::TransactionEnded)));
    let (mut refused, mut unsent) = (Vec::new(), 0);
    for unstored in &report.failed {
        match &unstored.reason {
            Reason::Refused { failure, .. } => {
                assert_eq!(failure.code, 121);
                refused.extend(&unstored.records);
            }
            Reason::NotSent(reason) if matches!(**reason, Reason::TransactionEnded) => {
                unsent += unstored.records.len();
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(refused.contains(&4), "{refused:?}");
    assert!(refused.len() > 1, "it is sent with others");
    // All have one key.
    assert!(refused.iter().all(|index| index % DEVICES == 4 % DEVICES));
    assert_eq!(report.stored + refused.len() + unsent, RECORDS);
    assert!(unsent > 0);
}

#[test]
fn without_a_transaction_the_others_of_the_statement_are_stored() {
    let (report, after) = store(false);
    assert!(after > 0);
    let failed = report.failed.iter().flat_map(|it| &it.records);
    assert!(failed.eq(&[4]));
    assert_eq!(report.stored, RECORDS - 1);
}
