//! The complete program on a real server: what it prints, and what it writes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeSet, fs, path::Path};

use example_kit::testing::{Program, Ran, exists, server, uri};
use serde_json::Value;

static BENCH: Program = Program {
    binary: env!("CARGO_BIN_EXE_bench"),
    folder: env!("CARGO_TARGET_TMPDIR"),
};

async fn run(arguments: &[&str]) -> Ran {
    server().await;
    BENCH.run(arguments, Some(&uri("")))
}

/// The values under a name.
fn each<'a>(list: &'a Value, name: &str) -> Vec<&'a Value> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry[name])
        .collect()
}

fn is_positive(number: &Value) -> bool {
    number.as_f64().is_some_and(|number| number > 0.0)
}

/// Every figure exists for both rounds, and every comparison names its contestants.
fn is_whole(workload: &Value) {
    let contestants = &workload["contestants"];
    let names: BTreeSet<_> = each(contestants, "name")
        .iter()
        .map(|n| n.as_str().unwrap())
        .collect();
    assert!(each(contestants, "own").iter().any(|own| **own == true));
    let comparisons = &workload["comparisons"];
    for entry in contestants
        .as_array()
        .unwrap()
        .iter()
        .chain(comparisons.as_array().unwrap())
    {
        assert_eq!(entry["rounds"].as_array().unwrap().len(), 2);
        for figure in ["median", "min", "max"] {
            assert!(is_positive(&entry[figure]), "{entry}");
        }
    }
    for comparison in comparisons.as_array().unwrap() {
        assert!(names.contains(comparison["own"].as_str().unwrap()));
        let peer = &comparison["peer"];
        assert!(peer.is_null() || names.contains(peer.as_str().unwrap()));
        assert_eq!(
            comparison["goal"].is_null(),
            comparison["reached"].is_null()
        );
    }
    assert!(
        each(comparisons, "reached")
            .iter()
            .any(|reached| reached.is_boolean())
    );
}

#[tokio::test]
async fn the_json_has_every_figure_ratio_and_goal() {
    let ran = run(&[
        "--quick", "--rounds", "2", "--only", "batches", "--only", "encode", "--json", "-",
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["rounds"], 2);
    assert_eq!(report["quick"], true);
    assert_eq!(report["own_server"], false);
    assert!(is_positive(&report["cores"]) && report["server"].is_string());
    assert_eq!(each(&report["workloads"], "name"), ["batches", "encode"]);
    for workload in report["workloads"].as_array().unwrap() {
        assert_eq!(workload["unit"], "records/s");
        is_whole(workload);
    }
}

#[tokio::test]
async fn workloads_that_read_find_what_was_stored() {
    let ran = run(&[
        "--quick", "--rounds", "2", "--only", "range", "--only", "stats", "--only", "pages",
        "--only", "latest", "--json", "-",
    ])
    .await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    let workloads = &report["workloads"];
    assert_eq!(
        each(workloads, "name"),
        ["range", "stats", "pages", "latest"]
    );
    let units = ["records/s", "records/s", "us", "records/s"];
    assert_eq!(each(workloads, "unit"), units);
    for workload in workloads.as_array().unwrap() {
        is_whole(workload);
    }
}

#[tokio::test]
async fn a_run_that_was_saved_can_be_shown_again_as_a_page_with_charts() {
    let folder = Path::new(BENCH.folder);
    let saved = folder.join("saved/run.json");
    let saved = saved.to_str().unwrap();
    let arguments = [
        "--quick",
        "--only",
        "append",
        "--only",
        "contention",
        "--json",
        saved,
    ];
    let ran = run(&arguments).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("after 10 full ones"), "{ran:?}");

    let docs = folder.join("shown-again");
    let ran = BENCH.run(
        &["--from", saved, "--write-docs", docs.to_str().unwrap()],
        None,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let page = fs::read_to_string(docs.join("benchmarks.md")).unwrap();
    assert!(page.contains("figures mean nothing"), "{page}");
    for workload in ["append", "contention"] {
        let chart = format!("benchmarks/{workload}.svg");
        assert!(page.contains(&format!("({chart})")), "{page}");
        let svg = fs::read_to_string(docs.join(chart)).unwrap();
        assert!(
            svg.starts_with("<svg") && svg.ends_with("</svg>\n"),
            "{svg}"
        );
    }
}

#[test]
fn workloads_are_listed_without_a_server() {
    let ran = BENCH.run(&["--list"], Some("nonsense"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for workload in [
        "ingest",
        "batches",
        "encode",
        "append",
        "storage",
        "contention",
        "range",
        "stats",
        "pages",
        "latest",
    ] {
        assert!(
            ran.stdout.lines().any(|line| line.starts_with(workload)),
            "{ran:?}"
        );
    }
}

#[test]
fn a_file_that_is_not_a_saved_run_is_an_error() {
    let file = BENCH.file("none.json", "{}");
    let ran = BENCH.run(&["--from", &file], None);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("none.json cannot be read"), "{ran:?}");
}

#[test]
fn a_place_that_cannot_be_written_is_reported_before_the_run() {
    let file = BENCH.file("no-folder", "");
    let inside = format!("{file}/docs");
    for option in ["--write-docs", "--json"] {
        // There is no server either: the program does not even look for one.
        let ran = BENCH.run(&[option, &inside], Some("nonsense"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.stderr.contains("cannot be written"), "{ran:?}");
        assert!(ran.stderr.contains(&inside), "{ran:?}");
    }
    // The old content does not change.
    let saved = BENCH.file("kept.json", "kept");
    let ran = BENCH.run(&["--json", &saved], Some("nonsense"));
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("MONGODB_URI"), "{ran:?}");
    assert_eq!(fs::read_to_string(&saved).unwrap(), "kept");
}

#[tokio::test]
async fn an_interrupted_run_leaves_no_database() {
    server().await;
    let mut bench = BENCH.start(&["--only", "append"], &uri(""));
    let database = bench.own_database("bench").await;
    bench.signal("TERM");
    let ran = bench.end();
    let said = "error: interrupted (SIGTERM)\n";
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(143), said),
        "{ran:?}"
    );
    assert!(!exists(&database).await);
}
