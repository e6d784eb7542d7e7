//! The lists of breaks match the library. The binary `breaks` tries them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use simulator::breaks::Break;

#[test]
fn each_line_to_break_occurs_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let breaks = Break::all(include_str!("../breaks.txt"));
    assert!(breaks.len() >= 25 && breaks.iter().all(|line| line.tests.is_none()));
    let elsewhere = Break::all(include_str!("../breaks-elsewhere.txt"));
    assert!(elsewhere.len() >= 10 && elsewhere.iter().all(|line| line.tests.is_some()));
    for line in breaks.iter().chain(&elsewhere) {
        let text = fs::read_to_string(root.join(&line.file)).unwrap();
        let applied = line.apply(&text, "true");
        assert!(
            applied.is_ok(),
            "{applied:?} times in {}: {}",
            line.file,
            line.line()
        );
    }
}
