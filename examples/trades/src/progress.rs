//! The progress bar: on a terminal only, and on the standard error, away from the results.

use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressStyle};

const BAR: &str = "{bar:30} {bytes}/{total_bytes} {msg}";
/// Where the length of the input is not known.
const SPINNER: &str = "{spinner} {bytes} {msg}";

/// A bar over the bytes of a file; hidden where the standard error is no terminal.
pub(crate) fn bar(bytes: Option<u64>) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let (bar, template) = match bytes {
        Some(bytes) => (ProgressBar::new(bytes), BAR),
        None => (ProgressBar::no_length(), SPINNER),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("=> ")),
        Err(_) => bar,
    }
}
