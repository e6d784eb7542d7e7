//! Neither the record nor its fields need `Debug`, `Clone` or `PartialEq`.

use std::fmt::Debug;

use bucket_mongo::{Bucketed, Record, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Opaque(i64);

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    opaque: Opaque,
}

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "history", capacity = 10)]
struct Order {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
    qty: u32,
}

fn stored<T: Record>() {}
fn has_traits<T: Debug + Clone + PartialEq>() {}

#[test]
fn compiles_and_keeps_its_promises() {
    stored::<Trade>();
    // The generated types have exactly the traits of their fields.
    has_traits::<OrderItem>();
    has_traits::<OrderBucket>();
    let item = OrderItem {
        date: DateTime::from_millis(0),
        qty: 1,
    };
    let printed = format!("{item:?}");
    assert!(
        printed.starts_with("OrderItem { date: ") && printed.ends_with("qty: 1 }"),
        "{printed}"
    );
    assert_eq!(item.clone(), item);
    let opaque = TradeItem {
        date: DateTime::MIN,
        opaque: Opaque(1),
    };
    assert_eq!(opaque.opaque.0, 1);
}
