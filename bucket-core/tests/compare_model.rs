//! Comparisons against a naive model: the multisets of both sides.
#![allow(clippy::unwrap_used, reason = "tests are meant to panic")]

#[path = "common/sample.rs"]
mod sample;

use std::collections::BTreeMap;

use bson::DateTime;
use bucket_core::compare::{Fingerprint, Search, Side, Tallies, document_of};
use proptest::prelude::*;

use self::sample::{COUNT, Sample};

/// Few values, so that many records are the same.
fn record() -> impl Strategy<Value = Sample<COUNT>> {
    (0..3_u8, 0..4_i64, 0..3_i64, proptest::option::of(0..2_u8)).prop_map(
        |(device, at, value, level)| Sample {
            device: device.to_string(),
            at: DateTime::from_millis(at),
            unique: 0,
            value,
            level: level.map(f64::from),
            code: String::new(),
        },
    )
}

fn key(record: &Sample<COUNT>) -> String {
    document_of(record).unwrap().to_string()
}

fn tallies(records: &[Sample<COUNT>]) -> Tallies {
    let mut tallies = Tallies::default();
    for record in records {
        tallies.add(Fingerprint::of(record).unwrap());
    }
    tallies
}

proptest! {
    #[test]
    fn what_only_one_side_has_is_found(
        source in prop::collection::vec(record(), 0..60),
        buckets in prop::collection::vec(record(), 0..60),
        shared in prop::collection::vec(record(), 0..60),
        most in prop_oneof![Just(u64::MAX), 0..20_u64],
    ) {
        let source: Vec<_> = source.iter().chain(&shared).cloned().collect();
        let buckets: Vec<_> = shared.iter().rev().chain(&buckets).cloned().collect();
        let mut counts = BTreeMap::<String, i64>::new();
        for record in &source {
            *counts.entry(key(record)).or_default() += 1;
        }
        for record in &buckets {
            *counts.entry(key(record)).or_default() -= 1;
        }
        counts.retain(|_, count| *count != 0);
        let (of_source, of_buckets) = (tallies(&source), tallies(&buckets));
        prop_assert_eq!(of_source.records(), source.len() as u64);
        let parts = of_source.differing(&of_buckets, most);
        prop_assert_eq!(of_source.differing(&of_buckets, u64::MAX).is_empty(), counts.is_empty());
        let left_out = parts.left_out();
        let mut search = Search::new(parts);
        for (side, records) in [(Side::Source, &source), (Side::Buckets, &buckets)] {
            for record in records {
                search.add(side, Fingerprint::of(record).unwrap(), || key(record));
            }
        }
        let mut found = BTreeMap::<String, i64>::new();
        for one in search.unmatched() {
            *found.entry(one.what).or_default() += if one.side == Side::Source { 1 } else { -1 };
        }
        if left_out == 0 {
            prop_assert_eq!(found, counts);
        } else {
            prop_assert!(found.iter().all(|(key, count)| counts.get(key) == Some(count)));
            prop_assert!(!found.is_empty() || most == 0);
        }
    }
}

#[test]
fn records_that_differ_in_a_bit_have_other_fingerprints() {
    let record = |value: f64, code: &str| Sample::<COUNT> {
        device: "a".to_owned(),
        at: DateTime::from_millis(0),
        unique: 0,
        value: 0,
        level: Some(value),
        code: code.to_owned(),
    };
    let nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
    let records = [
        record(0.0, ""),
        record(-0.0, ""),
        record(f64::NAN, ""),
        record(nan, ""),
        record(0.0, "a"),
    ];
    let all: std::collections::HashSet<Fingerprint> = records
        .iter()
        .map(|one| Fingerprint::of(one).unwrap())
        .collect();
    assert_eq!(all.len(), records.len());
}
