//! pandas, `pyarrow` and Polars read what an export writes.
//!
//! The test needs `python3` with `venv` and a package index. Where they cannot be had it fails, unless
//! `BUCKET_WITHOUT_PYTHON=1` leaves it out.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use bucket_arrow::{Format, ToArrow};
use bucket_mongo::{
    Bucketed,
    bson::{Binary, DateTime, Decimal128, oid::ObjectId, spec::BinarySubtype},
};
use serde::{Deserialize, Serialize};

use super::{program::folder, server::database};

const PACKAGES: [&str; 3] = ["pandas", "polars", "pyarrow"];

/// An interpreter with the packages, kept in the folder of builds.
fn python() -> Result<PathBuf, String> {
    let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python-with-arrow");
    let python = venv.join("bin/python");
    let import = format!("import {}", PACKAGES.join(", "));
    let has = |python: &Path| {
        let run = Command::new(python).args(["-c", &import]).output();
        run.is_ok_and(|run| run.status.success())
    };
    if has(&python) {
        return Ok(python);
    }
    let run = |program: &Path, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).output();
        match run {
            Ok(run) if run.status.success() => Ok(()),
            Ok(run) => Err(String::from_utf8_lossy(&run.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        }
    };
    let venv = venv.to_str().unwrap();
    run(Path::new("python3"), &["-m", "venv", venv])?;
    let mut install = vec!["-m", "pip", "install", "--quiet", "--only-binary", ":all:"];
    install.extend(PACKAGES);
    run(&python, &install)?;
    Ok(python)
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
    if env::var_os("BUCKET_WITHOUT_PYTHON").is_some() {
        eprintln!("BUCKET_WITHOUT_PYTHON is set: nothing was read with pandas and Polars");
        return;
    }
    let python = python().unwrap_or_else(|error| {
        panic!(
            "this test needs python3 with venv and pip, and the packages {}: install them, or leave it out with \
             BUCKET_WITHOUT_PYTHON=1: {error}",
            PACKAGES.join(", ")
        )
    });
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
