//! What the pages of the repository name is there: files, headings, packages and tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::tree::{Tree, with_included};

/// What is in backticks, but for blocks of code.
fn code(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```");
    blocks
        .step_by(2)
        .flat_map(|text| text.split('`').skip(1).step_by(2))
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_file_and_folder_that_a_page_names_is_there() {
    let tree = Tree::read();
    let (mut named, mut missing) = (0, Vec::new());
    for (page, text) in tree.pages() {
        let plain = |name: &&str| {
            name.chars()
                .all(|c| c.is_alphanumeric() || "/._-".contains(c))
        };
        for name in code(&text).filter(plain) {
            let first = name.split('/').next().unwrap_or_default();
            let is_file = Path::new(name)
                .extension()
                .is_some_and(|kind| kind == "rs" || kind == "md");
            let is_path = name.contains('/') && tree.root.join(first).is_dir() && !first.is_empty();
            if is_file || is_path {
                named += 1;
                if !tree.has(name.trim_end_matches('/')) {
                    missing.push((page, name.to_owned()));
                }
            }
        }
    }
    assert!(named > 100, "{named} are named");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let tree = Tree::read();
    let (mut links, mut broken) = (0, Vec::new());
    for (page, text) in tree.pages() {
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = tree.root.join(page);
            let target = match path {
                "" => target,
                path => target.parent().unwrap().join(path),
            };
            let leads = target.exists()
                && (heading.is_empty() || {
                    let text = with_included(&target);
                    let mut headings = text.lines().filter(|line| line.starts_with('#'));
                    headings.any(|line| anchor(line) == heading)
                });
            if !leads {
                broken.push((page, link.to_owned()));
            }
        }
    }
    assert!(links > 20, "{links} links");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// `cargo test -p PACKAGE --test TARGET FILTER`: the package has the target, and a file of it is named so.
#[test]
fn every_command_of_a_page_names_packages_tests_and_modules_that_are_there() {
    let tree = Tree::read();
    let (mut commands, mut wrong) = (0, Vec::new());
    for (page, text) in tree.pages() {
        let lines = text.lines().filter(|line| line.starts_with("cargo "));
        let inline = code(&text).filter(|code| code.contains("cargo "));
        for command in lines.chain(inline) {
            let command = command.split('#').next().unwrap_or_default();
            let words: Vec<&str> = command.split_whitespace().collect();
            let after = |option: &str| {
                let at = words.iter().position(|word| *word == option)?;
                words.get(at + 1).copied()
            };
            let Some(name) = after("-p") else { continue };
            commands += 1;
            let Some(package) = tree.package(name) else {
                wrong.push((page, command.to_owned()));
                continue;
            };
            let Some(target) = after("--test") else {
                continue;
            };
            let tests = package.join("tests");
            let in_folder = tests.join(target);
            let file = tests.join(format!("{target}.rs"));
            let last = words.last().copied().unwrap_or_default();
            let module = last.trim_end_matches("::");
            let is_there = match in_folder.join("main.rs") {
                main if tree.paths.contains(&main) => {
                    last == target
                        || tree.paths.iter().any(|path| {
                            let stem = path.file_stem().unwrap_or_default();
                            path.starts_with(&in_folder)
                                && stem.to_string_lossy().starts_with(module)
                        })
                }
                _ => tree.paths.contains(&file),
            };
            if !is_there {
                wrong.push((page, command.to_owned()));
            }
        }
    }
    assert!(commands > 10, "{commands} commands");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names in the last column of the table of stored formats.
#[test]
fn every_stored_format_names_tests_that_are_there() {
    let tree = Tree::read();
    let page = include_str!("../../../docs/book/src/compatibility.md");
    let (_, table) = page.split_once("| tests that hold it |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let is_source = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "rs");
    let sources = tree.paths.iter().filter(is_source);
    let sources: Vec<String> = sources
        .map(|path| fs::read_to_string(tree.root.join(path)).unwrap())
        .collect();
    let mut formats = 0;
    for row in table.lines().skip(2) {
        formats += 1;
        let (_, cell) = row.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        assert!(code(cell).count() > 0, "no test holds this: {row}");
        for name in code(cell).filter(|name| !name.contains('/')) {
            let test = format!("#[test]\n    fn {name}(");
            let test_at_the_top = format!("#[test]\nfn {name}(");
            let is_there = |text: &String| text.contains(&test) || text.contains(&test_at_the_top);
            assert!(sources.iter().any(is_there), "there is no test {name}");
        }
    }
    assert!(formats > 7, "{formats} formats");
}
