//! Progress: on a terminal only, and on the standard error, away from the results.

use std::{
    io::{self, IsTerminal as _},
    time::Duration,
};

use indicatif::ProgressBar;

use crate::out::Out;

/// A spinner with a message; hidden if the standard error is no terminal, or with `--quiet`.
pub(crate) fn spinner(out: &Out) -> ProgressBar {
    if out.is_quiet() || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
