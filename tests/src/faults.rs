//! Faults, and what must hold under any of them: a proxy that damages messages, a replica set whose
//! members die and stop, writers of every kind, and a ledger of the answers that they got.
//!
//! Everything is drawn from a seed. `BUCKET_FAULTS_SECONDS` makes the runs longer,
//! `BUCKET_FAULTS_SEED` selects another seed.

use std::{env, str::FromStr, time::Duration};

pub mod frame;
pub mod ledger;
pub mod plan;
pub mod proxy;
pub mod random;
pub mod replica_set;
pub mod server;
pub mod stored;
pub mod storm;
pub mod storms;
pub mod writer;

// The record type with every aggregate, and its checks, belong to `bucket-core`'s own tests.
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../bucket-core/tests/common/invariants.rs"]
mod invariants;
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../bucket-core/tests/common/naive.rs"]
mod naive;
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../bucket-core/tests/common/sample.rs"]
pub mod sample;

/// The minimum duration of a run of writers, unless `BUCKET_FAULTS_SECONDS` gives another one.
const SECONDS: u64 = 6;
const SEED: u64 = 1;

/// The minimum duration of a run of writers.
#[must_use]
pub fn duration() -> Duration {
    Duration::from_secs(variable("BUCKET_FAULTS_SECONDS").unwrap_or(SECONDS))
}

/// The seed of a run. It is printed if its test fails.
#[derive(Debug)]
pub struct Seed(u64);

impl Seed {
    /// The seed of `BUCKET_FAULTS_SEED`, or a fixed one.
    #[must_use]
    pub fn from_environment() -> Self {
        Self(variable("BUCKET_FAULTS_SEED").unwrap_or(SEED))
    }

    /// The number.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run again with BUCKET_FAULTS_SEED={}", self.0);
        }
    }
}

fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok()?;
    let Ok(value) = text.parse() else {
        panic!("{name}={text} is not a number");
    };
    Some(value)
}
