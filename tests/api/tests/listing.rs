//! The public API of the three crates is what `docs/api` lists.
//!
//! `UPDATE_API=1 cargo test -p api` makes the listings anew.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeSet, env, fs, path::Path, process::Command};

use public_api::PublicItem;

const CRATES: [&str; 3] = ["bucket-core", "bucket-derive", "bucket-mongo"];

/// All of ours, as in `.ci/run`.
const FEATURES: [&str; 7] = [
    "chrono-0_4",
    "time-0_3",
    "jiff-0_2",
    "time-zones",
    "uuid-1",
    "metrics",
    "testing",
];

/// The folder that Cargo builds in: `tmp` in it is the one for tests.
fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// Writes what `rustdoc` knows of each crate as JSON.
///
/// The packages and features are those of the gate's documentation, so that no dependency is built again.
fn document() {
    let features = FEATURES.map(|name| format!("bucket-mongo/{name}"));
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]);
    cargo.args(["--features", &features.join(",")]);
    cargo.arg("--target-dir").arg(target());
    cargo.env("RUSTDOC", env!("CARGO_BIN_EXE_json-rustdoc"));
    cargo.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json");
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
const REPEATED: [&str; 7] = [
    "::clone(&self) -> ",
    "::cmp(&self, &",
    "::eq(&self, &",
    "::fmt(&self, &mut core::fmt::Formatter<'_>) -> core::fmt::Result",
    "::hash<__H: core::hash::Hasher>(&self, &mut __H)",
    "::partial_cmp(&self, &",
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

#[test]
fn the_listing_of_each_crate_is_its_public_api() {
    document();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api");
    for name in CRATES {
        let path = folder.join(name).with_extension("txt");
        let now = listing(name);
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
