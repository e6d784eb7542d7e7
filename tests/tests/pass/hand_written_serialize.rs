//! `Serialize` may be written by hand; `Deserialize` of the record is not needed.

use bucket_mongo::{Bucketed, Record, bson::DateTime};
use serde::{Serialize, Serializer, ser::SerializeStruct};

#[derive(Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade {
    #[bucket(key)]
    customer_id: i64,
    #[bucket(time)]
    date: DateTime,
}

impl Serialize for Trade {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Trade", 2)?;
        fields.serialize_field("customer_id", &self.customer_id)?;
        fields.serialize_field("date", &self.date)?;
        fields.end()
    }
}

#[test]
fn compiles_and_keeps_its_promises() {
    let trade = Trade {
        customer_id: 7,
        date: DateTime::MIN,
    };
    assert_eq!(trade.key(), TradeKey::from(7));
    assert_eq!(trade.time(), DateTime::MIN);
}
