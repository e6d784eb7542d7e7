//! Reads with bad arguments, tokens of other queries and damaged documents: typed errors with the
//! details, and never a panic.

use bucket_mongo::{
    Bucketed, Buckets, CursorToken, Error, ErrorKind, IntoTimeRange, TimeRange, TokenError,
    bson::{Bson, DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::database;
use futures_util::StreamExt;
use proptest::{prelude::*, test_runner::TestRunner};
use serde::{Deserialize, Serialize};

/// Another model for the same collection, keys and array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "readings", items = "readings", capacity = 3, numbered)]
struct Numbered {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    value: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1m",
    stats = "stats"
)]
struct Reading {
    #[bucket(key)]
    device: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(sum)]
    value: i64,
}

async fn filled() -> (TestDatabase, Buckets<Reading>) {
    let database = database().await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let records: Vec<Reading> = (0..60)
        .map(|value| Reading {
            device: value % 2,
            at: DateTime::from_millis(value * 10_000),
            value,
        })
        .collect();
    let report = readings.insert_many(records).await.unwrap();
    report.into_result().unwrap();
    (database, readings)
}

fn seconds(from: i64, to: i64) -> TimeRange {
    let date = |second: i64| DateTime::from_millis(second * 1_000);
    (date(from)..date(to)).into_time_range()
}

