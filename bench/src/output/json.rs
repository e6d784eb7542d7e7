//! The report as JSON, written and read.

use std::{fs, io::Write, path::Path};

use crate::{
    error::{Error, Result},
    report::Report,
};

/// Writes the report as one object with line breaks.
pub(crate) fn write(report: &Report, out: &mut impl Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    writeln!(out)?;
    Ok(())
}

/// Reads a report that an earlier run wrote.
pub(crate) fn read(file: &Path) -> Result<Report> {
    let unreadable = |error| Error::File("read", file.to_owned(), error);
    let text = fs::read(file).map_err(unreadable)?;
    serde_json::from_slice(&text).map_err(|error| unreadable(error.into()))
}
