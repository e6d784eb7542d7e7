//! `completions`: what a shell completes.

use clap_complete::{Shell, generate};

use crate::{error::Error, exit::Outcome, out::Out};

/// Which shell.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(
    asked: &Asked,
    definition: &mut clap::Command,
    program: &str,
    out: &mut Out,
) -> Result<Outcome, Error> {
    let mut script = Vec::new();
    generate(asked.shell, definition, program, &mut script);
    out.raw(&script)?;
    Ok(Outcome::Done)
}
