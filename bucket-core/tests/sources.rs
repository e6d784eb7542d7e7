//! Records of a source that cannot all be stored, and what one batch leaves for the next. No
//! position skips a record that is not stored, and only the server can confirm that one is stored.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, Document};
use bucket_core::{
    EncodeError, Record,
    write::{Batch, Certainty, Chain, HeldBack, Need, Source},
};
use collection::Collection;
use sample::{COUNT, NUMBERED, NUMBERED_IDS, NUMBERED_OBJECT, Sample, WINDOW_CAPACITY};

/// A value that no sum can include.
const BAD: i64 = i64::MAX;

/// The record at this position. Device and second decide its bucket.
fn record<const F: usize>(device: &str, position: i64, value: i64) -> Sample<F> {
    Sample {
        device: device.to_owned(),
        at: DateTime::from_millis(position),
        unique: position,
        value,
        level: None,
        code: String::new(),
    }
}

fn batch<const F: usize>() -> Batch {
    let mut batch = Batch::of::<Sample<F>>();
    batch.set_source(Source::new(Sample::<F>::SPEC, "s").unwrap());
    batch
}

fn push<const F: usize>(batch: &mut Batch, record: &Sample<F>) -> Result<(), EncodeError> {
    batch.set_position(record.unique);
    batch.push(usize::try_from(record.unique).unwrap(), record)
}

/// Records of key `a` from one position to before another.
fn positions<const F: usize>(from: i64, to: i64) -> Batch {
    let mut batch = batch::<F>();
    for position in from..to {
        push(&mut batch, &record::<F>("a", position, position)).unwrap();
    }
    batch
}

#[derive(Debug, Default)]
struct Delivered {
    stored: Vec<usize>,
    duplicates: Vec<usize>,
    failed: Vec<usize>,
    unknown: Vec<usize>,
    held: Vec<HeldBack>,
}

impl Delivered {
    fn held(&self) -> Vec<usize> {
        self.held.iter().map(|held| held.index).collect()
    }
}

/// What a server and a network do to the statements of a batch.
#[derive(Default)]
struct World {
    /// A validator refuses the records of these positions.
    refused: Vec<i64>,
    /// The reply to the command with this value is lost.
    lost: Option<i64>,
}

impl World {
    fn deliver(&self, batch: &mut Batch, collection: &Collection) -> Delivered {
        collection.refuse("unique", &self.refused);
        let mut delivered = Delivered::default();
        for _ in 0..1_000 {
            learn(batch, collection, &mut delivered);
            let rounds = batch.rounds(None);
            if batch.chains().iter().any(is_patient) {
                batch.waited();
                continue;
            }
            if rounds.is_empty() {
                delivered.held.extend(batch.take_held_back());
                delivered.stored.sort_unstable();
                return delivered;
            }
            for round in rounds {
                let body = round.command().body();
                let brings = |position: i64| {
                    let body = Document::try_from(body.to_owned()).unwrap();
                    format!("{body:?}").contains(&format!("\"unique\": Int64({position})"))
                };
                if self.lost.is_some_and(brings) {
                    delivered.unknown.extend(batch.abandon(&round));
                    continue;
                }
                let reply = collection.run(body);
                let settled = batch.settle(&round, &reply, Certainty::Full);
                delivered.stored.extend(settled.stored);
                let failed = settled.failed.iter().map(|failed| failed.index);
                delivered.failed.extend(failed);
            }
        }
        panic!("a writer does not end");
    }
}

fn is_patient(chain: &Chain) -> bool {
    chain.need() == Need::Patience
}

fn learn(batch: &mut Batch, collection: &Collection, delivered: &mut Delivered) {
    for at in 0..batch.chains().len() {
        loop {
            let chain = &mut batch.chains_mut()[at];
            match chain.need() {
                Need::Confirmation => {
                    let found = collection.find(&batch.remembered(&[at]));
                    let stored = batch.saw_remembered(&[at], &found);
                    delivered.duplicates.extend(stored);
                }
                need @ (Need::OpenBucket | Need::NewestBucket) => {
                    let open = collection.find(&chain.open_bucket());
                    let newest = match need {
                        Need::NewestBucket => collection.find(&chain.newest_bucket()),
                        _ => Vec::new(),
                    };
                    match (open.first(), newest.first()) {
                        (Some(open), _) => chain.saw(open).unwrap(),
                        (None, Some(newest)) => chain.saw_newest(newest).unwrap(),
                        (None, None) => chain.saw_none_open(),
                    }
                }
                Need::Watermark => {
                    let found = collection.find(&chain.watermark());
                    let found = found.first().map(|bucket| &**bucket);
                    delivered.duplicates.extend(chain.saw_watermark(found));
                }
                Need::Repeats => {
                    let plans = batch.repeats(at).into_iter();
                    let found: Vec<_> = plans.flat_map(|plan| collection.find(&plan)).collect();
                    let repeats = batch.saw_repeats(at, &found);
                    delivered.duplicates.extend(repeats.duplicates);
                    let conflicts = repeats.conflicts.into_iter();
                    delivered.failed.extend(conflicts.map(|(index, _)| index));
                }
                _ => break,
            }
        }
    }
}

