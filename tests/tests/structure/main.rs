//! How the files of the crates depend on each other: determined from their sources, without a
//! build.

mod circles;
mod growth;
mod source;

use std::{
    fs,
    path::{Path, PathBuf},
};

use self::source::{Files, Imports, imports};

const CRATES: [&str; 6] = [
    "bucket-core",
    "bucket-mongo",
    "bucket-derive",
    "bucket-cli",
    "bucket-arrow",
    "bench",
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The sources in a folder, by their paths in the workspace.
fn read(folder: &Path, to: &mut Files) {
    for entry in fs::read_dir(workspace().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            read(&path, to);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            to.insert(path, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

fn imports_of(name: &str) -> Imports {
    let src = Path::new(name).join("src");
    let mut files = Files::new();
    read(&src, &mut files);
    let roots = ["lib.rs", "main.rs"].map(|root| src.join(root));
    let root = roots.into_iter().find(|root| files.contains_key(root));
    imports(&files, &root.unwrap())
}

/// The groups of core from the ground up, as in `docs/architecture.md`.
const GROUPS: [&str; 20] = [
    "text",
    "error",
    "time",
    "model",
    "codec",
    "attribute",
    "stats",
    "bucket",
    "read",
    "index",
    "write",
    "schema",
    "edit",
    "check",
    "seal",
    "archive",
    "repair",
    "watch",
    "backfill",
    "compare",
];

/// The group of a file of core; none for the root and what it exports to generated code.
fn group_of(file: &Path) -> Option<usize> {
    let file = file
        .strip_prefix("bucket-core/src")
        .ok()?
        .with_extension("");
    let first = file.iter().next()?.to_str()?;
    GROUPS.iter().position(|group| *group == first)
}

/// The imports that form a circle, one per line.
fn ties(imports: &Imports, circle: &[PathBuf]) -> Vec<String> {
    let mut ties = Vec::new();
    for (file, of_file) in imports.iter().filter(|(file, _)| circle.contains(file)) {
        for (other, names) in of_file.iter().filter(|(other, _)| circle.contains(other)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let (file, other) = (file.display(), other.display());
            ties.push(format!("{file} -> {other}: {}", names.join(", ")));
        }
    }
    ties
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    let mut found = Vec::new();
    for name in CRATES {
        let imports = imports_of(name);
        assert!(imports.len() > 20, "{name}: {} files import", imports.len());
        let circles = circles::of(&imports);
        found.extend(circles.iter().map(|circle| ties(&imports, circle)));
    }
    assert!(found.is_empty(), "circles: {found:#?}");
}

#[test]
fn imports_of_core_run_downwards() {
    let mut upwards = Vec::new();
    for (file, of_file) in &imports_of("bucket-core") {
        let is_root = ["lib.rs", "private.rs"]
            .iter()
            .any(|root| file.ends_with(root));
        assert!(
            is_root || group_of(file).is_some(),
            "{file:?} is in no group"
        );
        let Some(own) = group_of(file) else {
            continue;
        };
        for (other, names) in of_file {
            if group_of(other).is_none_or(|other| own < other) {
                upwards.push((file.clone(), other.clone(), names.clone()));
            }
        }
    }
    assert!(upwards.is_empty(), "{upwards:#?}");
}

#[test]
fn the_groups_of_core_are_in_the_order_of_the_page() {
    let page = fs::read_to_string(workspace().join("docs/architecture.md")).unwrap();
    let (_, table) = page.split_once("| folder | what it knows |").unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    assert_eq!(named, GROUPS);
}

#[test]
fn a_circle_is_seen_through_groups_facades_and_bodies() {
    let circles_of = |files: &[(&str, &str)]| {
        let files: Files = files
            .iter()
            .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
            .collect();
        circles::of(&imports(&files, Path::new("lib.rs")))
    };
    let root = ("lib.rs", "pub mod a; pub mod b; pub use self::b::Two;");
    let a = (
        "a.rs",
        "use crate::{b::{self, Two}, self as all}; pub struct One(Two);",
    );
    // Neither the text nor a method nor a test counts.
    let apart =
        "//! [`One`](crate::a::One)\npub struct Two; fn f(x: X) { x.One(\"crate::a::One\"); }
        #[cfg(test)] mod tests { use crate::a::One; }";
    assert!(circles_of(&[root, a, ("b.rs", apart)]).is_empty());
    for tied in [
        "use crate::{a::{One as First}}; pub struct Two(First);",
        "pub struct Two; fn f() -> usize { size_of::<super::a::One>() }",
        "pub struct Two; fn f() { use crate::a; a::One::new(); }",
        "pub struct Two; mod inner { use super::super::a::*; use crate::a::One; }",
    ] {
        assert_eq!(circles_of(&[root, a, ("b.rs", tied)]).len(), 1, "{tied}");
    }
    // A parent that uses its child, which uses its parent.
    let parent = (
        "a.rs",
        "mod child; pub use self::child::Child; pub struct One(Child);",
    );
    let child = ("a/child.rs", "use super::One; pub struct Child(Box<One>);");
    let b = ("b.rs", "pub struct Two;");
    assert_eq!(circles_of(&[root, parent, child, b]).len(), 1);
    // A parent that only re-exports its child's name.
    let parent = (
        "a.rs",
        "mod child; pub use self::child::Child; pub struct One;",
    );
    assert!(circles_of(&[root, parent, child, b]).is_empty());
}

const EMITTED: &str = "the derive makes it, field by field";
const MACHINE: &str =
    "between the machine and its executor: a new case must not compile until it is handled";

/// Types of core that need not grow, or are made and matched by the other crates of this workspace.
const EXHAUSTIVE: [(&str, &str); 38] = [
    ("StoredField", EMITTED),
    ("BucketParts", EMITTED),
    ("BucketRef", EMITTED),
    ("Aggregate", EMITTED),
    ("Input", EMITTED),
    ("EntryNames", EMITTED),
    ("AttributeField", EMITTED),
    ("Rest", EMITTED),
    ("SpecParts", EMITTED),
    ("KeyField", EMITTED),
    ("TimeField", EMITTED),
    ("IdSegment", EMITTED),
    ("Names", EMITTED),
    ("TimeUnit", EMITTED),
    ("FurtherLook", MACHINE),
    ("Placed", MACHINE),
    ("Next", MACHINE),
    ("EditNext", MACHINE),
    ("EditFailure", MACHINE),
    ("CallEvent", MACHINE),
    ("Delivered", MACHINE),
    ("Reason", MACHINE),
    ("Certainty", MACHINE),
    ("Change", MACHINE),
    ("Corrected", MACHINE),
    ("Deed", MACHINE),
    ("Event", MACHINE),
    ("Ended", MACHINE),
    ("Fault", MACHINE),
    ("Found", MACHINE),
    ("Ground", MACHINE),
    ("Look", MACHINE),
    ("Listing", MACHINE),
    ("OtherEntries", "users make it"),
    ("Shortened", "a wrapper of one text"),
    ("DocumentForm", "there are these two forms"),
    ("Sampled", MACHINE),
    ("Number", "the kinds of numbers of BSON"),
];

const WHOLE: &str = "compared with all its fields, which say everything";

/// Enums whose variants keep their fields.
const FIXED_VARIANTS: [(&str, &str); 13] = [
    ("Action", MACHINE),
    ("AggregateKind", EMITTED),
    ("AttributeFault", WHOLE),
    ("DocumentFault", WHOLE),
    ("DownloadError", "of the development server"),
    ("EncodeError", WHOLE),
    ("Error", "of the development server"),
    ("Form", EMITTED),
    ("IntervalError", WHOLE),
    ("Repetition", MACHINE),
    ("RollupError", WHOLE),
    ("TokenError", WHOLE),
    ("Unmet", MACHINE),
];

/// What this finds in the public crates is what a list allows.
fn is_allowed(find: fn(&str) -> Vec<String>, allowed: &[(&str, &str)]) {
    let mut found = Vec::new();
    for name in ["bucket-core", "bucket-mongo"] {
        let mut files = Files::new();
        read(&Path::new(name).join("src"), &mut files);
        found.extend(files.values().flat_map(|source| find(source)));
    }
    found.sort();
    let mut allowed: Vec<&str> = allowed.iter().map(|(name, _)| *name).collect();
    allowed.sort_unstable();
    assert_eq!(
        found, allowed,
        "`#[non_exhaustive]`, or a line with a reason"
    );
}

#[test]
fn public_types_may_grow() {
    is_allowed(growth::exhaustive, &EXHAUSTIVE);
}

#[test]
fn variants_with_named_fields_may_grow() {
    is_allowed(growth::fixed_variants, &FIXED_VARIANTS);
}

#[test]
fn a_variant_that_cannot_grow_is_seen() {
    for (variants, seen) in [
        ("A { a: u8 }", true),
        ("#[non_exhaustive] A { a: u8 }, B { b: u8 }", true),
        ("#[non_exhaustive] A { a: u8 }, B(u8), C", false),
    ] {
        let source = format!("#[non_exhaustive] pub enum One {{ {variants} }}");
        let expected: &[&str] = if seen { &["One"] } else { &[] };
        assert_eq!(growth::fixed_variants(&source), expected, "{variants}");
    }
}

#[test]
fn a_type_that_cannot_grow_is_seen() {
    for (source, seen) in [
        ("pub enum One { A }", true),
        (
            "#[derive(Debug)] pub struct One { pub a: Vec<u8>, b: u8 }",
            true,
        ),
        ("pub struct One(pub u8);", true),
        ("pub mod inner { pub enum One { A } }", true),
        (
            "pub fn f<T: X>(t: T) -> Y { z(t) } pub enum One { A }",
            true,
        ),
        ("pub struct One<T> where T: X { pub t: T }", true),
        ("#[non_exhaustive] pub enum One { A }", false),
        (
            "#[non_exhaustive] #[derive(Debug)] pub struct One { pub a: u8 }",
            false,
        ),
        ("pub struct One { a: u8, pub(crate) b: u8 }", false),
        ("pub struct One;", false),
        ("pub(crate) enum One { A }", false),
        ("enum One { A }", false),
        ("#[cfg(test)] mod tests { pub enum One { A } }", false),
    ] {
        let expected: &[&str] = if seen { &["One"] } else { &[] };
        assert_eq!(growth::exhaustive(source), expected, "{source}");
    }
}
