//! The metrics of an ingestor are those of the table in `docs/tracing.md`, and add up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use bucket_mongo::{Bucketed, bson::DateTime};
use bucket_tests::database;
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use serde::{Deserialize, Serialize};

const TABLE: &str = include_str!("../../../docs/tracing.md");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "letters", items = "letters", capacity = 3)]
struct Letter {
    #[bucket(key)]
    recipient: i64,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

/// Everything that was recorded under a name, in its order.
type Values = Arc<Mutex<Vec<f64>>>;

#[derive(Default)]
struct Recorded {
    values: Mutex<BTreeMap<(&'static str, String), Values>>,
}

impl Recorded {
    fn of(&self, kind: &'static str, key: &Key) -> Arc<Metric> {
        let label = key.labels().next().unwrap();
        assert_eq!((label.key(), label.value()), ("collection", "letters"));
        let mut values = self.values.lock().unwrap();
        let values = values.entry((kind, key.name().to_owned())).or_default();
        Arc::new(Metric(Arc::clone(values)))
    }

    fn values(&self, name: &str) -> Vec<f64> {
        let values = self.values.lock().unwrap();
        let (_, found) = values.iter().find(|((_, known), _)| known == name).unwrap();
        found.lock().unwrap().clone()
    }

    /// All figures except the seconds are whole numbers.
    #[allow(clippy::cast_possible_truncation)]
    fn sum(&self, name: &str) -> i64 {
        self.values(name).iter().sum::<f64>() as i64
    }
}

struct Metric(Values);

impl Metric {
    fn push(&self, value: f64) {
        self.0.lock().unwrap().push(value);
    }
}

impl CounterFn for Metric {
    #[allow(clippy::cast_precision_loss)]
    fn increment(&self, value: u64) {
        self.push(value as f64);
    }

    fn absolute(&self, _: u64) {
        unreachable!()
    }
}

impl GaugeFn for Metric {
    fn increment(&self, value: f64) {
        self.push(value);
    }

    fn decrement(&self, _: f64) {
        unreachable!()
    }

    fn set(&self, _: f64) {
        unreachable!()
    }
}

impl HistogramFn for Metric {
    fn record(&self, value: f64) {
        self.push(value);
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.of("counter", key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.of("gauge", key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.of("histogram", key))
    }
}

fn letter(recipient: i64) -> Letter {
    Letter {
        recipient,
        at: DateTime::from_millis(1_698_335_223_000),
        text: "a letter".into(),
    }
}

/// The names and types of the table.
fn documented() -> BTreeSet<(String, String)> {
    let rows = TABLE
        .lines()
        .filter(|line| line.starts_with("| `bucket_ingest_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[2].to_owned(), cells[1].trim_matches('`').to_owned())
    })
    .collect()
}

#[tokio::test]
async fn metrics_are_those_of_the_table_and_add_up() {
    let database = database().await;
    let letters = Letter::buckets(&database);
    letters.ensure().await.unwrap();
    let recorded = Recorded::default();
    let settings = letters.ingestor().in_flight(1).max_batch_records(10);
    let settings = settings.max_buffered_bytes(100_000);
    let ingestor = metrics::with_local_recorder(&recorded, || settings.start().unwrap());
    for recipient in 0..25 {
        ingestor.push(&letter(recipient)).await.unwrap();
    }
    ingestor.flush().await.into_result().unwrap();

    let names: BTreeSet<(String, String)> = recorded
        .values
        .lock()
        .unwrap()
        .keys()
        .map(|(kind, name)| ((*kind).to_owned(), name.clone()))
        .collect();
    assert_eq!(names, documented());
    assert_eq!(recorded.sum("bucket_ingest_stored_total"), 25);
    assert_eq!(recorded.sum("bucket_ingest_batch_records"), 25);
    let batches = recorded.values("bucket_ingest_batch_records").len();
    assert!(batches >= 3, "{batches}");
    for each in ["batch_bytes", "batch_wait_seconds", "batch_write_seconds"] {
        let values = recorded.values(&format!("bucket_ingest_{each}"));
        assert_eq!(values.len(), batches, "{each}");
        assert!(
            values.iter().all(|value| *value > 0.0),
            "{each}: {values:?}"
        );
    }
    // The gauges go up and come down again.
    for gauge in ["buffered_records", "buffered_bytes"] {
        let gauge = format!("bucket_ingest_{gauge}");
        assert!(recorded.values(&gauge).iter().any(|step| *step > 0.0));
        assert_eq!(recorded.sum(&gauge), 0, "{gauge}");
    }

    while ingestor.try_push(&letter(1)).is_ok() {}
    assert_eq!(recorded.sum("bucket_ingest_refused_total"), 1);
    let report = ingestor.abort().await;
    assert!(report.not_stored() > 0);
    for (name, count) in [
        ("not_stored", report.not_stored()),
        ("not_known", report.unknown()),
    ] {
        let sum = recorded.sum(&format!("bucket_ingest_{name}_total"));
        assert_eq!(u64::try_from(sum), Ok(count), "{name}");
    }
}
