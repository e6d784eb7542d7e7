//! Models of every form with a long limit, with a short one and without one.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// The limit of the models of `short`.
pub(crate) const LIMIT_S: i64 = 3_600;

/// A record that is identified by its number.
pub(crate) trait Event: Bucketed + Clone + PartialEq + std::fmt::Debug {
    fn of(device: i64, at: DateTime, number: i64) -> Self;
    fn number(&self) -> i64;
    fn key_of(device: i64) -> Self::Key;
}

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {
        /// The same models with a long and with a short limit.
        pub(crate) mod long {
            models! { @all "3650d" $($name: [$($attributes)*] [$($aggregates)*])* }
        }
        pub(crate) mod short {
            models! { @all "1h" $($name: [$($attributes)*] [$($aggregates)*])* }
        }
        /// And without one.
        pub(crate) mod without {
            use super::*;
            $(models! { @one $name: [$($attributes)*] [$($aggregates)*] })*
        }
    };
    (@all $limit:literal $($name:ident: [$($attributes:tt)*] [$($aggregates:tt)*])*) => {
        use super::*;
        $(models! { @one $name: [$($attributes)*, expire_after = $limit] [$($aggregates)*] })*
    };
    (@one $name:ident: [$($attributes:tt)*] [$($aggregates:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", $($attributes)*)]
        pub(crate) struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(sum = "total", $($aggregates)*)]
            number: i64,
        }

        impl Event for $name {
            fn of(device: i64, at: DateTime, number: i64) -> Self {
                Self { device, at, number }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn key_of(device: i64) -> Self::Key {
                device.into()
            }
        }
    };
}

models! {
    Counted: [capacity = 4] [min]
    CountedBytes: [capacity = 100, max_bytes = "1KB"] [min]
    CountedAverage: [capacity = 4] [avg = "mean"]
    Windowed: [window = "10m", capacity = 4] [min]
    WindowedObjects: [window = "10m", object_ids] [min]
    Hybrid: [capacity = 4, max_duration = "10m"] [min]
    HybridSide: [capacity = 4, max_duration = "10m", late = "side"] [min]
    Numbered: [capacity = 4, numbered] [min]
    NumberedObjects: [capacity = 4, numbered, object_ids] [min]
    NumberedAverage: [capacity = 4, numbered] [avg = "mean"]
}
