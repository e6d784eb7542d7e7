//! Everything generated is as visible as the record, and can be built in the same places.

mod outer {
    pub(crate) mod inner {
        use bucket_mongo::{Bucketed, bson::DateTime};
        use serde::{Deserialize, Serialize};

        #[derive(Debug, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "trades", items = "history", capacity = 10)]
        pub(in crate::visibility::outer) struct Trade {
            #[bucket(key)]
            customer_id: i64,
            #[bucket(time)]
            pub date: DateTime,
            private: u8,
        }

        #[derive(Debug, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "orders", items = "history", capacity = 10)]
        pub(crate) struct Order {
            #[bucket(key)]
            customer_id: i64,
            #[bucket(time)]
            pub(crate) date: DateTime,
        }
    }

    pub(crate) fn uses() {
        let key = inner::TradeKey { customer_id: 1 };
        assert_eq!(key.customer_id, 1);
        assert_eq!(inner::Trade::CAPACITY, 10);
        let _ = |item: inner::TradeItem| item.date;
    }
}

#[test]
fn compiles_and_keeps_its_promises() {
    outer::uses();
    let key = outer::inner::OrderKey { customer_id: 1 };
    assert_eq!(key.customer_id, 1);
    assert_eq!(
        outer::inner::OrderBucket::FIELDS.customer_id.as_str(),
        "customer_id"
    );
}
