//! Attributes that the model declares are columns, wherever they are stored.

use std::collections::BTreeMap;

use bucket_arrow::{ToArrow, arrow_array::RecordBatch};
use bucket_mongo::{Bucketed, bson::DateTime};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

use super::{
    cell::{Cell, rows},
    server::{START, database},
};

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", window = "1h")]
#[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
struct Scan {
    #[bucket(key)]
    machine: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(max, attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", factor = 29.5735))]
    volume_ounces: Option<f64>,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: String,
    counts: BTreeMap<String, i64>,
}

fn scan(number: i32) -> Scan {
    Scan {
        machine: "press-1".into(),
        at: DateTime::from_millis(START + i64::from(number)),
        volume_ml: (number % 2 == 0).then_some(number),
        volume_ounces: (number % 3 == 0).then(|| f64::from(number) / 4.0),
        site: "Ulm".into(),
        counts: BTreeMap::from([("good".into(), i64::from(number)), ("bad".into(), 0)]),
    }
}

#[tokio::test]
async fn declared_attributes_are_columns() {
    let database = database("arrow_attributes").await;
    let scans = Scan::buckets(&database);
    scans.ensure().await.unwrap();
    let all: Vec<Scan> = (0..7).map(scan).collect();
    let report = scans.insert_many(all.clone()).await.unwrap();
    report.into_result().unwrap();
    let batches = scans.to_arrow().stream().unwrap();
    let batches: Vec<RecordBatch> = batches.try_collect().await.unwrap();
    let expected: Vec<Cell> = all
        .into_iter()
        .map(|scan| {
            let counts = scan.counts.into_iter();
            Cell::fields([
                ("machine", Cell::text(scan.machine)),
                ("at", Cell::Date(scan.at.timestamp_millis())),
                ("volume_ml", scan.volume_ml.into()),
                ("volume_ounces", scan.volume_ounces.map(Cell::float).into()),
                ("site", Cell::text(scan.site)),
                (
                    "counts",
                    Cell::Map(counts.map(|(key, value)| (key, value.into())).collect()),
                ),
            ])
        })
        .collect();
    assert_eq!(rows(&batches), expected);
}
