//! What the manifests of the packages name is used.

use std::{fs, path::PathBuf};

use crate::tree::Tree;

/// The names of the dependencies in a manifest, with or without features.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut in_section = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_section = line.ends_with("dependencies]") && !line.starts_with("[workspace");
        } else if in_section && line.contains('=') && !line.starts_with('#') {
            names.extend(line.split(['.', ' ', '=']).next());
        }
    }
    names
}

/// Whether a crate is named by a word of its own.
fn names(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

#[test]
fn every_dependency_is_used() {
    let tree = Tree::read();
    let text = |path: &PathBuf| fs::read_to_string(tree.root.join(path)).unwrap_or_default();
    let pages: String = tree.pages().into_iter().map(|(_, text)| text).collect();
    let (mut looked_at, mut unused) = (0, Vec::new());
    for manifest in tree
        .paths
        .iter()
        .filter(|path| path.ends_with("Cargo.toml"))
    {
        let folder = manifest.parent().unwrap();
        let parts = ["src", "tests", "examples", "ui"].map(|part| folder.join(part));
        let in_package = |path: &&PathBuf| {
            let is_source = path.extension().is_some_and(|kind| kind == "rs");
            is_source && parts.iter().any(|part| path.starts_with(part))
        };
        let mut code = String::new();
        for file in tree.paths.iter().filter(in_package) {
            let text = text(file);
            // `#[path = "FILE"]`: files of other packages that are compiled into this one.
            for part in text.split("#[path = \"").skip(1) {
                let other = part.split('"').next().unwrap_or_default();
                let other = tree.root.join(file.parent().unwrap()).join(other);
                code += &fs::read_to_string(other).unwrap_or_default();
            }
            code += &text;
        }
        if folder.ends_with("tests/pages") {
            code += &pages;
        }
        for name in dependencies(&text(manifest)) {
            looked_at += 1;
            if !names(&code, &name.replace('-', "_")) {
                unused.push((manifest, name.to_owned()));
            }
        }
    }
    assert!(looked_at > 80, "{looked_at} dependencies");
    assert!(unused.is_empty(), "{unused:#?}");
}
