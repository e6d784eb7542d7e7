//! Generated code has no warnings under the user's strict lints. This is a separate binary, because
//! some lints can only be set for a whole crate.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unnameable_types,
    unused,
    unused_qualifications,
    unused_lifetimes,
    single_use_lifetimes,
    nonstandard_style,
    future_incompatible,
    rust_2018_idioms,
    let_underscore_drop,
    explicit_outlives_requirements,
    deprecated,
    trivial_casts,
    private_bounds,
    private_interfaces,
    clippy::all,
    clippy::pedantic,
    clippy::use_self
)]
#![forbid(unsafe_code)]

use bucket_mongo::{BucketKey, Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

pub mod model {
    //! Public types.

    use super::{BucketKey, Bucketed, DateTime, Deserialize, Serialize};

    /// A side.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
    pub enum Side {
        /// Buy.
        Buy,
        /// Sell.
        Sell,
    }

    /// A venue.
    #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
    pub struct Venue(pub String);

    /// A trade. The names of its items are in camel case.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[serde(rename_all = "camelCase", default)]
    #[bucket(collection = "trades", items = "tradeHistory", capacity = 10)]
    pub struct Trade {
        /// The customer.
        #[bucket(key)]
        pub customer_id: i64,
        /// The customer's side.
        #[bucket(key)]
        pub customer_side: Side,
        /// The customer's venue.
        #[bucket(key)]
        pub customer_venue: Venue,
        /// When.
        #[bucket(time)]
        pub date: DateTime,
        /// Price.
        pub price: f64,
        /// Price in another currency.
        #[deprecated]
        pub other_price: f64,
        private: Private,
    }

    #[allow(deprecated)]
    impl Default for Trade {
        fn default() -> Self {
            Self {
                customer_id: 0,
                customer_side: Side::Buy,
                customer_venue: Venue(String::new()),
                date: DateTime::MIN,
                price: 0.0,
                other_price: 0.0,
                private: Private,
            }
        }
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Private;

    #[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
    struct PrivateKey(String);

    /// A record with a key that only this module can name.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "orders", items = "orders", capacity = 10)]
    pub struct Order<T> {
        #[bucket(key)]
        key: PrivateKey,
        /// When.
        #[bucket(time)]
        pub date: DateTime,
        /// What.
        pub what: T,
    }
}

pub mod kept {
    //! Records with aggregates, in all forms.

    use super::{Bucketed, DateTime, Deserialize, Serialize};

    /// A request.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[serde(rename_all = "camelCase")]
    #[bucket(
        collection = "requests",
        items = "requests",
        capacity = 10,
        numbered = "pageNumber"
    )]
    #[bucket(
        full = "isFull",
        count = "n",
        created_at = "createdAt",
        compression = "zstd"
    )]
    pub struct Request {
        /// The service.
        #[bucket(key)]
        pub service_name: String,
        /// When.
        #[bucket(time, first = "firstRequest", last)]
        pub at: DateTime,
        /// How long.
        #[bucket(
            min,
            max,
            sum,
            avg = "average",
            std_dev,
            first,
            last,
            count,
            sum_of_squares
        )]
        #[bucket(percentiles(error = 0.01), count_if("slow requests", |ms| *ms > 1_000.0))]
        pub duration_ms: f64,
        /// How it ended.
        #[bucket(tally, tally("classes", |code| code / 100), count_if("5xx", |code| *code >= 500))]
        pub status_code: i32,
        #[deprecated]
        #[bucket(sum = "oldTotal", non_finite = "skip")]
        old_duration: Option<f32>,
    }

    /// A reading.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "readings", items = "readings", window = "week")]
    pub struct Reading<V, const N: usize> {
        /// The device.
        #[bucket(key)]
        pub device: String,
        /// When.
        #[bucket(time)]
        pub at: DateTime,
        /// What.
        #[bucket(min, max, sum, avg, first, tally = "values", percentiles(error = 0.01))]
        pub value: V,
        #[serde(skip)]
        pads: std::marker::PhantomData<[u8; N]>,
    }

    /// An event.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "events",
        items = "events",
        capacity = 9,
        max_duration = "1h30m"
    )]
    #[bucket(
        late = "side",
        max_bytes = "1MB",
        start = "from",
        end = "to",
        closed = "done"
    )]
    pub struct Event {
        /// The source.
        #[bucket(key)]
        pub source: String,
        /// When.
        #[bucket(time)]
        pub at: DateTime,
    }
}

pub mod old {
    //! Names that break Rust's conventions, and a deprecated record.

    use super::{Bucketed, DateTime, Deserialize, Serialize};

    /// A trade.
    #[deprecated]
    #[allow(non_snake_case, non_camel_case_types)]
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "trades", items = "tradeHistory", capacity = 10)]
    pub struct old_trade {
        /// The customer.
        #[bucket(key)]
        pub customerId: i64,
        /// When.
        #[bucket(time)]
        pub tradedAt: DateTime,
        /// How many.
        #[bucket(min, sum, tally)]
        pub soldShares: i64,
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "unused", items = "unused", capacity = 10)]
struct NothingOfThisIsUsed {
    #[bucket(key)]
    key: String,
    #[bucket(time)]
    time: DateTime,
    #[bucket(min, avg, first, count_if("many", |number| *number > 9), tally)]
    number: i32,
}

#[test]
fn generated_code_is_clean_under_strict_lints() {
    // The test is that this file compiles without a warning from clippy.
    assert_eq!(model::Trade::CAPACITY, 10);
    assert_eq!(model::Order::<i64>::COLLECTION, "orders");
    assert_eq!(
        <NothingOfThisIsUsed as bucket_mongo::Record>::SPEC.capacity(),
        Some(10)
    );
}

/// Models that a macro makes; most of their items are unused.
mod made {
    use super::{Bucketed, DateTime, Deserialize, Serialize};

    macro_rules! models {
        ($($collection:literal: $model:ident $(, $aggregates:meta)?;)+) => {$(
            #[derive(Debug, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = $collection, items = "values", window = "1h", stats = "stats")]
            pub(crate) struct $model {
                #[bucket(key)]
                device: String,
                #[bucket(time)]
                at: DateTime,
                $(#[$aggregates])?
                value: f64,
            }
        )+};
    }

    models! {
        "plain": Plain;
        "kept": Kept, bucket(min, max);
    }

    pub(super) const COLLECTIONS: [&str; 2] = [Plain::COLLECTION, Kept::COLLECTION];
}

#[test]
fn a_macro_can_make_models() {
    assert_eq!(made::COLLECTIONS, ["plain", "kept"]);
}
