//! Models whose buckets are merged.

use bucket_mongo::{Bucketed, Window, bson::DateTime};
use serde::{Deserialize, Serialize};

/// The parts of a window become one.
#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "monthly",
    items = "readings",
    window = "month",
    parts,
    seal_after = "1h",
    merge = "month"
)]
struct Monthly {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    at: DateTime,
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "daily",
    items = "readings",
    window = "24h",
    seal_after = "1h",
    merge = "week"
)]
struct Daily {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    at: DateTime,
}

/// Hybrid buckets that follow one another become one.
#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "hybrid",
    items = "readings",
    capacity = 100,
    max_duration = "1h",
    late = "side",
    seal_after = "1h",
    merge = "day"
)]
struct Hybrid {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    at: DateTime,
}

#[test]
fn compiles_and_keeps_its_promises() {
    assert_eq!(Monthly::SPEC.merge(), Some(Window::Month));
    assert_eq!(Daily::SPEC.merge(), Some(Window::Week));
    assert_eq!(Hybrid::SPEC.merge(), Some(Window::Day));
}
