//! The commands, one a file.

mod demo;
mod load;
mod page;
mod show;

use std::{io::Write, process::ExitCode};

use crate::{
    cli::{Command, Format},
    error::Error,
    json,
    server::Server,
    text,
};

/// Runs a command, or the main job if there is none.
pub(crate) async fn run(command: Option<Command>, out: &mut impl Write) -> Result<ExitCode, Error> {
    match command {
        None => demo::run(out).await?,
        Some(Command::Load { file, output }) => {
            return load::run(&file, output.format(), out).await;
        }
        Some(Command::Page {
            customer,
            page,
            output,
        }) => {
            page::run(customer, page, output.format(), out).await?;
        }
        Some(Command::Show { customer, output }) => {
            show::run(customer, output.format(), out).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A remark that belongs to no result, on the standard error.
fn note(message: &str, format: Format) {
    match format {
        Format::Text => text::complain(message),
        Format::Json => text::complain(&json::note(message)),
    }
}

/// A line of JSON.
fn print_json(value: &impl serde::Serialize, out: &mut impl Write) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Says whose trades a reading command shows, where they are not the user's.
fn tell_if_built_in(server: &Server, format: Format) {
    if !server.is_lasting() && format == Format::Text {
        text::complain("MONGODB_URI is not set: these are the built-in trades\n");
    }
}
