//! Many writers with the shipped write machine against a model of the server, over a faulty
//! network: whole histories from one seed, in virtual time, without threads, I/O or a driver.
//!
//! After each history, every promise about writes is checked against a naive ledger. The README of
//! the package describes histories and the mistakes that they find.
//!
//! ```
//! use simulator::{Plan, forms};
//!
//! let plan = Plan::draw(7, forms::number());
//! let ended = forms::play(&plan, false);
//! assert_eq!(ended.failure, None);
//! ```

pub mod breaks;
mod calls;
mod commands;
mod corrections;
mod edits;
pub mod forms;
mod history;
mod ledger;
mod model;
mod network;
mod plan;
mod quiet;
pub mod random;
mod sealing;
mod server;
mod shrink;
mod verified;
mod world;
mod writers;

// The record type with every aggregate, and its checks, come from `bucket-core`'s own tests.
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../../bucket-core/tests/common/invariants.rs"]
mod invariants;
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../../bucket-core/tests/common/naive.rs"]
mod naive;
#[allow(missing_docs, clippy::pedantic)]
#[path = "../../../bucket-core/tests/common/sample.rs"]
mod sample;

pub use self::{
    history::Ended,
    plan::{CallPlan, ClientPlan, EditKind, EditPlan, Fault, FaultPlan, Plan, WriterPlan},
};

/// Runs the history of a seed. Returns its result, or a report if it failed. With `smaller`, the
/// report is on the smallest history found to fail.
///
/// # Errors
///
/// The report: what is wrong, the history, its steps, and the seed that reproduces it.
pub fn check(seed: u64, smaller: bool) -> Result<Ended, String> {
    let _quiet = quiet::keep_panics();
    let plan = Plan::draw(seed, forms::number());
    let mut ended = forms::play(&plan, false);
    let Some(failure) = ended.failure.take() else {
        return Ok(ended);
    };
    // Printed first, in case the shrinking is stopped.
    eprintln!(
        "SIM_SEED={seed} fails: {}",
        failure.lines().next().unwrap_or_default()
    );
    let fails = |plan: &Plan| forms::play(plan, false).failure;
    let (plan, failure) = if smaller {
        shrink::shrink(plan, failure, fails)
    } else {
        (plan, failure)
    };
    let steps = forms::play(&plan, true).steps;
    Err(format!(
        "{failure}\n\nThe history, made smaller:\n{plan}\nWhat happened:\n{}\n\nrun again with SIM_SEED={seed}",
        steps.join("\n")
    ))
}
