//! The app, its real file parsed by the tests, and its stored documents.

use std::{collections::BTreeMap, fs, path::Path};

use bucket_mongo::bson::Document;
use example_kit::testing::{App, Program, documents};

pub(crate) static SENSORS: Program = Program {
    binary: env!("CARGO_BIN_EXE_sensors"),
    folder: env!("CARGO_TARGET_TMPDIR"),
};

pub(crate) const HEADER: &str = "device_id,sensor_type,timestamp,value";

/// The values of one sensor in the real file.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    pub(crate) values: Vec<f64>,
    /// The hour of each, as text in the file: `2013-07-04T00`.
    pub(crate) hours: Vec<String>,
}

/// A reading of the real file. Its time is the text of the file, whose order is the time order.
pub(crate) type Row = (String, f64);

/// The readings of a sensor in the real file, from one time up to another, in time order.
pub(crate) fn rows(device: &str, sensor: &str, from: &str, to: &str) -> Vec<Row> {
    let file = fs::read_to_string(real_file()).unwrap();
    let own = format!("{device},{sensor},");
    let rows = file.lines().filter_map(|line| line.strip_prefix(&own));
    let rows = rows.map(|row| row.split_once(',').unwrap());
    let within = rows
        .filter(|(time, _)| (from.is_empty() || from <= *time) && (to.is_empty() || *time < to));
    let mut rows: Vec<Row> = within
        .map(|(time, value)| (time.to_owned(), value.parse().unwrap()))
        .collect();
    sort(&mut rows);
    rows
}

/// By time; readings with equal times by value.
pub(crate) fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
}

/// The app with the real file loaded.
pub(crate) async fn with_real_file(test: &str) -> App {
    let app = SENSORS.app(test).await;
    assert_eq!(app.run(&["load", &real_file()]).code, Some(0));
    app
}

/// `command` for a sensor and a span of time; an empty text for no bound.
pub(crate) fn select<'a>(
    command: &'a str,
    sensor: [&'a str; 2],
    span: [&'a str; 2],
) -> Vec<&'a str> {
    let mut arguments = vec![command, sensor[0], sensor[1], "--json"];
    for (option, bound) in [("--from", span[0]), ("--to", span[1])] {
        if !bound.is_empty() {
            arguments.extend([option, bound]);
        }
    }
    arguments
}

/// The figures of each device and type according to the real file.
pub(crate) fn expected() -> BTreeMap<(String, String), Expected> {
    let mut sensors = BTreeMap::<_, Expected>::new();
    for line in fs::read_to_string(real_file()).unwrap().lines().skip(1) {
        let columns: Vec<_> = line.split(',').collect();
        let key = (columns[0].to_owned(), columns[1].to_owned());
        let sensor = sensors.entry(key).or_default();
        sensor.hours.push(columns[2][..13].to_owned());
        sensor.values.push(columns[3].parse().unwrap());
    }
    sensors
}

impl Expected {
    /// All types in the file have windows of one hour, and no hour fills a bucket.
    pub(crate) fn buckets(&self) -> usize {
        let mut hours = self.hours.clone();
        hours.sort();
        hours.dedup();
        hours.len()
    }

    pub(crate) fn min(&self) -> f64 {
        self.values.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub(crate) fn max(&self) -> f64 {
        self.values
            .iter()
            .copied()
            .fold(f64::NEG_INFINITY, f64::max)
    }

    pub(crate) fn average(&self) -> f64 {
        let number = u32::try_from(self.values.len()).unwrap();
        self.values.iter().sum::<f64>() / f64::from(number)
    }

    /// Whether `found` is the percentile `percent` of the values, within 1 %.
    pub(crate) fn is_percentile(&self, percent: usize, found: f64) -> bool {
        let mut values = self.values.clone();
        values.sort_by(f64::total_cmp);
        let exact = values[(values.len() - 1) * percent / 100];
        (found - exact).abs() <= 0.0101 * exact.abs()
    }
}

/// The path of the real file.
pub(crate) fn real_file() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sensors.csv");
    path.to_str().unwrap().to_owned()
}

/// The stored buckets, in the order of their ids.
pub(crate) async fn buckets(app: &App) -> Vec<Document> {
    documents(app.database(), "iot_buckets").await
}

pub(crate) fn readings(bucket: &Document) -> Vec<&Document> {
    let readings = bucket.get_array("readings").unwrap();
    readings
        .iter()
        .map(|reading| reading.as_document().unwrap())
        .collect()
}
