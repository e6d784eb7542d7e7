//! A private struct inside a function, with names that shadow the standard ones.
#![deny(warnings)]

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[allow(dead_code, non_camel_case_types)]
mod shadows {
    pub struct Vec;
    pub struct Option;
    pub struct Result;
    pub struct Clone;
    pub trait From {}
    pub trait Into {}
    pub mod core {}
    pub mod std {}
    pub mod serde {}
}

#[test]
fn compiles_and_keeps_its_promises() {
    #[allow(unused_imports)]
    use shadows::*;

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "trades", items = "history", capacity = 10)]
    struct Trade {
        #[bucket(key)]
        customer_id: i64,
        #[bucket(key)]
        venue: String,
        #[bucket(time)]
        date: DateTime,
    }

    assert_eq!(Trade::COLLECTION, "trades");
    let key = TradeKey::from((1, "x"));
    assert_eq!(key.venue, "x");
}
