//! Generated code is clean where the user's lints are strict.
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

    /// A trade. Its items are called in camel case.
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

pub mod old {
    //! Names that are not Rust's, and a record that nothing should use any more.

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
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "unused", items = "unused", capacity = 10)]
struct NothingOfThisIsUsed {
    #[bucket(key)]
    key: String,
    #[bucket(time)]
    time: DateTime,
}

#[test]
fn generated_code_is_clean_under_strict_lints() {
    // That this file compiles, and that clippy has nothing to say about it, is the test.
    assert_eq!(model::Trade::CAPACITY, 10);
    assert_eq!(model::Order::<i64>::COLLECTION, "orders");
    assert_eq!(
        <NothingOfThisIsUsed as bucket_mongo::Record>::SPEC.capacity(),
        10
    );
}
