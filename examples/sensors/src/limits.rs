//! The window and the capacity of a bucket by type of sensor, which is the tutorial's table, and the place of old ones.

use bucket_mongo::{
    Archive, Bucketed as _, Buckets, Limits, Window, bson::Document, mongodb::Database,
};

use crate::model::{Reading, ReadingKey};

/// The buckets of a database, with the limits of each type and the archive.
pub(crate) fn buckets(database: &Database) -> Buckets<Reading> {
    let buckets = Reading::buckets(database).with_limits(of);
    buckets.with_archive(archive(database))
}

/// Where the readings of old buckets go.
pub(crate) fn archive(database: &Database) -> Archive {
    database.collection::<Document>("iot_archive").into()
}

fn of(key: &ReadingKey) -> Limits {
    let limits = Limits::new();
    match key.sensor_type.as_str() {
        "temperature" | "humidity" => limits.window(Window::hours(1)).capacity(60),
        "pressure" => limits.window(Window::minutes(30)).capacity(30),
        "vibration" => limits.window(Window::minutes(1)).capacity(1_000),
        // The default of the model: one hour, 100 readings.
        _ => limits,
    }
}
