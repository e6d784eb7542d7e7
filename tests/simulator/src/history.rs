//! One history: it runs, and what is stored at its end is compared with what was told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{model::Model, plan::Plan, quiet, server::namespace, world::World};

/// What a history came to.
#[derive(Debug)]
pub struct Ended {
    /// What was wrong, if anything was.
    pub failure: Option<String>,
    /// Calls that were made.
    pub calls: usize,
    /// Faults that happened.
    pub faults: u32,
    /// Messages that were sent.
    pub messages: u32,
    /// What happened, if it was to be told.
    pub steps: Vec<String>,
}

/// Runs a history; with its steps told, if asked for.
pub(crate) fn run<T: Model>(plan: &Plan, told: bool) -> Ended {
    let mut world = World::<T>::new(plan, told);
    let result = catch_unwind(AssertUnwindSafe(|| {
        world.run();
        let documents = world.server.raw_documents(&namespace::<T>());
        world.ledger.audit(&documents)
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
