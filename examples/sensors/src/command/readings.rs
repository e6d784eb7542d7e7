//! `sensors readings DEVICE TYPE`: the readings of a sensor, streamed from the server.

use std::io::{BufWriter, Write};

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json, text};
use futures_util::TryStreamExt as _;

use crate::{cli::Select, model::Reading, reading::Shown, table};

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    select: Select,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Select {
        sensor,
        range,
        output,
    } = select;
    let format = output.format();

    // The standard output would flush each line.
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
