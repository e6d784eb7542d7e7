//! Cursors over the records of every form, compared with all stored documents: both directions,
//! changing page sizes, stored tokens, spans of time, and concurrent writers.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use bucket_core::Form;
use bucket_mongo::{
    Buckets, CursorToken, InsertReport, Limits, Record, RecordPage, Result, TimeRange, Window,
    bson::{Document, doc},
};
use futures_util::TryStreamExt;
use tokio::task::JoinHandle;

use crate::common::{
    draw::Draw,
    drawn_buckets::{RECORDS, filled},
    expected::{self, in_order, numbers},
    sample::{self, Sample},
};

/// As a client would store it.
fn put_away(token: Option<&CursorToken>) -> Option<String> {
    token.map(ToString::to_string)
}

async fn page<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    (newest_first, range, limit): (bool, TimeRange, usize),
    after: Option<String>,
    before: Option<String>,
) -> RecordPage<Sample<F>> {
    let query = buckets.records("1").between(range).limit(limit);
    let query = if newest_first {
        query.newest_first()
    } else {
        query
    };
    query.after(after).before(before).await.unwrap()
}

async fn every_path_returns_every_record_once<const F: usize>(start: u8) {
    let mut draw = Draw::new(start);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    let all = in_order(&buckets, "1").await;
    assert!(!all.is_empty());
    for round in 0..8 {
        let newest_first = round % 2 == 1;
        let range = if round < 2 {
            TimeRange::ALL
        } else {
            draw.range()
        };
        let mut expected = all.clone();
        expected.retain(|record| range.contains(record.at));
        if newest_first {
            expected.reverse();
        }
        let expected = numbers(&expected);

        // Forward, with a different size for each page.
        let (mut seen, mut after, mut last) = (Vec::new(), None, None);
        loop {
            let limit = draw.draw(1..=30_usize);
            let page = page(&buckets, (newest_first, range, limit), after, None).await;
            assert_eq!(page.previous_token().is_some(), !seen.is_empty());
            assert_eq!(page.len(), limit.min(expected.len() - seen.len()));
            seen.extend(numbers(page.records()));
            last = put_away(page.end_token()).or(last);
            after = put_away(page.next_token());
            assert_eq!(after.is_some(), seen.len() < expected.len());
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, expected, "{range:?}");

        // And backwards from the end.
        let Some(last) = last else { continue };
        let mut back = Vec::new();
        let beyond = page(&buckets, (newest_first, range, 5), Some(last.clone()), None).await;
        assert!(beyond.is_empty() && beyond.next_token().is_none());
        assert_eq!(put_away(beyond.end_token()), Some(last.clone()));
        let mut before = Some(last);
        while before.is_some() {
            let limit = draw.draw(1..=30_usize);
            let page = page(&buckets, (newest_first, range, limit), None, before).await;
            assert_eq!(page.next_token().is_some(), !page.is_empty());
            let mut part = numbers(page.records());
            part.extend(back);
            back = part;
            before = put_away(page.previous_token());
            let missing = expected.len() - 1 - back.len();
            assert_eq!(before.is_some(), missing > 0, "{missing} are missing");
        }
        assert_eq!(back, expected[..expected.len() - 1]);

        // At once, and as a stream that is dropped and resumed.
        let query = || {
            let query = buckets.records("1").between(range);
            if newest_first {
                query.newest_first()
            } else {
                query
            }
        };
        assert_eq!(numbers(&query().collect().await.unwrap()), expected);
        let first = draw.draw(1..=expected.len());
        let mut stream = query().stream();
        let mut seen = Vec::new();
        for _ in 0..first {
            seen.push(stream.try_next().await.unwrap().unwrap().unique);
        }
        let position = stream.position().unwrap();
        drop(stream);
        let rest: Vec<Sample<F>> = query()
            .after(position)
            .stream()
            .try_collect()
            .await
            .unwrap();
        seen.extend(numbers(&rest));
        assert_eq!(seen, expected);
        let limited = query().limit(first).collect().await.unwrap();
        assert_eq!(numbers(&limited), expected[..first]);
    }
}

async fn written(writer: JoinHandle<Result<InsertReport>>) {
    // Late ones may be refused, depending on the model.
    drop(writer.await.unwrap().unwrap());
}

/// Limits that writers may have at different times.
fn drawn_limits(draw: &mut Draw, form: Form) -> Limits {
    let limits = Limits::new();
    let capacity = draw.draw(2..9_u32);
    let seconds = draw.draw(1..4_u32);
    match form {
        Form::Window { .. } => limits.capacity(capacity).window(Window::seconds(seconds)),
        Form::Hybrid { .. } => limits.capacity(capacity).max_duration(seconds),
        Form::Numbered { .. } => limits.capacity(capacity),
        _ => limits,
    }
}

