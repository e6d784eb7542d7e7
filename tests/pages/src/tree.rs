//! The files of the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The pages of the book.
pub(crate) const BOOK: &str = "docs/book/src";

/// Everything of the workspace but what is built, relative to its root.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) paths: Vec<PathBuf>,
}

impl Tree {
    pub(crate) fn read() -> Self {
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

    /// The pages with what is in them. Except for the book, those among the sources are parts of others. The
    /// changelog also names what is gone.
    pub(crate) fn pages(&self) -> Vec<(&Path, String)> {
        let page = |path: &&PathBuf| {
            let is_part = path.iter().any(|part| part == "src") && !path.starts_with(BOOK);
            let is_part = is_part || path.ends_with("CHANGELOG.md");
            path.extension().is_some_and(|kind| kind == "md") && !is_part
        };
        let text = |path: &PathBuf| fs::read_to_string(self.root.join(path)).unwrap();
        let pages = self.paths.iter().filter(page);
        pages.map(|path| (path.as_path(), text(path))).collect()
    }

    /// Finds the file or folder whose path a page shortens to its end.
    pub(crate) fn has(&self, end: &str) -> bool {
        self.paths.iter().any(|path| path.ends_with(end))
    }

    /// The folder of a package.
    pub(crate) fn package(&self, name: &str) -> Option<&Path> {
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

/// A page as the book shows it: `{{#include PATH}}` on a line of its own is the page of that path.
pub(crate) fn with_included(page: &Path) -> String {
    let text = fs::read_to_string(page).unwrap_or_default();
    let shown = text.lines().map(|line| match included(line) {
        Some(path) => fs::read_to_string(page.parent().unwrap().join(path)).unwrap(),
        None => line.to_owned(),
    });
    shown.collect::<Vec<_>>().join("\n")
}

/// The path that a line includes.
fn included(line: &str) -> Option<&str> {
    line.strip_prefix("{{#include ")?.strip_suffix("}}")
}