/// Gives a batch what another one has left.
fn recall(batch: &mut Batch, last: &Batch) {
    let lone = last.records() == 1;
    batch.recall(|chain: &Chain| {
        let mut same = last.chains().iter();
        let same = same.find(|other| other.memory_key() == chain.memory_key());
        same.and_then(|chain| chain.hint(lone))
    });
}

fn check_refused_when_encoded<const F: usize>() {
    let collection = Collection::new(Sample::<F>::SPEC);
    let mut first = batch::<F>();
    push(&mut first, &record::<F>("a", 0, 0)).unwrap();
    push(&mut first, &record::<F>("a", 1, BAD)).unwrap_err();
    push(&mut first, &record::<F>("b", 2, 2)).unwrap();
    push(&mut first, &record::<F>("a", 3, 3)).unwrap();
    let delivered = World::default().deliver(&mut first, &collection);
    assert_eq!(delivered.stored, [0, 2]);
    let [held] = delivered.held.as_slice() else {
        panic!("{delivered:?}")
    };
    assert_eq!((held.index, held.position, held.failed), (3, 3, 1));
    // The next batch of the call was encoded in the meantime.
    let mut next = batch::<F>();
    push(&mut next, &record::<F>("a", 4, 4)).unwrap();
    push(&mut next, &record::<F>("b", 5, 5)).unwrap();
    next.hold_back(&first.holds());
    push(&mut next, &record::<F>("a", 6, 6)).unwrap();
    let delivered = World::default().deliver(&mut next, &collection);
    assert_eq!(delivered.stored, [5]);
    assert_eq!(delivered.held(), [4, 6]);
    // From the failed record on, as a consumer does it.
    let mut again = batch::<F>();
    for (device, position) in [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 6)] {
        push(&mut again, &record::<F>(device, position, position)).unwrap();
    }
    let delivered = World::default().deliver(&mut again, &collection);
    assert_eq!(delivered.stored, [1, 3, 4, 6]);
    assert_eq!(delivered.duplicates, [2, 5]);
}

#[test]
fn a_record_that_cannot_be_encoded_holds_back_the_later_ones_of_its_key() {
    check_refused_when_encoded::<COUNT>();
    check_refused_when_encoded::<NUMBERED>();
    check_refused_when_encoded::<WINDOW_CAPACITY>();
}

#[test]
fn a_record_that_cannot_be_encoded_holds_back_only_its_window() {
    let mut batch = batch::<WINDOW_CAPACITY>();
    push(&mut batch, &record::<WINDOW_CAPACITY>("a", 0, BAD)).unwrap_err();
    push(&mut batch, &record::<WINDOW_CAPACITY>("a", 1, 1)).unwrap();
    push(&mut batch, &record::<WINDOW_CAPACITY>("a", 1_000, 2)).unwrap();
    let collection = Collection::new(Sample::<WINDOW_CAPACITY>::SPEC);
    let delivered = World::default().deliver(&mut batch, &collection);
    assert_eq!(delivered.stored, [1_000]);
    assert_eq!(delivered.held(), [1]);
    // The position is kept per window, so nothing is lost.
    let mut again = positions::<WINDOW_CAPACITY>(0, 2);
    push(&mut again, &record::<WINDOW_CAPACITY>("a", 1_000, 2)).unwrap();
    let delivered = World::default().deliver(&mut again, &collection);
    assert_eq!(delivered.stored, [0, 1]);
    assert_eq!(delivered.duplicates, [1_000]);
}

