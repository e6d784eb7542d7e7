//! Every aggregate through its typed access, against the same figure computed by hand.

use bucket_core::BucketDocument;
use bucket_mongo::{Bucketed, bson::DateTime};
use bucket_tests::database;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "samples",
    items = "samples",
    window = "day",
    stats = "figures",
    bytes = "size"
)]
struct Sample {
    #[bucket(key)]
    sensor: String,
    #[bucket(time, first = "opened", last = "latest")]
    at: DateTime,
    #[bucket(min, max, sum, avg, std_dev, first, last, percentiles(error = 0.01))]
    level: f64,
    #[bucket(sum = "missing_total", avg, count = "present", min = "least")]
    maybe: Option<i32>,
    #[bucket(non_finite = "skip", max = "peak", sum = "rough_sum", avg)]
    rough: f64,
    #[bucket(tally = "codes", count_if("errors", |code| *code >= 500))]
    #[bucket(tally("classes", |code| code / 100), count_if("fine", |code| *code < 300))]
    code: i32,
}

fn sample(n: i32) -> Sample {
    Sample {
        sensor: "s".to_owned(),
        at: DateTime::from_millis(1_769_767_200_000 + i64::from(n * 7_919 % 1_000) * 1_000),
        level: f64::from(n * n) / 8.0,
        maybe: (n % 3 != 0).then_some(n),
        rough: if n % 5 == 0 { f64::NAN } else { f64::from(n) },
        code: [200, 404, 503][usize::try_from(n % 3).unwrap()],
    }
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs(),
        "{found} is not {expected}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_figures_match_the_records() {
    let database = database().await;
    let samples = Sample::buckets(&database);
    samples.ensure().await.unwrap();
    let all: Vec<Sample> = (1..=500).map(sample).collect();
    samples
        .insert_many(&all[..300])
        .await
        .unwrap()
        .into_result()
        .unwrap();
    for sample in &all[300..] {
        samples.insert(sample).await.unwrap();
    }
    let bucket = samples
        .page("s".to_owned(), 1)
        .await
        .unwrap()
        .into_bucket()
        .unwrap();
    assert_eq!(bucket.as_ref().items.len(), 500);
    let stats = bucket.stats();

    let mut levels: Vec<f64> = all.iter().map(|sample| sample.level).collect();
    levels.sort_by(f64::total_cmp);
    let mean = levels.iter().sum::<f64>() / 500.0;
    let variance = levels
        .iter()
        .map(|level| (level - mean).powi(2))
        .sum::<f64>()
        / 500.0;
    close(stats.level().min(), levels[0]);
    close(stats.level().max(), levels[499]);
    close(stats.level().sum(), levels.iter().sum());
    close(stats.level().avg(), mean);
    close(stats.level().variance(), variance);
    close(stats.level().std_dev(), variance.sqrt());
    let by_time = |sample: &&Sample| sample.at;
    close(
        stats.level().first(),
        all.iter().min_by_key(by_time).unwrap().level,
    );
    close(
        stats.level().last(),
        all.iter().max_by_key(by_time).unwrap().level,
    );
    for (q, rank) in [(0.0, 0), (0.5, 249), (0.99, 494), (1.0, 499)] {
        let found = stats.level().percentile(q).unwrap();
        assert!(
            (found - levels[rank]).abs() <= 0.0101 * levels[rank],
            "{q}: {found}"
        );
    }
    assert_eq!(stats.level().percentile(1.1), None);
    assert_eq!(stats.level().sketch().count(), 500);

    let present: Vec<i32> = all.iter().filter_map(|sample| sample.maybe).collect();
    let total = present.iter().map(|value| i64::from(*value)).sum::<i64>();
    assert_eq!(stats.maybe().sum(), Some(total));
    assert_eq!(stats.maybe().min(), Some(1));
    assert_eq!(stats.maybe().count(), u64::try_from(present.len()).unwrap());
    #[allow(clippy::cast_precision_loss)]
    close(stats.maybe().avg(), total as f64 / present.len() as f64);

    let finite: Vec<f64> = all
        .iter()
        .map(|sample| sample.rough)
        .filter(|rough| rough.is_finite())
        .collect();
    #[allow(clippy::cast_precision_loss)]
    close(
        stats.rough().avg(),
        finite.iter().sum::<f64>() / finite.len() as f64,
    );
    close(stats.rough().max(), 499.0);

    let number =
        |code: i32| u64::try_from(all.iter().filter(|sample| sample.code == code).count()).unwrap();
    let mut codes = stats.code().codes();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [(200, number(200)), (404, number(404)), (503, number(503))]
    );
    let mut classes = stats.code().classes::<i32>();
    classes.sort_unstable();
    assert_eq!(
        classes,
        [(2, number(200)), (4, number(404)), (5, number(503))]
    );
    assert_eq!(stats.code().errors(), number(503));
    assert_eq!(stats.code().fine(), number(200));
    assert_eq!(stats.opened(), all.iter().map(|sample| sample.at).min());
    assert_eq!(stats.latest(), all.iter().map(|sample| sample.at).max());
    assert_eq!(SampleStats::FIELDS.level_sum.as_str(), "figures.sum");
    assert_eq!(SampleStats::FIELDS.opened.as_str(), "opened");
    assert_eq!(SampleBucket::FIELDS.bytes.as_str(), "size");
}
