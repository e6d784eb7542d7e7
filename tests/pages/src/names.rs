//! What the pages of the repository name is there: files, headings, packages and tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Everything of the workspace but what is built, relative to its root.
struct Tree {
    root: PathBuf,
    paths: Vec<PathBuf>,
}

impl Tree {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut tree = Self {
            root,
            paths: Vec::new(),
        };
        tree.walk(Path::new(""));
        tree
    }

    fn walk(&mut self, folder: &Path) {
        for entry in fs::read_dir(self.root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if path == Path::new(".git") || entry.file_name() == "target" {
                continue;
            }
            if entry.file_type().unwrap().is_dir() {
                self.walk(&path);
            }
            self.paths.push(path);
        }
    }

    /// The pages with what is in them. Those among the sources are parts of others, and the changelog also
    /// names what is no more.
    fn pages(&self) -> Vec<(&Path, String)> {
        let page = |path: &&PathBuf| {
            let is_part = path.iter().any(|part| part == "src") || path.ends_with("CHANGELOG.md");
            path.extension().is_some_and(|kind| kind == "md") && !is_part
        };
        let text = |path: &PathBuf| fs::read_to_string(self.root.join(path)).unwrap();
        let pages = self.paths.iter().filter(page);
        pages.map(|path| (path.as_path(), text(path))).collect()
    }

    /// Where the file or folder is of which a page says only the end of the path.
    fn has(&self, end: &str) -> bool {
        self.paths.iter().any(|path| path.ends_with(end))
    }

    /// The folder of a package.
    fn package(&self, name: &str) -> Option<&Path> {
        let manifests = self
            .paths
            .iter()
            .filter(|path| path.ends_with("Cargo.toml"));
        let named = format!("name = \"{name}\"");
        let mut of_name = manifests.filter(|path| {
            let text = fs::read_to_string(self.root.join(path)).unwrap();
            text.lines().any(|line| line == named)
        });
        of_name.next()?.parent()
    }
}

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
                    let text = fs::read_to_string(&target).unwrap_or_default();
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
