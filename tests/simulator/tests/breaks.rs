//! The list of breaks fits the library: it is tried by the binary `breaks`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use simulator::breaks::Break;

#[test]
fn each_line_that_is_to_be_broken_is_there_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let breaks = Break::all(include_str!("../breaks.txt"));
    assert!(breaks.len() >= 25);
    for line in &breaks {
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
