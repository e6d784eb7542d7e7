//! Random records in every form.

use std::collections::BTreeSet;

use bucket_core::{Form, Record};
use bucket_mongo::{Buckets, bson::Document, testing::TestDatabase};
use bucket_tests::{Load, documents};
use proptest::prelude::*;

use super::models::latest;
use crate::common::{
    draw::Draw,
    drawn::{Drawn, drawn},
    filled::filled,
    sample::{self, Sample},
};

/// The newest record of a key among all stored ones.
async fn naive<const F: usize>(buckets: &Buckets<Sample<F>>, key: &str) -> Sample<F> {
    let records = buckets.records(sample::SampleKey(key.to_owned()));
    let records: Vec<Sample<F>> = records.collect().await.unwrap();
    let by_time = matches!(
        <Sample<F> as Record>::SPEC.form(),
        Form::Window { .. } | Form::Hybrid { .. }
    );
    let newer = |best: Sample<F>, next: Sample<F>| {
        if by_time && next.at < best.at {
            best
        } else {
            next
        }
    };
    records.into_iter().reduce(newer).unwrap()
}

/// The times of one key are drawn, those of the other one are close together.
async fn is_as_in_the_model<const F: usize>(seed: u8) {
    let mut draw = Draw::new(seed);
    let (database, buckets) = filled::<Sample<F>>(&[]).await;
    for round in 0..4 {
        let mut drawn = draw.draw(prop::collection::vec(drawn(), 60));
        for one in &mut drawn {
            one.at = match one.device {
                0 => one.at,
                _ => one.at.rem_euclid(6_000) - 3_000,
            };
        }
        let samples = drawn.iter().enumerate();
        let samples: Vec<Sample<F>> = samples.map(|(n, one)| one.sample(round * 60 + n)).collect();
        for (part, some) in samples.chunks(20).enumerate() {
            if part == 0 {
                for sample in some {
                    let _late = buckets.insert(sample).await;
                }
            } else {
                buckets.offer(some).await;
            }
            let mut found = latest(&buckets).await;
            found.sort_by(|a, b| a.device.cmp(&b.device));
            let mut expected = Vec::new();
            for key in buckets_of(&database).await {
                expected.push(naive(&buckets, &key).await);
            }
            // Not `==`: some levels are not equal to themselves.
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "form {F}");
        }
    }
}

async fn buckets_of(database: &TestDatabase) -> BTreeSet<String> {
    let found = documents(database, "samples").await;
    let key = |found: &Document| found.get_str("device").unwrap().to_owned();
    found.iter().map(key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_last_one_to_arrive_in_the_manuals_form_and_in_numbered_buckets() {
    is_as_in_the_model::<{ sample::COUNT }>(1).await;
    is_as_in_the_model::<{ sample::COUNT_BYTES }>(2).await;
    is_as_in_the_model::<{ sample::NUMBERED }>(3).await;
    is_as_in_the_model::<{ sample::NUMBERED_OBJECT }>(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_newest_of_all_buckets_of_a_window() {
    is_as_in_the_model::<{ sample::WINDOW }>(5).await;
    is_as_in_the_model::<{ sample::WINDOW_CAPACITY }>(6).await;
    is_as_in_the_model::<{ sample::WINDOW_BYTES }>(7).await;
    is_as_in_the_model::<{ sample::WINDOW_OBJECT }>(8).await;
    is_as_in_the_model::<{ sample::PARTS }>(13).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_the_newest_of_hybrid_buckets_that_overlap() {
    is_as_in_the_model::<{ sample::HYBRID_MERGE }>(9).await;
    is_as_in_the_model::<{ sample::HYBRID_SIDE }>(10).await;
    is_as_in_the_model::<{ sample::HYBRID_REJECT }>(11).await;
    is_as_in_the_model::<{ sample::HYBRID_BYTES }>(12).await;
}

/// After a full bucket, the next one begins before the full one's own end.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_hybrid_bucket_may_reach_further_than_the_one_after_it() {
    let (database, buckets) = filled::<Sample<{ sample::HYBRID_MERGE }>>(&[]).await;
    for (n, at) in [0, 100, 300, 900, 200].into_iter().enumerate() {
        let drawn = Drawn {
            device: 0,
            at,
            value: 0,
            level: None,
            code: String::new(),
        };
        buckets.insert(&drawn.sample(n)).await.unwrap();
    }
    assert_eq!(documents(&database, "samples").await.len(), 2);
    let found = latest(&buckets).await;
    let times: Vec<i64> = found.iter().map(|one| one.at.timestamp_millis()).collect();
    assert_eq!(times, [900]);
}
