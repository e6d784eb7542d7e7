//! What a call takes from its iterator, and when it stops.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Attributed, Bucketed, ErrorKind,
    bson::{DateTime, doc},
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

/// As many documents as one command holds.
const COMMAND: usize = 5_000;

#[derive(Debug, Clone, Serialize, Deserialize, Attributed)]
#[bucket(collection = "things")]
struct Thing {
    number: usize,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

fn thing(number: usize) -> Thing {
    Thing {
        number,
        volume_ml: Some(1),
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "pictures", items = "pictures", capacity = 4)]
struct Picture {
    #[bucket(key)]
    camera: i32,
    #[bucket(time)]
    at: DateTime,
    pixels: String,
}

/// An iterator over numbers that counts the taken ones, and is slow from some number on.
fn numbers(
    end: usize,
    slow_from: usize,
    pause: Duration,
) -> (Arc<AtomicUsize>, impl Iterator<Item = usize> + Send) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&taken);
    let numbers = std::iter::from_fn(move || {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        if number >= slow_from {
            std::thread::sleep(pause);
        }
        (number < end).then_some(number)
    });
    (taken, numbers)
}

async fn stored(database: &TestDatabase) -> Vec<usize> {
    let stored = documents(database, "things").await;
    let number = |d: &bucket_mongo::bson::Document| usize::try_from(d.get_i64("number").unwrap());
    stored.iter().map(|d| number(d).unwrap()).collect()
}

#[tokio::test]
async fn after_the_deadline_nothing_is_taken_and_what_was_taken_is_not_sent() {
    let database = database().await;
    let things = Thing::documents(&database);
    let (taken, numbers) = numbers(usize::MAX, 0, Duration::from_millis(10));
    let load = things.insert_many(numbers.map(thing));
    let report = load.deadline(Duration::from_millis(300)).await.unwrap();
    let taken = taken.load(Ordering::SeqCst);
    assert_eq!(report.tried(), taken);
    // The iterator itself would need 50 seconds for 5,000.
    assert!((1..COMMAND).contains(&taken), "{taken}");
    assert_eq!((report.stored(), report.failed().len()), (0, taken));
    assert!(
        report
            .stopped_by()
            .is_some_and(bucket_mongo::Error::is_retryable)
    );
    assert!(stored(&database).await.is_empty());

    // Nothing was taken: that is not a success.
    let report = things.insert_many([thing(0)]).deadline(Duration::ZERO);
    let report = report.await.unwrap();
    assert_eq!((report.tried(), report.stored()), (0, 0));
    let error = report.into_result().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unreachable { .. }),
        "{error}"
    );
    let none: [Thing; 0] = [];
    let none = things.insert_many(none).deadline(Duration::ZERO);
    assert!(none.await.unwrap().into_result().is_ok());
}

#[tokio::test]
async fn after_a_command_that_ends_the_call_nothing_is_taken() {
    let server = DevServer::builder().own();
    let server = server.arguments(["--setParameter", "enableTestCommands=1"]);
    let server = server.await.unwrap();
    let database = server.database("taken").await.unwrap();
    let pictures = Picture::buckets(&database);
    pictures.ensure().await.unwrap();
    let refused = doc! {
        "configureFailPoint": "failCommand", "mode": "alwaysOn",
        "data": { "failCommands": ["insert", "update"], "errorCode": 13 },
    };
    let admin = server.client().await.unwrap().database("admin");
    admin.run_command(refused).await.unwrap();

    let things = Thing::documents(&database);
    let (taken, all) = numbers(4 * COMMAND, COMMAND, Duration::from_millis(5));
    let report = things.insert_many(all.map(thing)).await.unwrap();
    let taken = taken.load(Ordering::SeqCst);
    assert!((COMMAND..2 * COMMAND).contains(&taken), "{taken}");
    // Each taken document has an error.
    assert_eq!((report.tried(), report.failed().len()), (taken, taken));
    assert!(report.stopped_by().is_some());

    // 32 pictures of a megabyte are sent together.
    let pixels = "x".repeat(1_000_000);
    let picture = |number: usize| Picture {
        camera: 1,
        at: DateTime::from_millis(i64::try_from(number).unwrap()),
        pixels: pixels.clone(),
    };
    let (taken, all) = numbers(200, 40, Duration::from_millis(100));
    let report = pictures.insert_many(all.map(picture)).await.unwrap();
    let taken = taken.load(Ordering::SeqCst);
    assert!((30..60).contains(&taken), "{taken}");
    assert_eq!((report.tried(), report.failed().len()), (taken, taken));
    assert!(report.stopped_by().is_some());
}

#[tokio::test]
async fn after_an_iterator_panics_the_sent_documents_are_stored_and_the_handle_works() {
    let database = database().await;
    let things = Thing::documents(&database);
    let load = {
        let things = things.clone();
        let all = (0..).map(|number| {
            assert!(number < 2 * COMMAND + 10, "no more");
            thing(number)
        });
        async move { things.insert_many(all).await.map(drop) }
    };
    assert!(tokio::spawn(load).await.unwrap_err().is_panic());
    things.insert(&thing(1_000_000)).await.unwrap();
    // The server may still be at work at the last command.
    for patience in (0..120).rev() {
        let mut stored = stored(&database).await;
        stored.sort_unstable();
        stored.dedup();
        assert_eq!(stored.last(), Some(&1_000_000));
        let is_whole = (stored.len() - 1).is_multiple_of(COMMAND);
        assert!(is_whole || patience > 0, "whole commands");
        if is_whole {
            break;
        }
        sleep(Duration::from_millis(500)).await;
    }
}
