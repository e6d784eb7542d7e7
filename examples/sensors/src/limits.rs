//! The window and the capacity of a bucket by type of sensor: the tutorial's table.

use bucket_mongo::{Bucketed as _, Buckets, Limits, Window, mongodb::Database};

use crate::model::{Reading, ReadingKey};

/// The buckets of a database, with the limits of each type.
pub(crate) fn buckets(database: &Database) -> Buckets<Reading> {
    Reading::buckets(database).with_limits(of)
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
