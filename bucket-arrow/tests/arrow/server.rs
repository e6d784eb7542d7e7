//! One server for all tests, with a database for each, and models of every form.

use bucket_mongo::{
    Bucketed, Buckets, Record,
    bson::DateTime,
    testing::{DevServer, TestDatabase},
};
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// 1 January 2024.
pub const START: i64 = 1_704_067_200_000;
pub const DAY: i64 = 86_400_000;

pub async fn server() -> &'static DevServer {
    let start = || async { DevServer::builder().own().await.unwrap() };
    SERVER.get_or_init(start).await
}

pub async fn database(test: &str) -> TestDatabase {
    server().await.database(test).await.unwrap()
}

macro_rules! models {
    ($($name:ident: $collection:literal, [$($form:tt)+];)+) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = $collection, items = "items", $($form)+)]
        pub struct $name {
            #[bucket(key)]
            pub sensor: String,
            #[bucket(time)]
            pub at: DateTime,
            pub value: Option<f64>,
        }

        impl Sample for $name {
            fn sample(sensor: &str, at: i64, value: Option<f64>) -> Self {
                Self { sensor: sensor.to_owned(), at: DateTime::from_millis(at), value }
            }

            fn of(&self) -> (String, i64, Option<u64>) {
                (self.sensor.clone(), self.at.timestamp_millis(), self.value.map(f64::to_bits))
            }

            fn key_of(sensor: &str) -> <Self as Record>::Key {
                sensor.to_owned().into()
            }
        }
    )+};
}

/// What the models share.
pub trait Sample: Bucketed + Clone {
    fn sample(sensor: &str, at: i64, value: Option<f64>) -> Self;
    fn of(&self) -> (String, i64, Option<u64>);
    fn key_of(sensor: &str) -> Self::Key;
}

models! {
    Windowed: "windowed", [window = "6h", capacity = 20, seal_after = "1d", merge = "week"];
    Counted: "counted", [capacity = 7, seal_after = "1d"];
    Hybrid: "hybrid", [capacity = 9, max_duration = "2d", seal_after = "1d"];
    Numbered: "numbered", [capacity = 8, numbered, seal_after = "1d"];
}

/// Records of a key, in time order: before 1970, and over some months.
pub fn records<T: Sample>(sensor: &str, number: i64) -> Vec<T> {
    (0..number)
        .map(|at| {
            let time = if at < 3 {
                -DAY * 40 + at
            } else {
                START + at * DAY / 2
            };
            #[allow(clippy::cast_precision_loss, reason = "small numbers")]
            let value = match at % 5 {
                0 => None,
                1 => Some(f64::from_bits(0x7ff8_0000_0000_0abc)),
                2 => Some(-0.0),
                _ => Some(at as f64 / 8.0),
            };
            T::sample(sensor, time, value)
        })
        .collect()
}

/// Stores records.
pub async fn store<T: Sample>(buckets: &Buckets<T>, records: Vec<T>) {
    buckets.ensure().await.unwrap();
    let report = buckets.insert_many(records).await.unwrap();
    report.into_result().unwrap();
}
