//! The report as a page: `benchmarks.md` and a chart for each workload next to it.

use std::{fmt::Write as _, path::PathBuf};

use example_kit::text::counted;

use super::{
    chart::chart,
    number::{figure, grouped},
    terminal::row,
};
use crate::{
    own_server::CACHE_MIB,
    report::{Outcome, Report},
    workload::about,
};

/// The text above all workloads.
const HOW: &str = include_str!("page/how.md");

const PAGE: &str = "benchmarks.md";

/// The files of the page, by their path in the folder of documents.
pub(crate) fn files(report: &Report) -> Vec<(PathBuf, String)> {
    let charts = report.workloads.iter().map(|outcome| {
        let path = PathBuf::from(chart_path(&outcome.name));
        (path, chart(outcome))
    });
    let page = (PathBuf::from(PAGE), page(report));
    charts.chain([page]).collect()
}

/// The paths of the files of these workloads.
pub(crate) fn paths(
    workloads: impl Iterator<Item = &'static str>,
) -> impl Iterator<Item = PathBuf> {
    let charts = workloads.map(|name| PathBuf::from(chart_path(name)));
    charts.chain([PathBuf::from(PAGE)])
}

fn chart_path(workload: &str) -> String {
    format!("benchmarks/{workload}.svg")
}

fn page(report: &Report) -> String {
    let mut page = format!("# Benchmarks\n\n{HOW}\n");
    // Writing to a string cannot fail.
    let _ = write!(page, "{}", facts(report));
    for outcome in &report.workloads {
        let _ = write!(page, "\n{}", section(outcome));
    }
    page
}

/// The conditions that the figures depend on.
fn facts(report: &Report) -> String {
    let quick = if report.quick {
        "\n**This page comes from a quick run: its figures mean nothing.**\n"
    } else {
        ""
    };
    let number = |number: usize, noun| counted(u64::try_from(number).unwrap_or(u64::MAX), noun);
    let (server, rounds) = (&report.server, number(report.rounds, "round"));
    let cores = number(report.cores, "core");
    let place = if report.own_server {
        let cache = grouped(CACHE_MIB.into());
        format!("a replica set of one node, {cache} MiB of cache; {cores} for server and client")
    } else {
        format!("a server that was there; {cores} for the client")
    };
    format!("This run: MongoDB {server}, {place}; {rounds}.\n{quick}")
}

fn section(outcome: &Outcome) -> String {
    let Outcome {
        name, title, unit, ..
    } = outcome;
    let mut text = format!(
        "## {title}\n\n{}\n\n![{title}]({})\n\n| `{name}` | {} | min | max |\n| --- | ---: | ---: | ---: |\n",
        about(name),
        chart_path(name),
        unit.text(),
    );
    for contestant in &outcome.contestants {
        let spread = &contestant.spread;
        let [median, min, max] =
            [spread.median, spread.min, spread.max].map(|value| figure(value, *unit));
        let mark = if contestant.own { "**" } else { "" };
        let _ = writeln!(
            text,
            "| {mark}{}{mark} | {median} | {min} | {max} |",
            contestant.name
        );
    }
    text.push_str("\n| comparison | ratio | min | max | to reach | |\n");
    text.push_str("| --- | ---: | ---: | ---: | --- | --- |\n");
    for compared in &outcome.comparisons {
        let _ = writeln!(text, "| {} |", row(compared, *unit).join(" | "));
    }
    text
}