fn message(error: &Error) -> String {
    assert!(
        !error.is_outcome_unknown() && !error.is_retryable(),
        "{error:?}"
    );
    match error.kind() {
        ErrorKind::InvalidArgument { message, .. } => message.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn invalid_arguments_are_refused_before_anything_is_sent() {
    // Nothing listens there.
    let uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";
    let client = bucket_mongo::mongodb::Client::with_uri_str(uri)
        .await
        .unwrap();
    let readings = Reading::buckets(&client.database("nowhere"));
    let token = "AQECAwQFBsCE5JcNAZztiwEqgSZYvw";

    let error = readings.records(1).limit(0).await.unwrap_err();
    assert_eq!(message(&error), "the limit must be at least 1");
    assert_eq!(error.operation(), "records");
    assert!(error.key().is_some_and(|key| key.contains('1')));
    let error = readings.records(1).limit(10_001).await.unwrap_err();
    assert_eq!(
        message(&error),
        "a page holds at most 10000 records, but the limit is 10001"
    );
    let error = readings
        .records(1)
        .after(token)
        .before(token)
        .await
        .unwrap_err();
    assert!(message(&error).contains("not both"));
    let error = readings
        .records(1)
        .before(token)
        .collect()
        .await
        .unwrap_err();
    assert!(message(&error).contains("a stream goes forward"));
    let error = readings.records(1).limit(0).collect().await.unwrap_err();
    assert_eq!(message(&error), "the limit must be at least 1");
    for error in [
        readings
            .records(1)
            .between(seconds(2, 1))
            .await
            .unwrap_err(),
        readings.range(1, seconds(2, 1)).await.unwrap_err(),
        readings
            .range_many([1, 2], seconds(2, 1))
            .await
            .unwrap_err(),
        readings.stats(1, seconds(2, 1)).await.unwrap_err(),
    ] {
        assert!(message(&error).contains("before"), "{error}");
    }
    // An empty range is answered without a server.
    assert!(readings.range(1, seconds(1, 1)).await.unwrap().is_empty());
    assert!(
        readings
            .records(1)
            .between(seconds(1, 1))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(readings.stats(1, seconds(1, 1)).await.unwrap().is_none());
}

#[tokio::test]
async fn a_token_works_only_for_its_own_query() {
    let (database, readings) = filled().await;
    let page = readings.records(1).limit(3).await.unwrap();
    let token = page.next_token().unwrap().clone();
    let bounded = readings
        .records(1)
        .between(seconds(0, 300))
        .limit(3)
        .await
        .unwrap();
    let of_range = bounded.next_token().unwrap();

    // The page size may change.
    readings.records(1).limit(7).after(&token).await.unwrap();
    let numbered = Numbered::buckets(&database);
    for error in [
        readings.records(0).after(&token).await.unwrap_err(),
        readings
            .records(1)
            .newest_first()
            .after(&token)
            .await
            .unwrap_err(),
        readings
            .records(1)
            .between(seconds(0, 300))
            .after(&token)
            .await
            .unwrap_err(),
        readings
            .records(1)
            .between(seconds(0, 301))
            .after(of_range)
            .await
            .unwrap_err(),
        readings.records(1).before(of_range).await.unwrap_err(),
        numbered.records(1).after(&token).await.unwrap_err(),
    ] {
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::InvalidToken(TokenError::OtherQuery)),
            "{kind:?}"
        );
        assert!(std::error::Error::source(&error).is_some());
    }
    // Neither the key nor a value appears in it.
    assert!(
        !token.as_str().contains("readings") && token.as_str().len() <= 32,
        "{token}"
    );
}

#[tokio::test]
async fn every_text_is_a_token_or_a_typed_error() {
    let (_database, readings) = filled().await;
    let token = readings.records(1).limit(3).await.unwrap();
    let token = token.next_token().unwrap().clone();
    let mut runner = TestRunner::deterministic();
    let drawn = |strategy: BoxedStrategy<String>, runner: &mut TestRunner| {
        use proptest::strategy::ValueTree;
        strategy.new_tree(runner).unwrap().current()
    };
    let mut texts = vec![
        String::new(),
        " ".into(),
        "=".into(),
        "A".repeat(5_000),
        "\u{0}".into(),
    ];
    for _ in 0..200 {
        texts.push(drawn(".*".boxed(), &mut runner));
        texts.push(drawn("[A-Za-z0-9_-]{1,60}".boxed(), &mut runner));
        let at = drawn("[0-9]{1,3}".boxed(), &mut runner)
            .parse::<usize>()
            .unwrap();
        let mut changed = token.as_str().to_owned();
        changed.remove(at % changed.len());
        texts.push(changed);
    }
    for text in texts {
        let error = readings.records(1).after(&text).await.unwrap_err();
        let kind = error.kind();
        assert!(
            matches!(kind, ErrorKind::InvalidToken(_)),
            "{text:?}: {kind:?}"
        );
        let mut stream = readings.records(1).after(CursorToken::from(&text)).stream();
        assert!(stream.next().await.unwrap().is_err());
        assert!(stream.next().await.is_none());
    }
}

/// Every way to damage a bucket, and what the reads of its key report.
#[tokio::test]
async fn damaged_documents_are_named_by_every_read() {
    let damages = [
        doc! { "$set": { "count": 9 } },
        doc! { "$set": { "count": "many" } },
        doc! { "$unset": { "count": "" } },
        doc! { "$set": { "readings": "none" } },
        doc! { "$unset": { "readings": "" } },
        doc! { "$set": { "readings.1": 5 } },
        doc! { "$set": { "readings.1.at": "now" } },
        doc! { "$unset": { "readings.1.at": "" } },
        doc! { "$set": { "readings.1.value": { "$type": "odd" } } },
        doc! { "$unset": { "bucket_end": "" } },
        doc! { "$set": { "bucket_start": 7 } },
    ];
    for damage in damages {
        let (database, readings) = filled().await;
        let collection = database.collection::<Document>("readings");
        let of_key = doc! { "device": 1, "bucket_start": DateTime::from_millis(120_000) };
        let id = collection.find_one(of_key.clone()).await.unwrap().unwrap();
        let id = id.get("_id").unwrap().to_string();
        // By pipeline if a value begins with `$`.
        let damage: Bson = match damage.get_document("$set") {
            Ok(set) if set.contains_key("readings.1.value") => {
                let broken = doc! { "readings": [{ "at": DateTime::from_millis(120_000), "value": "odd" }, 5, 6] };
                doc! { "$set": broken }.into()
            }
            _ => damage.into(),
        };
        let update = damage.as_document().unwrap().clone();
        collection.update_one(of_key, update).await.unwrap();

        let named = |error: Error| match error.kind() {
            ErrorKind::Damaged(bucket) => assert_eq!(bucket.id(), id, "{damage}"),
            other => panic!("{damage}: {other:?}"),
        };
        // The records before it come first, and the records after it can be reached.
        let before = readings.records(1).limit(60).await.unwrap();
        assert_eq!(before.len(), 6, "{damage}");
        let error = readings.records(1).limit(60).after(before.next_token());
        let error = error.await.unwrap_err();
        let token = error.continue_after().cloned();
        named(error);
        let after = readings.records(1).limit(60).after(token.unwrap());
        let after = after.await.unwrap();
        assert_eq!((after.len(), after.next_token()), (21, None), "{damage}");
        named(
            readings
                .records(1)
                .newest_first()
                .collect()
                .await
                .unwrap_err(),
        );
        named(readings.range(1, ..).await.unwrap_err());
        named(readings.range_many([0, 1], ..).await.unwrap_err());
        named(readings.latest_n(1, 60).await.unwrap_err());
        // A stream continues after it.
        let found: Vec<_> = readings.records(1).stream().collect().await;
        let (good, bad): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
        assert_eq!((good.len(), bad.len()), (27, 1), "{damage}");
        // The other key does not change, and neither does a span without that bucket.
        assert_eq!(readings.records(0).collect().await.unwrap().len(), 30);
        assert_eq!(
            readings.range(1, seconds(180, 600)).await.unwrap().len(),
            21
        );
    }
}

#[tokio::test]
async fn a_damaged_bucket_keeps_no_other_record_from_a_page_in_either_direction() {
    let (database, readings) = filled().await;
    let collection = database.collection::<Document>("readings");
    let start = DateTime::from_millis(300_000);
    let of_key = doc! { "device": 1, "bucket_start": start };
    let damage = doc! { "$set": { "count": 9 } };
    collection.update_one(of_key, damage).await.unwrap();
    let healthy: Vec<i64> = (0..60)
        .filter(|value| value % 2 == 1 && value / 6 != 5)
        .collect();
    for newest_first in [false, true] {
        for limit in [1, 4, 15, 100] {
            for before in [false, true] {
                let query = || {
                    let query = readings.records(1).limit(limit);
                    if newest_first == before {
                        query
                    } else {
                        query.newest_first()
                    }
                };
                // From beyond the last one, backwards.
                let mut token = if before {
                    let last = query().limit(100).collect().await;
                    let token = last.unwrap_err().continue_after().cloned();
                    let rest = query().limit(100).after(token.unwrap()).await.unwrap();
                    let beyond = query().after(rest.end_token()).await.unwrap();
                    assert!(beyond.is_empty());
                    beyond.previous_token().cloned()
                } else {
                    None
                };
                let (mut seen, mut errors) = (Vec::new(), 0);
                loop {
                    let page = if before {
                        query().before(token).await
                    } else {
                        query().after(token).await
                    };
                    token = match page {
                        Ok(page) => {
                            let mut values: Vec<i64> =
                                page.records().iter().map(|each| each.value).collect();
                            if before {
                                values.reverse();
                            }
                            seen.extend(values);
                            let next = if before {
                                page.previous_token()
                            } else {
                                page.next_token()
                            };
                            next.cloned()
                        }
                        Err(error) => {
                            errors += 1;
                            Some(error.continue_after().unwrap().clone())
                        }
                    };
                    if token.is_none() {
                        break;
                    }
                }
                assert_eq!(errors, 1);
                let mut expected = healthy.clone();
                if newest_first {
                    expected.reverse();
                }
                assert_eq!(seen, expected, "{newest_first} {limit} {before}");
            }
        }
        // A stream gives what is ready, then the error, and continues.
        let stream = readings.records(1);
        let stream = if newest_first {
            stream.newest_first()
        } else {
            stream
        };
        let found: Vec<_> = stream.stream().collect().await;
        let at = found.iter().position(Result::is_err).unwrap();
        assert_eq!(at, if newest_first { 12 } else { 15 });
        let error = found[at].as_ref().unwrap_err();
        assert!(error.continue_after().is_some());
        assert_eq!(found.len(), 28);
    }
    // Records newer than the damaged bucket do not depend on it.
    assert_eq!(readings.latest_n(1, 12).await.unwrap().len(), 12);
    assert!(readings.latest_n(1, 13).await.is_err());
    let first = readings.records(1).limit(15).collect().await.unwrap();
    assert_eq!(first.len(), 15);
}
