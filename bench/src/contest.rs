//! The rounds of a workload.

use example_kit::progress;

use crate::{arena::Arena, error::Result, plan::Plan};

/// The figures of each contestant, round by round.
pub(crate) async fn hold(plan: &Plan, rounds: usize, arena: &Arena) -> Result<Vec<Vec<f64>>> {
    let contestants = plan.entries.len();
    let mut figures = vec![Vec::with_capacity(rounds); contestants];
    let steps = u64::try_from(rounds * contestants).unwrap_or(u64::MAX);
    let bar = progress::records(steps);
    for data in &plan.data {
        bar.set_message(data.collection().to_owned());
        arena.clear(data.collection()).await?;
        data.store(arena).await?;
    }
    for round in 0..rounds {
        for at in order(round, contestants) {
            let contestant = &plan.entries[at].contestant;
            bar.set_message(contestant.name());
            figures[at].push(contestant.round(arena).await?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    for data in &plan.data {
        arena.clear(data.collection()).await?;
    }
    Ok(figures)
}

/// The order of the contestants: every other round reverses it, so that none always follows the
/// same one or is always last.
fn order(round: usize, contestants: usize) -> impl Iterator<Item = usize> {
    let reverse = round % 2 == 1;
    (0..contestants).map(move |place| {
        if reverse {
            contestants - 1 - place
        } else {
            place
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_round_has_the_reverse_order() {
        let order = |round| order(round, 4).collect::<Vec<_>>();
        assert_eq!(order(0), [0, 1, 2, 3]);
        assert_eq!(order(1), [3, 2, 1, 0]);
        assert_eq!(order(2), order(0));
    }
}
