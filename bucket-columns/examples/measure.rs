//! How small real readings become, and how fast: `cargo run --release -p bucket-columns --example measure`.
//!
//! The argument is a CSV file as `examples/sensors/data/sensors.csv`: device, type, time, value.

use std::{
    collections::BTreeMap, env, error::Error, fs, hint::black_box, io::Write as _, path::Path,
    time::Instant,
};

use bson::{DateTime, RawDocument, RawDocumentBuf, rawdoc};
use bucket_columns::{Columns, pack};

fn main() -> Result<(), Box<dyn Error>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/sensors/data/sensors.csv");
    let file = env::args().nth(1).map_or(own, Into::into);
    let mut series: BTreeMap<String, Vec<(DateTime, f64)>> = BTreeMap::new();
    for line in fs::read_to_string(file)?.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [device, kind, at, value] = fields[..] else {
            return Err("a line has four fields".into());
        };
        let at = DateTime::parse_rfc3339_str(at)?;
        series
            .entry(format!("{device} {kind}"))
            .or_default()
            .push((at, value.parse()?));
    }
    let readings: usize = series.values().map(Vec::len).sum();
    let mut out = std::io::stdout();
    writeln!(out, "{readings} readings, two values each\n")?;
    writeln!(
        out,
        "a bucket | rows, bytes | packed, bytes | pack, M values/s | read, M values/s | rows, M values/s"
    )?;
    for size in [60, 200, 1_000, 4_000] {
        let buckets: Vec<Vec<RawDocumentBuf>> = series
            .values()
            .flat_map(|series| series.chunks(size))
            .map(|chunk| {
                chunk
                    .iter()
                    .map(|(at, value)| rawdoc! { "timestamp": *at, "value": *value })
                    .collect()
            })
            .collect();
        let rows: usize = buckets
            .iter()
            .flatten()
            .map(|row| row.as_bytes().len() + 5)
            .sum();
        let mut packed = Vec::new();
        let rate = |millions: &dyn Fn() -> Result<(), Box<dyn Error>>| {
            let mut best = f64::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                millions()?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            Ok::<_, Box<dyn Error>>(figure(2 * readings) / best / 1e6)
        };
        for bucket in &buckets {
            packed.push(pack(all(bucket))?);
        }
        let packing = rate(&|| {
            for bucket in &buckets {
                black_box(pack(all(bucket))?);
            }
            Ok(())
        })?;
        let reading = rate(&|| {
            for packed in &packed {
                black_box(Columns::read(packed)?);
            }
            Ok(())
        })?;
        let putting_together = rate(&|| {
            let mut row = Vec::new();
            for packed in &packed {
                let mut rows = Columns::read(packed)?.into_rows();
                row.clear();
                while rows.write_row(&mut row) {}
                black_box(&row);
            }
            Ok(())
        })?;
        let bytes: usize = packed.iter().map(Vec::len).sum();
        let each = |bytes: usize| figure(bytes) / figure(readings);
        writeln!(
            out,
            "{size:8} | {:11.2} | {:13.2} | {packing:16.1} | {reading:16.1} | {putting_together:16.1}",
            each(rows),
            each(bytes),
        )?;
    }
    Ok(())
}

fn all(bucket: &[RawDocumentBuf]) -> impl Iterator<Item = &RawDocument> {
    bucket.iter().map(|row| &**row)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people")]
fn figure(count: usize) -> f64 {
    count as f64
}
