//! Commands that the server refuses fully because of one record, and records that are removed
//! before they are sent.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;

use std::collections::BTreeSet;

use bson::doc;
use bucket_core::write::{Batch, Certainty, Need, WriteFailure};
use common::{Reading, reading};
use proptest::prelude::*;

/// Marks a command with a bad record.
const BAD: i32 = 0x5bad_beef_u32.cast_signed();

fn look(batch: &mut Batch) {
    batch.chains_mut().iter_mut().for_each(|chain| {
        if matches!(chain.need(), Need::OpenBucket | Need::NewestBucket) {
            chain.saw_none_open();
        }
    });
}

/// The result with a server that refuses every command with a bad record: what it stores, what it
/// refuses, and the number of commands.
fn send(batch: &mut Batch) -> (BTreeSet<usize>, BTreeSet<usize>, usize) {
    let (mut stored, mut failed, mut commands) = (BTreeSet::new(), BTreeSet::new(), 0);
    let failure = WriteFailure::new(15, "nested too deep".to_owned());
    loop {
        look(batch);
        let rounds = batch.rounds(None);
        if rounds.is_empty() {
            return (stored, failed, commands);
        }
        for round in &rounds {
            commands += 1;
            assert!(commands < 10_000, "it never ends");
            let bytes = round.command().body().as_bytes();
            if bytes.windows(4).any(|at| at == BAD.to_le_bytes()) {
                failed.extend(batch.refused(round, &failure));
            } else {
                let settled = batch.settle(round, &doc! { "ok": 1, "n": 1 }, Certainty::Full);
                stored.extend(settled.stored);
            }
        }
    }
}

fn batch(records: &[(u8, bool)]) -> Batch {
    let mut batch = Batch::of::<Reading>();
    for (index, (device, is_bad)) in records.iter().enumerate() {
        let millis = i64::try_from(index).unwrap();
        let value = if *is_bad { BAD } else { 1 };
        let record = reading(&format!("device {device}"), millis, value);
        batch.push(index, &record).unwrap();
    }
    batch
}

proptest! {
    #[test]
    fn only_the_record_that_a_command_is_refused_for_fails(
        records in prop::collection::vec((0..30_u8, prop::bool::weighted(0.03)), 1..200)
    ) {
        let (stored, failed, _) = send(&mut batch(&records));
        for (index, (_, is_bad)) in records.iter().enumerate() {
            prop_assert_eq!(failed.contains(&index), *is_bad, "record {}", index);
            prop_assert_eq!(stored.contains(&index), !is_bad, "record {}", index);
        }
    }

    #[test]
    fn removed_records_are_not_sent_and_all_others_are(
        records in prop::collection::vec((0..5_u8, Just(false), any::<bool>()), 1..60)
    ) {
        let kept: Vec<(u8, bool)> = records.iter().map(|(device, bad, _)| (*device, *bad)).collect();
        let mut batch = batch(&kept);
        look(&mut batch);
        let gone = batch.withdraw(|index| records[index].2);
        let expected = (0..records.len()).filter(|index| records[*index].2);
        prop_assert_eq!(gone.iter().copied().collect::<BTreeSet<_>>(), expected.collect());
        let (stored, failed, _) = send(&mut batch);
        prop_assert!(failed.is_empty());
        for (index, (_, _, is_gone)) in records.iter().enumerate() {
            prop_assert_eq!(stored.contains(&index), !is_gone, "record {}", index);
        }
        prop_assert!(batch.chains().iter().all(|chain| chain.need() == Need::Nothing));
    }
}

#[test]
fn one_bad_record_among_many_keys_takes_few_commands() {
    let mut records: Vec<(u8, bool)> = (0..240).map(|device| (device, false)).collect();
    records[100].1 = true;
    let (stored, failed, commands) = send(&mut batch(&records));
    assert_eq!((stored.len(), failed.len()), (239, 1));
    assert!(commands < 60, "{commands} commands");
}
