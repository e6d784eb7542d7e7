//! The progress bar: on a terminal only, and on the standard error, away from the results.

use std::io::{self, IsTerminal as _};

pub use indicatif::ProgressBar;
use indicatif::ProgressStyle;

const BYTES: &str = "{bar:30} {bytes}/{total_bytes} {msg}";
/// For input of unknown length.
const SPINNER: &str = "{spinner} {bytes} {msg}";
const RECORDS: &str = "{bar:30} {human_pos}/{human_len} {msg}";

/// A bar over the bytes of a file; hidden if the standard error is not a terminal.
#[must_use]
pub fn bytes(bytes: Option<u64>) -> ProgressBar {
    match bytes {
        Some(bytes) => shown(|| ProgressBar::new(bytes), BYTES),
        None => shown(ProgressBar::no_length, SPINNER),
    }
}

/// A bar over a known number of records; hidden if the standard error is not a terminal.
#[must_use]
pub fn records(records: u64) -> ProgressBar {
    shown(|| ProgressBar::new(records), RECORDS)
}

fn shown(bar: impl FnOnce() -> ProgressBar, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = bar();
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
