//! Records of a crate that knows the library as `buckets`.
//!
//! That this compiles is the test: derived code names the library by the path that the record
//! gives, directly or through a module of the crate's own.

use buckets::{BucketKey, Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// What other crates of a company would import.
pub mod facade {
    pub use buckets::*;
}

/// A key type that names the library.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[bucket(crate = ::buckets)]
pub struct Venue(pub String);

/// A record that names the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(crate = ::buckets, collection = "trades", items = "history", capacity = 10)]
pub struct Trade {
    /// Where.
    #[bucket(key)]
    pub venue: Venue,
    /// When.
    #[bucket(time)]
    pub date: DateTime,
}

/// A record that names a module which re-exports the library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(crate = crate::facade, collection = "orders", items = "history", capacity = 20)]
pub struct Order<T> {
    /// Whose.
    #[bucket(key)]
    pub customer: i64,
    /// When.
    #[bucket(time)]
    pub date: T,
}

#[cfg(test)]
mod tests {
    use super::{DateTime, Order, OrderKey, Trade, TradeItem, TradeKey, Venue, facade::Record};

    #[test]
    fn records_under_another_name_have_their_models() {
        assert_eq!(Trade::SPEC.collection(), "trades");
        assert_eq!(<Order<DateTime> as Record>::SPEC.capacity(), Some(20));
        assert_eq!(TradeItem::FIELDS.date.as_str(), "history.date");
        assert_eq!(OrderKey::from(7).customer, 7);
        let venue = Venue("XNAS".to_owned());
        assert_eq!(TradeKey::from(venue.clone()), TradeKey { venue });
    }
}