fn check_refused_by_the_server<const F: usize>() {
    for refused in 0..12 {
        let collection = Collection::new(Sample::<F>::SPEC);
        let mut batch = positions::<F>(0, 12);
        let world = World {
            refused: vec![refused],
            ..World::default()
        };
        let delivered = world.deliver(&mut batch, &collection);
        let at = usize::try_from(refused).unwrap();
        assert_eq!(delivered.stored, (0..at).collect::<Vec<_>>());
        assert_eq!(delivered.failed, [at]);
        assert_eq!(delivered.held(), (at + 1..12).collect::<Vec<_>>());
        let mut again = positions::<F>(refused, 12);
        recall(&mut again, &batch);
        let delivered = World::default().deliver(&mut again, &collection);
        assert_eq!(delivered.stored, (at..12).collect::<Vec<_>>());
        assert!(delivered.duplicates.is_empty());
    }
}

#[test]
fn a_record_that_the_server_refuses_holds_back_the_later_ones() {
    check_refused_by_the_server::<COUNT>();
    check_refused_by_the_server::<NUMBERED>();
    check_refused_by_the_server::<WINDOW_CAPACITY>();
}

fn check_unknown<const F: usize>() {
    let mut held = 0;
    for lost in 1..41 {
        let collection = Collection::new(Sample::<F>::SPEC);
        World::default().deliver(&mut positions::<F>(0, 1), &collection);
        // The records that fill the open bucket go first.
        let mut batch = positions::<F>(1, 41);
        let world = World {
            lost: Some(lost),
            ..World::default()
        };
        let delivered = world.deliver(&mut batch, &collection);
        assert!(delivered.unknown.contains(&usize::try_from(lost).unwrap()));
        // Some are known, then some are unknown, and the others were not sent.
        let unknown = 1 + delivered.stored.len();
        let behind = unknown + delivered.unknown.len();
        assert_eq!(delivered.stored, (1..unknown).collect::<Vec<_>>());
        assert_eq!(delivered.unknown, (unknown..behind).collect::<Vec<_>>());
        assert_eq!(delivered.held(), (behind..41).collect::<Vec<_>>());
        held += delivered.held.len();
        let mut again = positions::<F>(i64::try_from(unknown).unwrap(), 41);
        let delivered = World::default().deliver(&mut again, &collection);
        assert_eq!(delivered.stored, (unknown..41).collect::<Vec<_>>());
    }
    assert!(held > 0);
}

#[test]
fn a_record_with_an_unknown_outcome_holds_back_the_later_ones() {
    check_unknown::<COUNT>();
    check_unknown::<NUMBERED>();
    check_unknown::<WINDOW_CAPACITY>();
}

#[test]
fn a_record_whose_id_has_other_data_holds_back_the_later_ones() {
    let collection = Collection::new(Sample::<NUMBERED_IDS>::SPEC);
    let mut own = Batch::of::<Sample<NUMBERED_IDS>>();
    own.push(0, &record::<NUMBERED_IDS>("a", 2, 7)).unwrap();
    World::default().deliver(&mut own, &collection);
    let mut batch = positions::<NUMBERED_IDS>(0, 6);
    let delivered = World::default().deliver(&mut batch, &collection);
    assert_eq!(delivered.stored, [0, 1]);
    assert_eq!(delivered.failed, [2]);
    assert_eq!(delivered.held(), [3, 4, 5]);
}

#[test]
fn a_record_without_a_source_holds_back_none() {
    let collection = Collection::new(Sample::<COUNT>::SPEC);
    let mut batch = Batch::of::<Sample<COUNT>>();
    for position in 0..5 {
        let value = if position == 1 { BAD } else { position };
        let pushed = batch.push(
            usize::try_from(position).unwrap(),
            &record::<COUNT>("a", position, value),
        );
        assert_eq!(pushed.is_err(), position == 1);
    }
    let world = World {
        refused: vec![3],
        ..World::default()
    };
    let delivered = world.deliver(&mut batch, &collection);
    assert_eq!(
        (delivered.stored, delivered.failed),
        (vec![0, 2, 4], vec![3])
    );
    assert!(delivered.held.is_empty());
}

/// A batch relies on what another one left in a collection whose buckets are gone.
fn check_removed<const F: usize>(before: i64, from: i64) {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    let mut first = positions::<F>(0, before);
    World::default().deliver(&mut first, &collection);
    collection.edit(Vec::clear);
    let mut again = positions::<F>(from, before + 3);
    recall(&mut again, &first);
    let delivered = World::default().deliver(&mut again, &collection);
    let expected: Vec<usize> = (from..before + 3)
        .map(|position| usize::try_from(position).unwrap())
        .collect();
    assert_eq!(delivered.stored, expected, "{before} {from}");
    assert!(delivered.duplicates.is_empty());
}

