//! `rustdoc` with its unstable options, for the listing in `tests/listing.rs`.
//!
//! The variable that allows them is set for `rustdoc` only. Build scripts look at it too: set for all of Cargo, it
//! would build every dependency again.

use std::{
    env,
    process::{Command, ExitCode},
};

fn main() -> ExitCode {
    let mut rustdoc = Command::new("rustdoc");
    rustdoc.args(env::args_os().skip(1));
    rustdoc.env("RUSTC_BOOTSTRAP", "1");
    match rustdoc.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
