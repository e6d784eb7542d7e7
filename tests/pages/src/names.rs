//! What the pages of the repository name is there: files, headings, packages and tests.

use std::path::Path;

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
