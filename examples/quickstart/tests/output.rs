//! The program prints what its pages show.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;

/// The block of text in a page.
fn shown(page: &str) -> &str {
    let (_, rest) = page.split_once("```text\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_program_prints_what_the_pages_show() {
    let run = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let printed = String::from_utf8(run.stdout).unwrap();
    assert_eq!(printed, shown(include_str!("../README.md")));
    let page = include_str!("../../../docs/book/src/quickstart.md");
    assert_eq!(printed, shown(page));
}
