//! `sensors latest`: the newest reading of each device and type.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json};

use crate::{model::Reading, reading::Shown, table};

pub(super) async fn run(
    buckets: &Buckets<Reading>,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let readings = newest(buckets).await?;
    match format {
        Format::Json => {
            for reading in &readings {
                json::print(&Shown::from(reading), out)?;
            }
        }
        Format::Text if readings.is_empty() => {
            let name = buckets.database().name();
            writeln!(
                out,
                "no readings in `{name}.{}`",
                buckets.spec().collection()
            )?;
        }
        Format::Text => write!(out, "{}", table::latest(&readings))?,
    }
    Ok(())
}

/// The server returns them in any order; here they are sorted by device and type.
async fn newest(buckets: &Buckets<Reading>) -> Result<Vec<Reading>, Error> {
    let mut readings = buckets.latest_per_key().await?;
    let sensor = |reading: &Reading| (reading.device_id.clone(), reading.sensor_type.clone());
    readings.sort_by_cached_key(sensor);
    Ok(readings)
}
