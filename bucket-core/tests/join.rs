//! Joined batches send what one batch of all their records would send.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/drawn.rs"]
mod drawn;
#[path = "common/sample.rs"]
mod sample;

use bson::{RawDocumentBuf, doc};
use bucket_core::{
    Record,
    write::{Answer, Batch, Cache, Call, CallEvent, Delivered, Listing, Next, Reason, Terms},
};
use proptest::prelude::*;

use self::{
    drawn::{Drawn, drawn},
    sample::{
        COUNT, COUNT_IDS, HYBRID_IDS, HYBRID_MERGE, NUMBERED, Sample, WINDOW_AVG, WINDOW_CAPACITY,
    },
};

fn batch<T: Record>(records: &[T], from: usize) -> Batch {
    let mut batch = Batch::of::<T>();
    for (index, record) in records.iter().enumerate() {
        batch.push(from + index, record).unwrap();
    }
    batch
}

/// All commands and the number of stored records, if nothing was stored before and every statement
/// is applied.
fn sent(batch: Batch) -> (Vec<RawDocumentBuf>, usize) {
    let mut bodies = Vec::new();
    let mut cache = Cache::default();
    let mut call: Call<()> = Call::new(batch, Terms::default());
    loop {
        match call.next() {
            Next::Consult => call.consult(&mut cache),
            Next::Look(_) => call.told(CallEvent::Listed(Listing::NotPermitted)),
            Next::Read(plans) => call.told(CallEvent::Found(vec![Vec::new(); plans.len()])),
            Next::Send(commands) => {
                let reply = || Answer::sure(doc! { "ok": 1, "n": 1 });
                let ended = commands.iter().map(|_| Delivered::Answer(reply()));
                call.told(CallEvent::Ended {
                    commands: ended.collect(),
                    late: false,
                });
                bodies.extend(commands.into_iter().map(|command| command.body));
            }
            Next::Pause { .. } => call.told(CallEvent::Paused),
            Next::Wait => panic!("nothing is in flight"),
            Next::Done => break,
        }
    }
    let (_, report) = call.end();
    for unstored in &report.failed {
        // Records with the id of an earlier one, but other data.
        assert!(
            matches!(unstored.reason, Reason::Conflict { .. }),
            "{unstored:?}"
        );
    }
    (bodies, report.stored)
}

fn compare<const F: usize>(parts: &[Vec<Drawn>]) -> Result<(), TestCaseError> {
    let mut all: Vec<Sample<F>> = Vec::new();
    let mut joined = Batch::of::<Sample<F>>();
    for part in parts {
        let before = all.len();
        all.extend(part.iter().map(|drawn| drawn.sample(0)));
        // Indexes may start anywhere.
        let part = batch(&all[before..], 7);
        joined.join(part, before);
    }
    let stored = all.len();
    prop_assert_eq!(joined.records(), stored);
    let (bodies, applied) = sent(joined);
    prop_assert_eq!(applied, stored);
    prop_assert_eq!((bodies, applied), sent(batch(&all, 7)));
    Ok(())
}

/// The same with record ids. Some appear twice: in one part, and in two parts.
fn compare_ids<const F: usize>(parts: &[Vec<(Drawn, u8)>]) -> Result<(), TestCaseError> {
    let mut all: Vec<Sample<F>> = Vec::new();
    let mut joined = Batch::of::<Sample<F>>();
    for part in parts {
        let before = all.len();
        all.extend(part.iter().map(|(drawn, id)| {
            Sample {
                device: drawn.device.to_string(),
                ..Drawn {
                    // Equal except for what distinguishes even from odd.
                    at: 0,
                    value: i32::from(drawn.value % 2 == 0),
                    level: None,
                    code: String::new(),
                    ..*drawn
                }
                .sample(usize::from(*id))
            }
        }));
        joined.join(batch(&all[before..], 7), before);
    }
    let one = batch(&all, 7);
    let repeats = |batch: &Batch| {
        let mut repeats = batch.own_repeats().to_vec();
        repeats.sort_by_key(|repeat| repeat.index);
        repeats
    };
    prop_assert_eq!(repeats(&joined), repeats(&one));
    let mut indexes = joined.indexes();
    indexes.sort_unstable();
    prop_assert!(indexes.into_iter().eq(7..all.len() + 7));
    let distinct = all.len() - joined.own_repeats().len();
    let (bodies, applied) = sent(joined);
    prop_assert_eq!(applied, distinct);
    prop_assert_eq!((bodies, applied), sent(one));
    Ok(())
}

proptest! {
    #[test]
    fn joined_batches_with_record_ids_set_aside_what_one_batch_would(
        parts in prop::collection::vec(prop::collection::vec((drawn(), 0..6_u8), 0..12), 0..5)
    ) {
        compare_ids::<COUNT_IDS>(&parts)?;
        compare_ids::<HYBRID_IDS>(&parts)?;
    }

    #[test]
    fn joined_batches_send_what_one_batch_of_all_records_sends(
        parts in prop::collection::vec(prop::collection::vec(drawn(), 0..12), 0..5)
    ) {
        compare::<COUNT>(&parts)?;
        compare::<WINDOW_CAPACITY>(&parts)?;
        compare::<WINDOW_AVG>(&parts)?;
        compare::<HYBRID_MERGE>(&parts)?;
        compare::<NUMBERED>(&parts)?;
    }
}
