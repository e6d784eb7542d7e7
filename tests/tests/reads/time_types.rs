//! Times are stored as BSON dates, whatever type the struct uses and whatever serde would write.

use bucket_mongo::{
    Bucketed,
    bson::{Bson, DateTime},
};
use bucket_tests::{database, date, documents};
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: $ty:ty = $collection:literal),+ $(,)?) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = $collection, items = "items", capacity = 2)]
        struct $name {
            #[bucket(key)]
            id_of_key: i32,
            #[bucket(time)]
            at: $ty,
        }
    )+};
}

models! {
    Native: DateTime = "native",
    Chrono: chrono::DateTime<chrono::Utc> = "chrono",
    Time: time::OffsetDateTime = "time",
    Jiff: jiff::Timestamp = "jiff",
}

/// Serde would write this date as a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "text", items = "items", capacity = 2)]
struct AsText {
    #[bucket(key)]
    source: i32,
    #[bucket(time)]
    #[serde(rename = "ts", with = "as_text")]
    at: DateTime,
}

mod as_text {
    use bucket_mongo::bson::DateTime;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn serialize<S: Serializer>(at: &DateTime, to: S) -> Result<S::Ok, S::Error> {
        at.try_to_rfc3339_string().unwrap().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DateTime, D::Error> {
        let text = String::deserialize(from)?;
        DateTime::parse_rfc3339_str(text).map_err(D::Error::custom)
    }
}

#[tokio::test]
async fn every_time_type_is_stored_as_the_same_bson_date() {
    let database = database().await;
    let millis = -86_400_001;
    macro_rules! check {
        ($model:ident, $at:expr, $collection:literal) => {{
            let buckets = $model::buckets(&database);
            buckets.ensure().await.unwrap();
            let record = $model {
                id_of_key: 1,
                at: $at,
            };
            buckets.insert(&record).await.unwrap();
            assert_eq!(buckets.page(1, 1).await.unwrap().records(), [record]);
            let stored = documents(&database, $collection).await;
            let item = stored[0].get_array("items").unwrap()[0]
                .as_document()
                .unwrap();
            assert_eq!(
                item.get("at"),
                Some(&Bson::DateTime(DateTime::from_millis(millis)))
            );
        }};
    }
    check!(Native, DateTime::from_millis(millis), "native");
    check!(
        Chrono,
        chrono::DateTime::from_timestamp_millis(millis).unwrap(),
        "chrono"
    );
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(millis) * 1_000_000);
    check!(Time, time.unwrap(), "time");
    check!(
        Jiff,
        jiff::Timestamp::from_millisecond(millis).unwrap(),
        "jiff"
    );
}

#[tokio::test]
async fn parts_finer_than_milliseconds_are_cut_off_towards_the_past() {
    let database = database().await;
    let buckets = Jiff::buckets(&database);
    buckets.ensure().await.unwrap();
    let fine = jiff::Timestamp::from_nanosecond(-1).unwrap();
    buckets
        .insert(&Jiff {
            id_of_key: 1,
            at: fine,
        })
        .await
        .unwrap();
    let found = buckets.page(1, 1).await.unwrap().records();
    assert_eq!(found[0].at, jiff::Timestamp::from_millisecond(-1).unwrap());
}

#[tokio::test]
async fn a_serde_form_of_the_time_field_is_bypassed_and_its_name_is_kept() {
    let database = database().await;
    let buckets = AsText::buckets(&database);
    buckets.ensure().await.unwrap();
    let record = AsText {
        source: 1,
        at: date("2023-10-26T15:47:03.434Z"),
    };
    buckets
        .insert_many([&record])
        .await
        .unwrap()
        .into_result()
        .unwrap();
    assert_eq!(
        buckets.page(1, 1).await.unwrap().records(),
        std::slice::from_ref(&record)
    );
    let stored = documents(&database, "text").await;
    let item = stored[0].get_array("items").unwrap()[0]
        .as_document()
        .unwrap();
    assert_eq!(item.get_datetime("ts").unwrap(), &record.at);
}
