//! Every type that can be a time, whatever its serde form.

use bucket_mongo::{
    Bucketed, Record,
    bson::{self, Bson, DateTime},
};
use serde::{Deserialize, Serialize};

macro_rules! one_time {
    ($($name:ident: $(#[$attr:meta])* $ty:ty),* $(,)?) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "one", items = "list", capacity = 10)]
        struct $name {
            #[bucket(key)]
            key: i64,
            #[bucket(time)]
            $(#[$attr])*
            at: $ty,
        }
    )*};
}

one_time! {
    Bsons: DateTime,
    Chrono: chrono::DateTime<chrono::Utc>,
    Time: time::OffsetDateTime,
    Jiff: jiff::Timestamp,
    With: #[serde(rename = "ts", with = "seconds", alias = "time")] DateTime,
    Default: #[serde(default = "never", deserialize_with = "seconds::deserialize")] DateTime,
}

fn never() -> DateTime {
    DateTime::MIN
}

mod seconds {
    use bucket_mongo::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(date: &DateTime, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(date.timestamp_millis() / 1000)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime, D::Error> {
        Ok(DateTime::from_millis(i64::deserialize(from)? * 1000))
    }
}

fn stored_as<T: Record>(item: T::Item, name: &str) {
    let item = bson::serialize_to_document(&item).unwrap();
    assert_eq!(
        item.get(name),
        Some(&Bson::DateTime(DateTime::from_millis(1500))),
        "{item}"
    );
    let read: Result<T::Item, _> = bson::deserialize_from_document(item);
    assert!(read.is_ok());
}

#[test]
fn compiles_and_keeps_its_promises() {
    let at = DateTime::from_millis(1500);
    stored_as::<Bsons>(BsonsItem { at }, "at");
    stored_as::<Chrono>(
        ChronoItem {
            at: chrono::DateTime::from_timestamp_millis(1500).unwrap(),
        },
        "at",
    );
    stored_as::<Time>(
        TimeItem {
            at: time::OffsetDateTime::UNIX_EPOCH + time::Duration::milliseconds(1500),
        },
        "at",
    );
    stored_as::<Jiff>(
        JiffItem {
            at: jiff::Timestamp::from_millisecond(1500).unwrap(),
        },
        "at",
    );
    stored_as::<With>(WithItem { at }, "ts");
    stored_as::<Default>(DefaultItem { at }, "at");
}