#[test]
fn a_remembered_position_makes_no_record_a_duplicate() {
    for before in 1..10 {
        for from in 0..=before {
            check_removed::<COUNT>(before, from);
            check_removed::<NUMBERED>(before, from);
            check_removed::<NUMBERED_OBJECT>(before, from);
            check_removed::<WINDOW_CAPACITY>(before, from);
        }
    }
}

/// Another consumer restarts after the buckets were removed. It delivers the same source, at
/// another time of its clock.
fn check_overtaken<const F: usize>(later: i64) {
    for (before, other) in [(4, 6), (8, 8), (8, 10), (8, 11), (8, 16), (6, 9)] {
        let mut collection = Collection::new(Sample::<F>::SPEC);
        let mut first = positions::<F>(0, before);
        World::default().deliver(&mut first, &collection);
        collection.edit(Vec::clear);
        let mut anew = batch::<F>();
        for position in 0..other {
            let mut record = record::<F>("a", position, 1);
            record.at = DateTime::from_millis(position + later);
            push(&mut anew, &record).unwrap();
        }
        World::default().deliver(&mut anew, &collection);
        let mut next = positions::<F>(before, 20);
        recall(&mut next, &first);
        let delivered = World::default().deliver(&mut next, &collection);
        let [before, other] = [before, other].map(|it| usize::try_from(it).unwrap());
        assert_eq!(delivered.stored, (other..20).collect::<Vec<_>>());
        assert_eq!(delivered.duplicates, (before..other).collect::<Vec<_>>());
    }
}

#[test]
fn a_position_that_another_consumer_passed_later_is_stored_once() {
    for later in [-1_000_000, 0, 1_000_000] {
        check_overtaken::<COUNT>(later);
        check_overtaken::<NUMBERED>(later);
        check_overtaken::<NUMBERED_OBJECT>(later);
    }
    check_overtaken::<WINDOW_CAPACITY>(0);
}

/// The bucket numbers after a batch that relies on a full bucket which is gone.
fn numbers<const F: usize>(other: i64) -> Vec<i64> {
    let mut collection = Collection::new(Sample::<F>::SPEC);
    let without_source = |from: i64, to: i64| {
        let mut batch = Batch::of::<Sample<F>>();
        for position in from..to {
            let index = usize::try_from(position).unwrap();
            batch.push(index, &record::<F>("a", position, 1)).unwrap();
        }
        batch
    };
    let mut first = without_source(0, 20);
    World::default().deliver(&mut first, &collection);
    collection.edit(Vec::clear);
    World::default().deliver(&mut without_source(20, 20 + other), &collection);
    let mut next = without_source(50, 58);
    recall(&mut next, &first);
    World::default().deliver(&mut next, &collection);
    let documents = collection.documents();
    let number = |bucket: &Document| match bucket.get("bucket_number") {
        Some(bson::Bson::Int32(number)) => i64::from(*number),
        Some(bson::Bson::Int64(number)) => *number,
        other => panic!("{other:?}"),
    };
    let mut numbers: Vec<i64> = documents.iter().map(number).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn buckets_that_were_removed_leave_no_gap_in_the_numbers() {
    for other in 0..=30 {
        let buckets = (other + 8 + 3) / 4;
        let expected: Vec<i64> = (1..=buckets).collect();
        assert_eq!(numbers::<NUMBERED>(other), expected, "{other}");
        assert_eq!(numbers::<NUMBERED_OBJECT>(other), expected, "{other}");
    }
}

#[test]
fn a_full_bucket_that_still_exists_is_passed() {
    let collection = Collection::new(Sample::<NUMBERED>::SPEC);
    let mut first = positions::<NUMBERED>(0, 8);
    World::default().deliver(&mut first, &collection);
    let mut next = positions::<NUMBERED>(8, 10);
    recall(&mut next, &first);
    assert_eq!(next.chains()[0].need(), Need::Confirmation);
    let found = collection.find(&next.remembered(&[0]));
    assert_eq!(found.len(), 1);
    assert!(next.saw_remembered(&[0], &found).is_empty());
    // The bucket has also supplied the position.
    assert_eq!(next.chains()[0].need(), Need::Statements);
}
