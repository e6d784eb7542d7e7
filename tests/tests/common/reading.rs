//! Readings of sensors: a model of each form, all in one collection.
#![allow(unreachable_pub, missing_docs)]

use bucket_mongo::{Bucketed, mongodb::bson::DateTime};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] [$($id:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        pub struct $name {
            #[bucket(key)]
            pub sensor: String,
            #[bucket(time)]
            pub at: DateTime,
            $($id)*
            pub number: i64,
        }

        impl $name {
            pub fn of(sensor: &str, number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { sensor: sensor.to_owned(), at, number }
            }
        }
    )*};
}

models! {
    Counted: [capacity = 4] []
    Windowed: [window = "1h"] []
    Parts: [window = "1h", capacity = 4] []
    Objects: [window = "1h", capacity = 4, object_ids] []
    Hybrid: [capacity = 4, max_duration = "1h"] []
    Numbered: [capacity = 4, numbered] []
    Unique: [capacity = 4] [#[bucket(unique)]]
    UniqueNumbered: [capacity = 4, numbered] [#[bucket(unique)]]
}
