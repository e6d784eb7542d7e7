//! `man`: the manual page, or a folder with one for each command.

use std::path::PathBuf;

use clap_mangen::Man;

use crate::{error::Error, exit::Outcome, out::Out};

/// Where the pages go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// Write a page for the program and one for each command into this folder, instead of printing the first
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

pub(crate) fn run(
    asked: &Asked,
    definition: clap::Command,
    out: &mut Out,
) -> Result<Outcome, Error> {
    if let Some(folder) = &asked.to {
        clap_mangen::generate_to(definition, folder).map_err(|error| {
            Error::Failed(format!(
                "the pages cannot be written to `{}`: {error}",
                folder.display()
            ))
        })?;
    } else {
        let mut page = Vec::new();
        Man::new(definition).render(&mut page)?;
        out.raw(&page)?;
    }
    Ok(Outcome::Done)
}
