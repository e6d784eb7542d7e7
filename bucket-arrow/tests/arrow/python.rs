//! pandas, `pyarrow` and Polars read what an export writes.
//!
//! Where `python3` does not have them, the test says so and reads nothing. `BUCKET_PYTHON` names another interpreter, which must have
//! them.

use std::{
    env, fs,
    io::{self, Write as _},
    process::Command,
};

use bucket_arrow::{Format, ToArrow};
use bucket_mongo::{
    Bucketed,
    bson::{Binary, DateTime, Decimal128, oid::ObjectId, spec::BinarySubtype},
};
use serde::{Deserialize, Serialize};

use super::{program::folder, server::database};

/// Why this interpreter cannot read exports.
fn missing(python: &str) -> Option<String> {
    let run = Command::new(python)
        .args(["-c", "import pandas, polars, pyarrow"])
        .output();
    match run {
        Ok(run) if run.status.success() => None,
        Ok(run) => Some(String::from_utf8_lossy(&run.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "seen", items = "items", window = "day", capacity = 100)]
struct Seen {
    #[bucket(key)]
    plant: String,
    #[bucket(key)]
    sensor_id: i64,
    #[bucket(time)]
    at: DateTime,
    value: f64,
    maybe: Option<i64>,
    small: f32,
    text: Option<String>,
    price: Decimal128,
    id: ObjectId,
    bytes: Binary,
    more: Vec<i32>,
    place: Place,
    kind: Kind,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    x: f64,
    name: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Kind {
    Good,
    Bad { code: i32 },
}

fn seen(plant: &str, number: i32) -> Seen {
    let floats = [1.5, f64::NAN, -0.0, f64::INFINITY, 1e300];
    Seen {
        plant: plant.to_owned(),
        sensor_id: (1 << 53) + 1,
        // Before 1970, and then two of each month.
        at: DateTime::from_millis(i64::from(number) * 15 * 86_400_000 - 1),
        value: floats[usize::try_from(number).unwrap() % 5],
        maybe: (number % 3 > 0).then_some(i64::MAX - i64::from(number)),
        small: 0.1,
        text: [None, Some(String::new()), Some("a,\"b\"\nä".to_owned())]
            [usize::try_from(number).unwrap() % 3]
            .clone(),
        price: "1.10".parse().unwrap(),
        id: ObjectId::from_bytes([7; 12]),
        bytes: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![0, 255],
        },
        more: (0..number % 3).collect(),
        place: Place {
            x: 0.5,
            name: (number % 2 == 0).then(|| "here".to_owned()),
        },
        kind: if number % 2 == 0 {
            Kind::Good
        } else {
            Kind::Bad { code: number }
        },
    }
}

const SCRIPT: &str = include_str!("read.py");

#[tokio::test]
async fn pandas_pyarrow_and_polars_read_every_format() {
    let chosen = env::var("BUCKET_PYTHON");
    let python = chosen.as_deref().unwrap_or("python3");
    if let Some(error) = missing(python) {
        assert!(chosen.is_err(), "{python} cannot read exports: {error}");
        // Not a macro, whose text is only shown of tests that fail.
        let line =
            "LEFT OUT: python3 lacks pandas, polars or pyarrow, so nothing was read with them";
        writeln!(io::stderr(), "{line}").unwrap();
        return;
    }
    let database = database("export_python").await;
    let buckets = Seen::buckets(&database);
    buckets.ensure().await.unwrap();
    let plants = ["north", "so/uth ä"];
    let records = plants
        .iter()
        .flat_map(|plant| (0..10).map(|number| seen(plant, number)));
    let report = buckets
        .insert_many(records.collect::<Vec<_>>())
        .await
        .unwrap();
    report.into_result().unwrap();

    let root = folder("export_python");
    for (name, format) in [
        ("parquet", Format::default()),
        ("ipc", Format::Ipc),
        ("csv", Format::Csv),
        ("json", Format::JsonLines),
    ] {
        let report = buckets
            .to_arrow()
            .to_folder(root.join(name))
            .format(format)
            .await
            .unwrap();
        assert_eq!(report.records, 20);
    }
    let script = root.join("read.py");
    fs::write(&script, SCRIPT).unwrap();
    let run = Command::new(python)
        .arg(&script)
        .arg(&root)
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr),
    );
    assert!(run.status.success(), "{out}{err}");
    assert_eq!(out.trim(), "all read");
}
