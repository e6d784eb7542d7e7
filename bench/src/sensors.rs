//! The real records: the readings of the example app `sensors`, and the library's models of them.

use bucket_mongo::{Bucketed, bson::DateTime};
use example_kit::csv_input::{
    self, FromRow, RowError, Values,
    field::{date, name, number},
};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// 53,060 readings of ten series; see the README next to the file.
const FILE: &[u8] = include_bytes!("../../examples/sensors/data/sensors.csv");

/// A reading as a flat collection stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SensorReading {
    pub(crate) device_id: String,
    pub(crate) sensor_type: String,
    pub(crate) ts: DateTime,
    pub(crate) v: f64,
    pub(crate) q: f64,
}

impl FromRow for SensorReading {
    const COLUMNS: &'static [&'static str] = &["device_id", "sensor_type", "timestamp", "value"];

    fn from_row(row: &Values<'_>) -> std::result::Result<Self, RowError> {
        Ok(Self {
            device_id: row.read("device_id", name)?,
            sensor_type: row.read("sensor_type", name)?,
            ts: row.read("timestamp", date)?,
            v: row.read("value", number)?,
            // The file has no quality: all readings have full quality.
            q: 1.0,
        })
    }
}

/// All readings, in their order of arrival.
pub(crate) fn sensor_readings() -> Result<Vec<SensorReading>> {
    let rows = csv_input::built_in::<SensorReading>("readings", FILE)?;
    Ok(rows.into_iter().map(|row| row.record).collect())
}

/// A model of the real readings.
pub(crate) trait SensorModel: Bucketed {
    /// What closes a bucket, for the tables.
    const NAME: &'static str;

    /// A reading as a record of the model.
    fn of(reading: &SensorReading) -> Self;
}

/// Each model is a way to close a bucket, and a name for the tables.
macro_rules! models {
    ($($(#[$bucket:meta])+ $model:ident: $name:literal;)+) => {$(
        $(#[$bucket])+
        #[derive(Debug, Clone, Serialize, Deserialize)]
        pub(crate) struct $model {
            #[bucket(key)]
            device_id: String,
            #[bucket(key)]
            sensor_type: String,
            #[bucket(time)]
            ts: DateTime,
            v: f64,
            q: f64,
        }

        impl SensorModel for $model {
            const NAME: &'static str = $name;

            fn of(reading: &SensorReading) -> Self {
                let SensorReading { device_id, sensor_type, ts, v, q } = reading.clone();
                Self { device_id, sensor_type, ts, v, q }
            }
        }
    )+};
}

models! {
    /// The manual's form with buckets of some 9 KB.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_200", items = "readings", capacity = 200, compression = "zstd")]
    Sensors200: "200 a bucket";

    /// The manual's form with buckets of some 44 KB.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_1000", items = "readings", capacity = 1_000, compression = "zstd")]
    Sensors1000: "1,000 a bucket";

    /// A bucket for each hour: no more than twelve of these readings.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_hourly", items = "readings", window = "1h", capacity = 100, compression = "zstd")]
    SensorsHourly: "an hour a bucket";

    /// The manual's form with buckets of some 44 KB, which are sealed once they are full.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_1000_sealed", items = "readings", capacity = 1_000, compression = "zstd", seal_after = "1h")]
    Sensors1000Sealed: "1,000 a bucket, sealed";

    /// A sealed bucket for each week: some 2,000 of most of these readings.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_weekly_sealed", items = "readings", window = "7d", capacity = 10_000, compression = "zstd", seal_after = "1h")]
    SensorsWeeklySealed: "a week a bucket, sealed";

    /// A sealed bucket for each hour: no more than twelve of these readings.
    #[derive(Bucketed)]
    #[bucket(collection = "sensors_hourly_sealed", items = "readings", window = "1h", capacity = 100, compression = "zstd", seal_after = "1h")]
    SensorsHourlySealed: "an hour a bucket, sealed";
}
