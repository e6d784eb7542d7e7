//! Spans and events are those of the table in `docs/tracing.md`, and contain no value of a record.

use std::{
    collections::BTreeSet,
    fmt::Debug,
    sync::{Arc, Mutex},
};

use bucket_mongo::{
    Bucketed, Interval,
    bson::{DateTime, Document},
};
use bucket_tests::database;
use futures_util::{TryStreamExt, future::join};
use serde::{Deserialize, Serialize};
use tracing::{
    Dispatch, Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

const TABLE: &str = include_str!("../../../docs/tracing.md");

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "letters",
    items = "letters",
    capacity = 3,
    seal_after = "1h"
)]
struct Letter {
    #[bucket(key)]
    recipient: String,
    #[bucket(time)]
    at: DateTime,
    text: String,
}

/// A span or an event as it was recorded.
#[derive(Debug, Clone)]
struct Seen {
    name: String,
    target: String,
    fields: Vec<(String, String)>,
}

#[derive(Clone, Default)]
struct Recorder {
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push((field.name().to_owned(), format!("{value:?}")));
    }
}

impl Recorder {
    fn add(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) {
        if !metadata.target().starts_with("bucket") {
            return;
        }
        assert_eq!(*metadata.level(), Level::DEBUG, "{}", metadata.name());
        let mut fields = Fields::default();
        record(&mut fields);
        let message = fields
            .0
            .iter()
            .find(|(name, _)| name == "message")
            .map(|(_, m)| m.clone());
        self.seen.lock().unwrap().push(Seen {
            name: message.unwrap_or_else(|| metadata.name().to_owned()),
            target: metadata.target().to_owned(),
            fields: fields
                .0
                .into_iter()
                .filter(|(name, _)| name != "message")
                .collect(),
        });
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.add(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.add(event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The target and the event fields that the table gives for a span.
fn documented(name: &str) -> (String, BTreeSet<String>) {
    let row = TABLE.lines().find(|line| {
        let spans = line.split('|').nth(2).unwrap_or_default();
        spans.contains(&format!("`{name}`"))
    });
    let cells: Vec<&str> = row
        .unwrap_or_else(|| panic!("no row for {name}"))
        .split('|')
        .collect();
    let names = |cell: &str| {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let target: Vec<String> = names(cells[1]);
    let fields: Vec<String> = names(cells[3]);
    (target[0].clone(), fields.into_iter().collect())
}

/// The span of this name and its events match the table.
fn check(seen: &[Seen], name: &str) {
    let (target, fields) = documented(name);
    let of_this: Vec<&Seen> = seen.iter().filter(|seen| seen.name == name).collect();
    let (span, events) = of_this
        .split_first()
        .unwrap_or_else(|| panic!("no span {name}"));
    assert_eq!(span.target, target);
    let collection = ("collection".to_owned(), "\"letters\"".to_owned());
    assert_eq!(span.fields, [collection]);
    assert_eq!(
        events.len(),
        usize::from(!fields.is_empty()),
        "events of {name}"
    );
    for event in events {
        assert_eq!(event.target, target);
        let found: BTreeSet<String> = event.fields.iter().map(|(n, _)| n.clone()).collect();
        assert_eq!(found, fields, "fields of {name}");
    }
}

/// With a single subscriber in the process, `tracing` asks only that of the thread that meets a span first. If it is
/// another test's thread, which has none, nobody sees the span from then on. With two it asks all.
fn of_other_threads() -> Dispatch {
    Dispatch::new(Recorder::default())
}

#[tokio::test]
async fn combined_calls_are_traced_as_documented() {
    let recorder = Recorder::default();
    let _others = of_other_threads();
    let guard = tracing::subscriber::set_default(recorder.clone());
    let database = database().await;
    let letters = Letter::buckets(&database);
    letters.ensure().await.unwrap();
    let letter = |number| Letter {
        recipient: format!("secret {number}"),
        at: DateTime::now(),
        text: "secret text".into(),
    };
    let all: Vec<Letter> = (0..80).map(letter).collect();
    let store = || letters.insert_many(&all).into_future();
    let (first, second) = join(store(), store()).await;
    assert_eq!(first.unwrap().stored(), 80);
    assert_eq!(second.unwrap().stored(), 80);
    drop(guard);
    let seen = recorder.seen.lock().unwrap().clone();
    check(&seen, "group");
    assert!(!format!("{seen:?}").contains("secret"), "{seen:?}");
}

#[tokio::test]
async fn every_operation_is_traced_as_documented_and_no_value_is_logged() {
    let recorder = Recorder::default();
    let _others = of_other_threads();
    let guard = tracing::subscriber::set_default(recorder.clone());
    let database = database().await;
    let letters = Letter::buckets(&database);
    letters.ensure().await.unwrap();
    let letter = Letter {
        recipient: "secret recipient".into(),
        at: DateTime::now(),
        text: "secret text".into(),
    };
    letters.insert(&letter).await.unwrap();
    letters
        .insert_many([&letter, &letter, &letter])
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let ingestor = letters.ingestor().start().unwrap();
    ingestor.push(&letter).await.unwrap();
    ingestor.shutdown().await.into_result().unwrap();
    letters.page("secret recipient", 1).await.unwrap();
    assert_eq!(letters.pages("secret recipient").await.unwrap().len(), 2);
    assert_eq!(letters.latest_per_key().await.unwrap().len(), 1);
    assert_eq!(letters.keys().await.unwrap().len(), 1);
    letters.page_count("secret recipient").await.unwrap();
    letters.count("secret recipient").await.unwrap();
    let pages = letters.pages("secret recipient").stream();
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 2);
    let records = letters.records("secret recipient").limit(3).await.unwrap();
    assert_eq!((records.len(), records.next_token().is_some()), (3, true));
    assert_eq!(
        letters.range("secret recipient", ..).await.unwrap().len(),
        5
    );
    letters.stats("secret recipient", ..).await.unwrap();
    let day = letter.at..=letter.at;
    letters
        .rollup("secret recipient", day, Interval::day())
        .await
        .unwrap();
    letters.latest("secret recipient").await.unwrap();
    letters.latest_n("secret recipient", 2).await.unwrap();
    drop(guard);

    let seen = recorder.seen.lock().unwrap().clone();
    let operations = [
        "ensure",
        "insert",
        "insert_many",
        "ingest",
        "page",
        "page_count",
        "count",
        "pages",
        "latest_per_key",
        "keys",
        "records",
        "range",
        "stats",
        "rollup",
        "latest",
        "latest_n",
    ];
    for name in operations {
        check(&seen, name);
    }
    let inserted = seen
        .iter()
        .filter(|seen| seen.name == "insert_many")
        .nth(1)
        .unwrap();
    assert!(
        inserted
            .fields
            .contains(&("stored".to_owned(), "3".to_owned())),
        "{inserted:?}"
    );
    assert!(!format!("{seen:?}").contains("secret"), "{seen:?}");
}

#[tokio::test]
async fn corrections_and_removals_are_traced_as_documented() {
    let recorder = Recorder::default();
    let _others = of_other_threads();
    let guard = tracing::subscriber::set_default(recorder.clone());
    let database = database().await;
    let letters = Letter::buckets(&database);
    letters.ensure().await.unwrap();
    let to = "secret recipient";
    let letter = |second: i64| Letter {
        recipient: to.into(),
        at: DateTime::from_millis(1_698_335_223_000 + second * 1_000),
        text: format!("secret text {second}"),
    };
    let all: Vec<Letter> = (0..8).map(letter).collect();
    let report = letters.insert_many(&all).await.unwrap();
    report.into_result().unwrap();
    let read = letters.records(to).with_refs().limit(2).await.unwrap();
    let read = read.into_records();
    // To another bucket.
    let moved = |letter: &mut Letter| letter.recipient = "secret other".into();
    let update = letters.update(to, &read[0].reference, moved);
    update.await.unwrap().unwrap();
    letters.seal().await.unwrap();
    let archive = database.collection::<Document>("letters_archive");
    letters.archive_to(&archive).await.unwrap();
    letters.restore_from(&archive).await.unwrap();
    letters.unseal().await.unwrap();
    let deleted = letters.delete(to, &read[1].reference);
    deleted.await.unwrap().unwrap();
    letters.delete_range(to, ..all[4].at).await.unwrap();
    letters.delete_key(to).await.unwrap();
    drop(guard);
    let seen = recorder.seen.lock().unwrap().clone();
    for name in [
        "update",
        "delete",
        "delete_range",
        "delete_key",
        "seal",
        "unseal",
        "archive_to",
        "restore_from",
    ] {
        check(&seen, name);
    }
    assert!(!format!("{seen:?}").contains("secret"), "{seen:?}");
}
