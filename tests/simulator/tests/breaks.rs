//! The list of breaks matches the library. The binary `breaks` tries the list.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use simulator::breaks::Break;

#[test]
fn each_line_to_break_occurs_once() {
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