/// A walk by pages with concurrent writers, whose limits may change.
async fn nothing_is_missed_or_doubled_while_others_write<const F: usize>(start: u8, relimit: bool) {
    let mut draw = Draw::new(start);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    let buckets = buckets.with_longest_span(Duration::from_secs(4));
    let mut next = RECORDS;
    for round in 0..6 {
        let newest_first = round % 2 == 1;
        let backwards = round % 3 == 2;
        let range = if round < 3 {
            TimeRange::ALL
        } else {
            draw.range()
        };
        let mut there: BTreeSet<i64> = in_order(&buckets, "1")
            .await
            .iter()
            .filter(|record| range.contains(record.at))
            .map(|record| record.unique)
            .collect();
        let mut seen: BTreeMap<i64, usize> = BTreeMap::new();
        let (mut token, mut writers) = (None, Vec::new());
        if backwards {
            let query = buckets.records("1").between(range);
            let mut stream = if newest_first {
                query.newest_first()
            } else {
                query
            }
            .stream();
            while stream.try_next().await.unwrap().is_some() {}
            token = put_away(stream.position().as_ref());
            // The walk has not reached its place.
            let query = buckets.records("1").between(range);
            let query = if newest_first {
                query.newest_first()
            } else {
                query
            };
            if let Some(last) = query.collect().await.unwrap().last() {
                there.remove(&last.unique);
            }
            if token.is_none() {
                continue;
            }
        }
        loop {
            let limit = draw.draw(1..=12_usize);
            let settings = (newest_first, range, limit);
            let (after, before) = if backwards {
                (None, token)
            } else {
                (token, None)
            };
            let page = page(&buckets, settings, after, before).await;
            for record in page.records() {
                *seen.entry(record.unique).or_default() += 1;
            }
            token = put_away(if backwards {
                page.previous_token()
            } else {
                page.next_token()
            });
            if token.is_none() {
                break;
            }
            let number = draw.draw(1..=9_usize);
            let samples = draw.samples::<F>(next, number);
            next += number;
            // The writers of the last page are still running while the next one is read.
            for writer in writers.drain(..) {
                written(writer).await;
            }
            let limits = drawn_limits(&mut draw, Sample::<F>::SPEC.form());
            let writing = if relimit {
                buckets.clone().with_limits(move |_| limits)
            } else {
                buckets.clone()
            };
            writers.extend(samples.chunks(3).map(|chunk| {
                let (buckets, chunk) = (writing.clone(), chunk.to_vec());
                tokio::spawn(async move { buckets.insert_many(chunk).await })
            }));
            if next > RECORDS + 4_000 {
                // A walk that never reaches the end of the collection.
                break;
            }
        }
        for writer in writers {
            written(writer).await;
        }
        let twice: Vec<_> = seen.iter().filter(|(_, times)| **times > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        if token.is_none() {
            let missed: Vec<_> = there.iter().filter(|id| !seen.contains_key(id)).collect();
            assert!(missed.is_empty(), "{missed:?}");
        }
    }
}

macro_rules! forms {
    ($($name:ident: $form:ident, $seed:literal;)+) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread")]
            async fn every_path_returns_every_record_once() {
                super::every_path_returns_every_record_once::<{ sample::$form }>($seed).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn nothing_is_missed_or_doubled_while_others_write() {
                super::nothing_is_missed_or_doubled_while_others_write::<{ sample::$form }>($seed, false).await;
            }
        }
    )+};
}

