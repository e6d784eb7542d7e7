//! One history: it runs, and its final data is compared with what was reported.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{model::Model, plan::Plan, quiet, server::namespace, world::World};

/// The result of a history.
#[derive(Debug)]
pub struct Ended {
    /// What was wrong, if anything.
    pub failure: Option<String>,
    /// Calls that were made.
    pub calls: usize,
    /// Faults that happened.
    pub faults: u32,
    /// Messages that were sent.
    pub messages: u32,
    /// The steps, if they were requested.
    pub steps: Vec<String>,
}

/// Runs a history; records its steps if requested.
pub(crate) fn run<T: Model>(plan: &Plan, told: bool) -> Ended {
    let mut world = World::<T>::new(plan, told);
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.run();
        let documents = world.server.raw_documents(&namespace::<T>());
        let mut wrong = world.ledger.audit(&documents);
        wrong.extend(world.verify());
        wrong
    }));
    let failure = match result {
        Ok(wrong) if wrong.is_empty() => None,
        Ok(wrong) => Some(wrong.join("\n")),
        Err(_) => Some(quiet::last_panic()),
    };
    if failure.is_some() {
        for document in world.server.documents(&namespace::<T>()) {
            world.tell(|| format!("stored: {document}"));
        }
    }
    Ended {
        failure,
        calls: world.calls.len(),
        faults: world.faults,
        messages: world.messages,
        steps: world.take_steps(),
    }
}
