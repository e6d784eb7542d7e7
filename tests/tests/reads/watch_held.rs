//! A watch of buckets that hold attributes for their records, while these attributes change.

use bucket_mongo::{
    Bucketed, Buckets, RecordChange, WatchToken, Which, action::WatchStream, bson::DateTime,
};
use bucket_tests::database;
use futures_util::StreamExt;
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", capacity = 20, $($attributes)*)]
        #[bucket(attributes(array = "origin", store = "bucket"))]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(attribute(array = "origin", k = "site"))]
            site: Option<String>,
        }

        impl $name {
            fn of(id: i64, second: i64, site: &str) -> Self {
                Self { device: "a".to_owned(), at: date(second), id, site: Some(site.to_owned()) }
            }
        }
    )*};
}

models! {
    Counted [];
    Hybrid [max_duration = "1m"];
}

fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

async fn next<T: Bucketed>(stream: &mut WatchStream<T>) -> (RecordChange<T>, Option<WatchToken>) {
    let event = stream.next().await.unwrap().unwrap();
    let token = event.token();
    (event.change, token)
}

async fn set_up<T: Bucketed>(database: &bucket_mongo::mongodb::Database) -> Buckets<T> {
    let events = T::buckets(database);
    events.ensure().await.unwrap();
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_within_the_bucket_gives_the_record_that_is_stored() {
    let database = database().await;
    let events = set_up::<Hybrid>(&database).await;
    let mut watch = events.watch().await.unwrap();
    events.insert(&Hybrid::of(1, 0, "Ulm")).await.unwrap();
    let update = events.update("a", Which::id(&1_i64), |event| {
        (event.at, event.site) = (date(10), None);
    });
    update.await.unwrap();
    let (stored, token) = next(&mut watch).await;
    assert!(matches!(stored, RecordChange::Stored { .. }));
    let token = token.unwrap();
    for mut watch in [watch, events.watch().after(token).await.unwrap()] {
        let (removed, _) = next(&mut watch).await;
        assert!(matches!(removed, RecordChange::Removed { .. }));
        let RecordChange::Stored { record, .. } = next(&mut watch).await.0 else {
            panic!("the record was stored where it is now");
        };
        assert_eq!((record.at, record.site), (date(10), None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_inside_a_transaction_gives_no_attributes_of_later() {
    let database = database().await;
    let events = set_up::<Counted>(&database).await;
    let mut watch = events.watch().await.unwrap();
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    for id in [1, 2] {
        let event = Counted::of(id, id, "Ulm");
        events.insert(&event).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    let (_, token) = next(&mut watch).await;
    events.insert(&Counted::of(3, 3, "Rom")).await.unwrap();
    for id in [1_i64, 2] {
        events.delete("a", Which::id(&id)).await.unwrap();
    }
    let (second, _) = next(&mut watch).await;
    assert!(
        matches!(&second, RecordChange::Stored { record, .. } if record.site.as_deref() == Some("Ulm")),
        "{second:?}"
    );
    let mut resumed = events.watch().after(token.unwrap()).await.unwrap();
    let (second, _) = next(&mut resumed).await;
    assert!(
        matches!(second, RecordChange::Rewritten { .. }),
        "{second:?}"
    );
    // The events after the transaction are read again.
    let (third, _) = next(&mut resumed).await;
    assert!(
        matches!(&third, RecordChange::Stored { record, .. } if record.site.as_deref() == Some("Rom")),
        "{third:?}"
    );
}
