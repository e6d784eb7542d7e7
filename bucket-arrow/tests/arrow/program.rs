//! Folders of tests, and the example that a test kills.

use std::{env, fs, path::PathBuf};

/// A new folder for the files of a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The example `export`, which `cargo test -p bucket-arrow` builds. With `--test arrow` it may be an old one.
pub fn example() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    folder.join("examples").join("export")
}