forms! {
    count: COUNT, 1;
    count_bytes: COUNT_BYTES, 2;
    window: WINDOW, 3;
    window_capacity: WINDOW_CAPACITY, 4;
    window_bytes: WINDOW_BYTES, 5;
    window_object_ids: WINDOW_OBJECT, 6;
    parts: PARTS, 14;
    hybrid_merge: HYBRID_MERGE, 7;
    hybrid_side: HYBRID_SIDE, 8;
    hybrid_reject: HYBRID_REJECT, 9;
    hybrid_bytes: HYBRID_BYTES, 10;
    numbered: NUMBERED, 11;
    numbered_object_ids: NUMBERED_OBJECT, 12;
    record_ids: WINDOW_IDS, 13;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_or_doubled_while_the_limits_of_windows_change() {
    const F: usize = sample::WINDOW_CAPACITY;
    nothing_is_missed_or_doubled_while_others_write::<F>(21, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_or_doubled_while_the_limits_of_hybrid_buckets_change() {
    const F: usize = sample::HYBRID_MERGE;
    nothing_is_missed_or_doubled_while_others_write::<F>(22, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_missed_or_doubled_while_the_limits_of_numbered_buckets_change() {
    const F: usize = sample::NUMBERED;
    nothing_is_missed_or_doubled_while_others_write::<F>(23, true).await;
}

/// As the server removes expired data: entire buckets, the oldest first.
async fn a_walk_goes_on_when_buckets_are_removed<const F: usize>(newest_first: bool) {
    let mut draw = Draw::new(31);
    let (database, buckets) = filled::<F>(&mut draw).await;
    let mut seen = Vec::new();
    let mut token = None;
    loop {
        let page = page(&buckets, (newest_first, TimeRange::ALL, 7), token, None).await;
        seen.extend(numbers(page.records()));
        token = put_away(page.next_token());
        if token.is_none() {
            break;
        }
        let mut oldest = expected::stored(&buckets, "1").await;
        oldest.truncate(2);
        for bucket in oldest {
            let first = bucket.items[0].unique;
            let found = doc! { "device": "1", "items.unique": first };
            let collection = database.collection::<Document>("samples");
            collection.delete_one(found).await.unwrap();
        }
        // Every remaining record comes later, or was seen.
        let left = in_order(&buckets, "1").await;
        let mut ahead = buckets.records("1").after(token.clone());
        if newest_first {
            ahead = ahead.newest_first();
        }
        let ahead = numbers(&ahead.collect().await.unwrap());
        let left: BTreeSet<i64> = numbers(&left).into_iter().collect();
        let seen_or_ahead: BTreeSet<i64> = seen.iter().chain(&ahead).copied().collect();
        assert!(left.is_subset(&seen_or_ahead));
    }
    let distinct: BTreeSet<&i64> = seen.iter().collect();
    assert_eq!(distinct.len(), seen.len(), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn walks_continue_when_buckets_expire() {
    for newest_first in [false, true] {
        a_walk_goes_on_when_buckets_are_removed::<{ sample::COUNT }>(newest_first).await;
        a_walk_goes_on_when_buckets_are_removed::<{ sample::NUMBERED }>(newest_first).await;
        a_walk_goes_on_when_buckets_are_removed::<{ sample::WINDOW_CAPACITY }>(newest_first).await;
        a_walk_goes_on_when_buckets_are_removed::<{ sample::HYBRID_SIDE }>(newest_first).await;
    }
}

async fn an_empty_page_leads_back_to_what_is_left<const F: usize>(newest_first: bool) {
    let mut draw = Draw::new(31);
    let (_database, buckets) = filled::<F>(&mut draw).await;
    let collection = buckets.collection::<Document>();
    let query = |limit: usize| {
        let query = buckets.records("1").limit(limit);
        if newest_first {
            query.newest_first()
        } else {
            query
        }
    };
    let all = query(1_000).await.unwrap();
    let first = query(all.len() / 3).await.unwrap();
    let second = query(1_000).after(first.next_token()).await.unwrap();
    for record in first.records() {
        let with_it = doc! { "items.unique": record.unique };
        collection.delete_one(with_it).await.unwrap();
    }
    let left = query(1_000).await.unwrap();
    assert!(!left.is_empty());
    let gone = query(7).before(second.previous_token()).await.unwrap();
    assert!(gone.is_empty() && gone.previous_token().is_none());
    assert!(gone.next_token().is_some() && gone.next_token() == gone.end_token());
    let found = query(1_000).after(gone.next_token()).await.unwrap();
    assert_eq!(numbers(found.records()), numbers(left.records()));
    // And backwards: nothing after the last one, everything before it.
    let beyond = query(7).after(found.end_token()).await.unwrap();
    assert!(beyond.is_empty() && beyond.next_token().is_none());
    let found = query(1_000).before(beyond.previous_token()).await.unwrap();
    assert_eq!(numbers(found.records()), numbers(left.records()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_records_are_gone_leads_back_to_the_remaining_ones() {
    for newest_first in [false, true] {
        an_empty_page_leads_back_to_what_is_left::<{ sample::COUNT }>(newest_first).await;
        an_empty_page_leads_back_to_what_is_left::<{ sample::NUMBERED }>(newest_first).await;
        an_empty_page_leads_back_to_what_is_left::<{ sample::WINDOW }>(newest_first).await;
        an_empty_page_leads_back_to_what_is_left::<{ sample::WINDOW_OBJECT }>(newest_first).await;
        an_empty_page_leads_back_to_what_is_left::<{ sample::HYBRID_MERGE }>(newest_first).await;
    }
}
