//! Shrinks a failing history to a smaller one that fails: fewer writers, calls, records, faults.

use crate::plan::Plan;

/// At most this many histories are tried.
const TRIES: usize = 1_500;

/// The smallest failing history found. `fails` returns what is wrong with one, if anything.
pub(crate) fn shrink(
    plan: Plan,
    failure: String,
    fails: impl Fn(&Plan) -> Option<String>,
) -> (Plan, String) {
    let (mut plan, mut failure) = (plan, failure);
    let mut tries = 0;
    loop {
        let smaller = candidates(&plan).into_iter().find_map(|candidate| {
            tries += 1;
            if tries > TRIES {
                return None;
            }
            let failure = fails(&candidate)?;
            Some((candidate, failure))
        });
        match smaller {
            Some(smaller) => (plan, failure) = smaller,
            None => return (plan, failure),
        }
    }
}

/// Smaller histories, large steps first.
fn candidates(plan: &Plan) -> Vec<Plan> {
    let mut all = Vec::new();
    for at in 0..plan.writers.len() {
        all.push(changed(plan, |plan| drop(plan.writers.remove(at))));
    }
    for size in [plan.faults.len() / 2, plan.faults.len() / 4, 1] {
        for from in (0..plan.faults.len()).step_by(size.max(1)) {
            let to = (from + size).min(plan.faults.len());
            if size > 0 {
                all.push(changed(plan, |plan| drop(plan.faults.drain(from..to))));
            }
        }
    }
    for writer in 0..plan.writers.len() {
        let calls = plan.writers[writer].calls.len();
        for size in [calls / 2, calls / 4, 1] {
            for from in (0..calls).step_by(size.max(1)) {
                let to = (from + size).min(calls);
                if size > 0 {
                    all.push(changed(plan, |plan| {
                        plan.writers[writer].calls.drain(from..to);
                    }));
                }
            }
        }
    }
    for writer in 0..plan.writers.len() {
        for call in 0..plan.writers[writer].calls.len() {
            let records = plan.writers[writer].calls[call].records;
            for fewer in [1, records / 2, records.saturating_sub(1)] {
                if (1..records).contains(&fewer) {
                    all.push(changed(plan, |plan| {
                        plan.writers[writer].calls[call].records = fewer;
                    }));
                }
            }
        }
    }
    if plan.keys > 1 {
        all.push(changed(plan, |plan| plan.keys = 1));
    }
    if plan.validates {
        all.push(changed(plan, |plan| plan.validates = false));
    }
    all
}

fn changed(plan: &Plan, change: impl FnOnce(&mut Plan)) -> Plan {
    let mut plan = plan.clone();
    change(&mut plan);
    plan
}
