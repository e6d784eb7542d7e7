//! The reads and indexes as documents.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;

use bson::{Document, doc};
use bucket_core::{Record, index, read};
use common::{Reading, ReadingKey, Trade};

fn filter(plan: &read::FindPlan) -> Document {
    Document::try_from(plan.filter.clone()).unwrap()
}

#[test]
fn a_page_is_the_manuals_sort_skip_and_limit_by_key_equality() {
    let key = read::key_elements::<Trade>(&123.into());
    let plan = read::page(&Trade::SPEC, &key, 10);
    assert_eq!(filter(&plan), doc! { "customerId": 123_i64 });
    assert_eq!(
        (plan.sort, plan.skip, plan.limit),
        (doc! { "_id": 1 }, 9, 1)
    );
    assert_eq!(plan.hint, "bucket_pages");
}

#[test]
fn every_key_field_is_named_in_every_read() {
    let key = ReadingKey {
        device: "a.b|c".into(),
        channel: "^x_".into(),
    };
    let key = read::key_elements::<Reading>(&key);
    let named = doc! { "device": "a.b|c", "channel": "^x_" };
    let spec = <Reading as Record>::SPEC;
    assert_eq!(filter(&read::page(spec, &key, 1)), named);
    let empty = doc! { "$nor": [{ "count": 0, "readings": { "$size": 0 } }] };
    let mut pages = named.clone();
    pages.extend(empty.clone());
    assert_eq!(filter(&read::pages(spec, &key, None)), pages);
    assert_eq!(filter(&read::newest(spec, &key)), named);
    let mut behind = doc! { "device": "a.b|c", "channel": "^x_", "_id": { "$gt": "x" } };
    behind.extend(empty);
    assert_eq!(filter(&read::pages(spec, &key, Some("x"))), behind);
    let open = doc! { "device": "a.b|c", "channel": "^x_", "count": { "$lt": 3 } };
    assert_eq!(filter(&read::open_buckets(spec, &[&key])), open.clone());
    let several = doc! { "$or": [open.clone(), open] };
    assert_eq!(filter(&read::open_buckets(spec, &[&key, &key])), several);
}

#[test]
fn the_open_buckets_of_many_keys_of_one_field_are_one_scan() {
    let (a, b) = (
        read::key_elements::<Trade>(&123.into()),
        read::key_elements::<Trade>(&456.into()),
    );
    let plan = read::open_buckets(&Trade::SPEC, &[&a, &b]);
    let wanted = doc! { "customerId": { "$in": [123_i64, 456_i64] }, "count": { "$lt": 10 } };
    assert_eq!(filter(&plan), wanted);
    assert_eq!(
        plan.projection,
        doc! { "_id": 1, "count": 1, "_sealed": 1, "customerId": 1 }
    );
    assert_eq!(plan.hint, "bucket_open_10");
}

#[test]
fn a_model_needs_one_unique_partial_index_and_one_for_pages() {
    let plans: Vec<Document> = index::plan(<Reading as Record>::SPEC)
        .iter()
        .map(index::IndexPlan::definition)
        .collect();
    let open = doc! {
        "name": "bucket_open_3",
        "key": { "device": 1, "channel": 1 },
        "unique": true,
        "partialFilterExpression": { "count": { "$lt": 3 } },
    };
    let pages = doc! { "name": "bucket_pages", "key": { "device": 1, "channel": 1, "_id": 1 } };
    assert_eq!(plans, [open, pages]);
}

#[test]
fn an_index_that_differs_is_drift_and_an_equal_one_is_not() {
    let spec = <Trade as Record>::SPEC;
    let as_the_server_lists_it = doc! {
        "v": 2, "key": { "customerId": 1.0 }, "name": "bucket_open_10", "unique": true,
        "partialFilterExpression": { "count": { "$lt": 10.0 } },
    };
    let pages = doc! { "v": 2, "key": { "customerId": 1, "_id": 1 }, "name": "bucket_pages" };
    let (missing, drift) = index::compare(spec, &[as_the_server_lists_it.clone(), pages.clone()]);
    assert!(
        missing.is_empty() && drift.is_empty(),
        "{missing:?} {drift:?}"
    );

    let mut not_unique = as_the_server_lists_it;
    not_unique.remove("unique");
    let other_capacity = doc! { "v": 2, "key": { "customerId": 1 }, "name": "bucket_open_20" };
    let (missing, drift) = index::compare(spec, &[not_unique, pages, other_capacity]);
    assert!(missing.is_empty());
    assert_eq!(drift.len(), 2);
    assert!(
        drift[0]
            .to_string()
            .starts_with("index `bucket_open_10` is"),
        "{}",
        drift[0]
    );
    assert!(
        drift[1]
            .to_string()
            .starts_with("index `bucket_open_20` belongs to another capacity")
    );
}
