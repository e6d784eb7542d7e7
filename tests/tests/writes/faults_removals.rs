//! Keys, full buckets and entire collections are removed under living handles: the answers to the
//! writers stay true, nothing is a duplicate of a removed record, and nothing is stored before the
//! set-up.

use std::{collections::BTreeMap, sync::Arc};

use bucket_core::Form;
use bucket_mongo::{Bucketed, Record};
use bucket_tests::{
    database,
    faults::{
        Seed, duration,
        random::Random,
        sample::{self, Sample},
    },
};
use futures_util::future::join_all;
use tokio::time::Instant;

use self::{
    book::Book,
    remover::Remover,
    writers::{Kind, Writer},
};

mod book;
mod remover;
mod writers;

/// The minimum number of rounds for each form.
const ROUNDS: u64 = 4;
const WRITERS: u64 = 3;
/// The writers of sources, each with its own key.
const SOURCES: u64 = 1;

/// Writers that keep their handles, and the remover between them, in rounds.
async fn hold<const F: usize>(seed: u64) -> BTreeMap<&'static str, u64> {
    let seed = (seed << 8) | u64::try_from(F).unwrap();
    let mut random = Random::new(seed, 3);
    let database = database().await;
    Sample::<F>::buckets(&database).ensure().await.unwrap();
    let book = Arc::new(Book::default());
    let spec = Sample::<F>::SPEC;
    let kind = if spec.unique().is_some() {
        Kind::Ids
    } else {
        Kind::Plain
    };
    let shared = Sample::<F>::buckets(&database);
    let mut writers = Vec::new();
    for number in 0..WRITERS {
        // The last two share a handle.
        let own = Sample::<F>::buckets(&database);
        let buckets = if number + 2 < WRITERS {
            own
        } else {
            shared.clone()
        };
        writers.push(Writer::new(
            &book,
            buckets,
            random.below(1 << 40),
            number,
            kind,
        ));
    }
    let mut sources = Vec::new();
    if !matches!(spec.form(), Form::Hybrid { .. }) {
        for number in (0..SOURCES).map(|source| WRITERS + source) {
            let buckets = Sample::<F>::buckets(&database);
            let kind = Kind::Source(0);
            writers.push(Writer::new(
                &book,
                buckets,
                random.below(1 << 40),
                number,
                kind,
            ));
            sources.push(format!("s{number}"));
        }
    }
    let mut remover = Remover::<F>::new(database, &book, random.below(1 << 40), sources);
    let begin = Instant::now();
    let mut round = 0;
    while round < ROUNDS || begin.elapsed() < duration() / 2 {
        round += 1;
        let bursts = writers
            .into_iter()
            .map(|writer| tokio::spawn(writer.burst()));
        let bursts: Vec<_> = bursts.collect();
        let ((), ended) = tokio::join!(remover.disturb(), join_all(bursts));
        writers = ended.into_iter().map(Result::unwrap).collect();
        remover.rest().await;
    }
    let form = spec.form();
    eprintln!(
        "{form:?}: {round} rounds, {:?}, {:?}",
        book.totals(),
        remover.done
    );
    remover.done
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_stay_true_when_keys_buckets_and_collections_are_removed() {
    let seed = Seed::from_environment();
    let seed = seed.get();
    let (pages, windows, hybrids, numbered) = tokio::join!(
        async {
            tokio::join!(
                hold::<{ sample::COUNT }>(seed),
                hold::<{ sample::COUNT_IDS }>(seed),
                hold::<{ sample::COUNT_AVG }>(seed),
            )
        },
        async {
            tokio::join!(
                hold::<{ sample::WINDOW_OBJECT }>(seed),
                hold::<{ sample::WINDOW_CAPACITY }>(seed),
                hold::<{ sample::WINDOW_IDS }>(seed),
                hold::<{ sample::PARTS }>(seed),
            )
        },
        async {
            tokio::join!(
                hold::<{ sample::HYBRID_MERGE }>(seed),
                hold::<{ sample::HYBRID_SIDE }>(seed),
                hold::<{ sample::HYBRID_IDS }>(seed),
            )
        },
        async {
            tokio::join!(
                hold::<{ sample::NUMBERED }>(seed),
                hold::<{ sample::NUMBERED_OBJECT }>(seed),
                hold::<{ sample::NUMBERED_IDS }>(seed),
            )
        },
    );
    let mut done = BTreeMap::new();
    for one in [
        pages.0, pages.1, pages.2, windows.0, windows.1, windows.2, hybrids.0, hybrids.1,
        hybrids.2, numbered.0, numbered.1, numbered.2,
    ] {
        for (what, times) in one {
            *done.entry(what).or_insert(0) += times;
        }
    }
    eprintln!("seed {seed}: {done:?}");
    assert_eq!(done.len(), 9, "not everything was done: {done:?}");
}
