//! What a check of a whole collection finds, as `verify` does it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::cmp::Ordering;

use bson::{Bson, DateTime, Document, RawDocumentBuf};
use bucket_core::{
    Record,
    check::{Checker, Finding, Suspicion},
};

use crate::{collection::Collection, sample::Sample};

/// The findings, in the order of the walk; suspicions were looked at again.
pub fn findings<const F: usize>(collection: &Collection, now: DateTime) -> Vec<Finding> {
    let mut checker = Checker::<Sample<F>>::new(now);
    let plan = checker.plan(None);
    let mut documents = collection.documents();
    documents.sort_by(|one, other| in_order(&plan.sort, one, other));
    for document in &documents {
        checker.take(&RawDocumentBuf::try_from(document).unwrap(), |_| None);
    }
    checker.end();
    let records = documents.iter().filter_map(|it| it.get_array("items").ok());
    let records: usize = records.map(Vec::len).sum();
    assert!(checker.records() <= u64::try_from(records).unwrap());
    assert_eq!(checker.buckets(), u64::try_from(documents.len()).unwrap());
    let mut findings = checker.findings();
    for suspicion in checker.suspicions() {
        let found = collection.find(&suspicion.plan(Sample::<F>::SPEC));
        let held = suspicion.after_look::<Sample<F>>(&found, |_| None);
        findings.extend(held.map(Suspicion::into_finding));
    }
    findings
}

/// As the server orders them.
fn in_order(sort: &Document, one: &Document, other: &Document) -> Ordering {
    let fields = sort.iter().map(|(name, direction)| {
        let order = compare(one.get(name), other.get(name));
        if direction.as_i32() == Some(-1) {
            order.reverse()
        } else {
            order
        }
    });
    fields.fold(Ordering::Equal, Ordering::then)
}

fn compare(one: Option<&Bson>, other: Option<&Bson>) -> Ordering {
    let (one, other) = (one.unwrap_or(&Bson::Null), other.unwrap_or(&Bson::Null));
    rank(one)
        .cmp(&rank(other))
        .then_with(|| match (one, other) {
            (Bson::String(one), Bson::String(other)) => one.cmp(other),
            (Bson::ObjectId(one), Bson::ObjectId(other)) => one.cmp(other),
            (Bson::DateTime(one), Bson::DateTime(other)) => one.cmp(other),
            (one, other) => number(one).total_cmp(&number(other)),
        })
}

fn number(value: &Bson) -> f64 {
    match value {
        Bson::Int32(number) => f64::from(*number),
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        Bson::Int64(number) => *number as f64,
        Bson::Double(number) => *number,
        _ => 0.0,
    }
}

fn rank(value: &Bson) -> u8 {
    match value {
        Bson::MinKey => 0,
        Bson::Null | Bson::Undefined => 1,
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => 2,
        Bson::String(_) => 3,
        Bson::Document(_) => 4,
        Bson::Array(_) => 5,
        Bson::Binary(_) => 6,
        Bson::ObjectId(_) => 7,
        Bson::Boolean(_) => 8,
        Bson::DateTime(_) => 9,
        _ => 10,
    }
}
