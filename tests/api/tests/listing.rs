//! The public API of the five crates is what `docs/api` lists.
//!
//! `UPDATE_API=1 cargo test -p api` makes the listings anew.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

use public_api::PublicItem;

const CRATES: [&str; 5] = [
    "bucket-core",
    "bucket-derive",
    "bucket-mongo",
    "bucket-cli",
    "bucket-arrow",
];

/// All of ours, as in `.ci/run`.
const FEATURES: [&str; 8] = [
    // Those that `bucket-core` has come first.
    "chrono-0_4",
    "time-0_3",
    "jiff-0_2",
    "time-zones",
    "uuid-1",
    "seal",
    "metrics",
    "testing",
];

/// The folder that Cargo builds in: `tmp` in it is the one for tests.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Writes what `rustdoc` knows of these packages as JSON.
///
/// The features are those of the gate's documentation, so that no dependency is built again.
fn document(packages: &[&str], features: &[String], flags: &str) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["doc", "--no-deps", "--locked", "--quiet"]);
    cargo
        .args(packages)
        .args(["--features", &features.join(",")]);
    cargo.arg("--target-dir").arg(target());
    cargo.env("RUSTDOC", env!("CARGO_BIN_EXE_json-rustdoc"));
    // They name the package of this test. `ring` is built anew wherever they change, and the driver with it: here, and in the
    // next build by hand.
    for name in env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(name);
        }
    }
    let flags = format!("-Zunstable-options --output-format=json {flags}");
    cargo.env("RUSTDOCFLAGS", flags);
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
}

/// Auto traits that callers ask for. One that a type has without a condition is not listed.
const AUTO_TRAITS: [&str; 3] = [
    "core::marker::Send for ",
    "core::marker::Sync for ",
    "core::marker::Unpin for ",
];

/// Auto traits that are not listed.
const OTHER_AUTO_TRAITS: [&str; 3] = [
    "core::marker::Freeze for ",
    "core::marker::UnsafeUnpin for ",
    "UnwindSafe for ",
];

/// Part of lines that repeat an `impl` which is listed.
const REPEATED: [&str; 9] = [
    "::assert_fields_are_eq(&self)",
    "::clone(&self) -> ",
    "::cmp(&self, &",
    "::eq(&self, &",
    "::fmt(&self, &mut core::fmt::Formatter<'_>) -> core::fmt::Result",
    "::hash<__H: core::hash::Hasher>(&self, &mut __H)",
    "::partial_cmp(&self, &",
    "core::clone::TrivialClone for ",
    "impl core::marker::StructuralPartialEq for ",
];

fn is_listed(line: &str) -> bool {
    if [&REPEATED[..], &OTHER_AUTO_TRAITS]
        .concat()
        .iter()
        .any(|part| line.contains(part))
    {
        return false;
    }
    // `impl !Send for` or `impl<T> Send for .. where ..`
    let auto_trait = AUTO_TRAITS.iter().find_map(|name| line.split_once(name));
    auto_trait.is_none_or(|(head, tail)| head.ends_with('!') || tail.contains(" where "))
}

/// What a crate has, one item a line. An item with two paths has its methods below the first one.
fn listing(name: &str) -> String {
    let json = target().join(format!("doc/{}.json", name.replace('-', "_")));
    let api = public_api::Builder::from_rustdoc_json(json).omit_blanket_impls(true);
    let api = api
        .build()
        .expect("this version of `public-api` reads the JSON of this version of `rustdoc`");
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for line in api.items().map(PublicItem::to_string) {
        if is_listed(&line) && seen.insert(line.clone()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The name of an item at the root of `bucket-core`, if the line says that it comes from elsewhere.
fn re_exported(line: &str) -> Option<&str> {
    line.strip_prefix("pub use bucket_core::")
}

/// A character of a path.
fn is_of_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// The line with each of these items at the root, whatever its module is.
fn at_the_root(line: &str, names: &BTreeSet<&str>) -> String {
    let mut text = String::new();
    for path in line.split_inclusive(|c| !is_of_path(c)) {
        let is_item = |part: &str| names.contains(part.trim_end_matches(|c| !is_of_path(c)));
        let parts: Vec<&str> = path.split("::").collect();
        match parts.iter().position(|part| is_item(part)) {
            Some(at) if parts[0] == "bucket_core" => {
                text.push_str("bucket_core::");
                text.push_str(&parts[at..].join("::"));
            }
            _ => text.push_str(path),
        }
    }
    text
}

/// Whether a line is about one of these items at the root: its own line, a field, a method, an `impl`.
fn is_about(line: &str, names: &BTreeSet<&str>) -> bool {
    let subject = match line.split_once(" for ") {
        Some((_, of_trait)) if line.starts_with("impl") => of_trait,
        _ if line.starts_with("impl<") => line.split_once("> ").map_or(line, |(_, of)| of),
        _ => line,
    };
    let Some((_, path)) = subject.split_once("bucket_core::") else {
        return false;
    };
    let path = path.split(|c| !is_of_path(c)).next().unwrap_or_default();
    let mut parts = path.split("::");
    parts.next().is_some_and(|part| names.contains(part))
        && parts.all(|part| !part.starts_with("__"))
}

/// Adds what `bucket-core` re-exports from modules that are hidden: `rustdoc` leaves it out of a listing without them.
fn with_re_exported(listed: &str, with_hidden: &str) -> String {
    let names: BTreeSet<&str> = listed.lines().filter_map(re_exported).collect();
    let mut known: BTreeSet<String> = listed
        .lines()
        .map(|line| at_the_root(line, &names))
        .collect();
    let mut text = listed.to_owned();
    for line in with_hidden
        .lines()
        .filter(|line| !line.starts_with("pub use "))
    {
        let line = at_the_root(line, &names);
        if is_about(&line, &names) && known.insert(line.clone()) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The listing of each crate.
fn listings() -> [String; 5] {
    let features = |package| FEATURES.map(|name| format!("{package}/{name}"));
    document(&["--workspace"], &features("bucket-mongo"), "");
    let mut listings = CRATES.map(listing);
    let of_core = &features("bucket-core")[..5];
    document(&["-p", CRATES[0]], of_core, "--document-hidden-items");
    listings[0] = with_re_exported(&listings[0], &listing(CRATES[0]));
    listings
}

#[test]
fn the_listing_of_each_crate_is_its_public_api() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
    for (name, now) in CRATES.into_iter().zip(listings()) {
        let path = folder.join(name).with_extension("txt");
        if env::var_os("UPDATE_API").is_some() {
            fs::write(&path, &now).unwrap();
        }
        let listed = fs::read_to_string(&path).unwrap_or_default();
        let (listed, now): (BTreeSet<&str>, BTreeSet<&str>) =
            (listed.lines().collect(), now.lines().collect());
        let gone: Vec<_> = listed.difference(&now).collect();
        let new: Vec<_> = now.difference(&listed).collect();
        assert!(
            gone.is_empty() && new.is_empty(),
            "the public API of {name} changed; if you meant it: UPDATE_API=1 cargo test -p api\n\
             gone: {gone:#?}\nnew: {new:#?}",
        );
    }
}
