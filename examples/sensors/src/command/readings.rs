//! `sensors readings DEVICE TYPE`: the readings of a sensor, as they come from the server.

use std::io::{BufWriter, Write};

use example_kit::{Error, Server, cli::Format, json, text};
use futures_util::TryStreamExt as _;

use super::filled;
use crate::{APP, cli::Select, reading::Shown, table};

pub(super) async fn run(select: Select, out: &mut impl Write) -> Result<(), Error> {
    let Select {
        sensor,
        range,
        output,
    } = select;
    let format = output.format();
    let server = Server::start(APP).await?;
    server.tell_if_built_in("readings", format);
    let buckets = filled(&server).await?;

    // The standard output would write each line by itself.
    let mut out = BufWriter::new(out);
    let mut number = 0;
    let mut readings = buckets.range(sensor.key(), range).stream();
    while let Some(reading) = readings.try_next().await? {
        number += 1;
        match format {
            Format::Json => json::print(&Shown::from(&reading), &mut out)?,
            Format::Text => {
                if number == 1 {
                    writeln!(out, "{sensor}\n\n{}", table::reading_header())?;
                }
                writeln!(out, "{}", table::reading_line(&reading))?;
            }
        }
    }
    match (format, number) {
        (Format::Json, _) => {}
        (Format::Text, 0) => writeln!(out, "{}", sensor.has_none(range))?,
        (Format::Text, _) => writeln!(out, "\n{}", text::counted(number, "reading"))?,
    }
    out.flush()?;
    Ok(())
}
