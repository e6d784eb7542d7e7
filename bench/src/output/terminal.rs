//! The report for people: two tables for each workload.

use std::fmt::Write as _;

use example_kit::table::{Cell, finished, number, table};

use super::number::{figure, goal, ratio};
use crate::{
    goal::Unit,
    report::{Compared, Outcome},
    workload::Workload,
};

/// The names and titles of workloads.
pub(crate) fn list(workloads: &[Workload]) -> String {
    let mut table = table(&["workload", "what is measured"]);
    for workload in workloads {
        table.add_row([workload.name, workload.title]);
    }
    finished(table)
}

/// The result of a workload.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let mut text = format!("{}: {}\n\n", outcome.name, outcome.title);
    let mut figures = table(&["contestant", outcome.unit.text(), "min", "max"]);
    for contestant in &outcome.contestants {
        let spread = &contestant.spread;
        let values = [spread.median, spread.min, spread.max];
        let values = values.map(|value| number(figure(value, outcome.unit)));
        figures.add_row([Cell::new(&contestant.name)].into_iter().chain(values));
    }
    text.push_str(&finished(figures));
    let mut ratios = table(&["comparison", "ratio", "min", "max", "to reach", ""]);
    for compared in &outcome.comparisons {
        let row = row(compared, outcome.unit);
        ratios.add_row(
            row.into_iter()
                .enumerate()
                .map(|(column, text)| match column {
                    0 | 4 | 5 => Cell::new(text),
                    _ => number(text),
                }),
        );
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n{}", finished(ratios));
    text
}

/// A comparison: its name, median, min, max, the goal, and whether it is reached.
pub(crate) fn row(compared: &Compared, unit: Unit) -> [String; 6] {
    let alone = compared.peer.is_none().then_some(unit);
    let value = |value| alone.map_or_else(|| ratio(value), |unit| figure(value, unit));
    let name = match &compared.peer {
        Some(peer) => format!("{} / {peer}", compared.own),
        None => compared.own.clone(),
    };
    let reached = match compared.reached {
        Some(true) => "reached",
        Some(false) => "missed",
        None => "",
    };
    let spread = &compared.spread;
    [
        name,
        value(spread.median),
        value(spread.min),
        value(spread.max),
        compared
            .goal
            .map_or_else(String::new, |asked| goal(asked, alone)),
        reached.to_owned(),
    ]
}
