//! The expected aggregates of a bucket, computed from its items.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use bucket_core::{Record, Sketch};

use super::sample::{Sample, SampleBucket, SampleItem, at};

/// Integers exactly, floats within the bound for a sum of few values.
pub fn check<const F: usize>(bucket: &SampleBucket<F>) {
    let (items, stats) = (&bucket.items, &bucket.stats);
    let id = bucket.id.as_str();
    let values = || items.iter().map(|item| item.value);
    assert_eq!(usize::try_from(bucket.count), Ok(items.len()), "{id}");
    assert_eq!(stats.value::<i64>(at::MIN), values().min(), "{id}");
    assert_eq!(stats.value::<i64>(at::MAX), values().max(), "{id}");
    assert_eq!(stats.sum::<i64>(at::SUM), Some(values().sum()), "{id}");
    let levels: Vec<f64> = items
        .iter()
        .filter_map(|item| item.level)
        .filter(|level| level.is_finite())
        .collect();
    assert_eq!(
        stats.count(at::LEVEL_COUNT),
        u64::try_from(levels.len()).unwrap(),
        "{id}"
    );
    near(
        stats.sum::<f64>(at::LEVEL_SUM).unwrap_or(0.0),
        levels.iter().sum(),
        &levels,
    );
    #[allow(clippy::cast_precision_loss)]
    let squares: Vec<f64> = values().map(|value| (value as f64).powi(2)).collect();
    near(
        stats.sum::<f64>(at::SQUARES).unwrap(),
        squares.iter().sum(),
        &squares,
    );
    #[allow(clippy::cast_precision_loss)]
    let mean = levels.iter().sum::<f64>() / levels.len() as f64;
    match stats.avg(at::LEVEL_SUM, Some(at::LEVEL_COUNT)) {
        Some(avg) => near(avg, mean, &levels),
        None => assert!(levels.is_empty(), "{id}"),
    }
    if Sample::<F>::SPEC.aggregates().len() > at::AVG {
        #[allow(clippy::cast_precision_loss)]
        let values: Vec<f64> = values().map(|value| value as f64).collect();
        #[allow(clippy::cast_precision_loss)]
        let exact = values.iter().sum::<f64>() / values.len() as f64;
        near(stats.value::<f64>(at::AVG).unwrap(), exact, &values);
        match stats.value::<f64>(at::LEVEL_AVG) {
            Some(avg) => near(avg, mean, &levels),
            None => assert!(levels.is_empty(), "{id}"),
        }
    }
    let odd = values().filter(|value| value % 2 != 0).count();
    assert_eq!(stats.count(at::ODD), u64::try_from(odd).unwrap(), "{id}");
    let mut codes = BTreeMap::new();
    for item in items {
        *codes.entry(item.code.clone()).or_default() += 1_u64;
    }
    let stored: BTreeMap<String, u64> = stats.tally::<String>(at::CODES).into_iter().collect();
    assert_eq!(stored, codes, "{id}");
    let in_time = |item: &&SampleItem| (item.at, item.value);
    let first = items.iter().min_by_key(in_time).map(|item| item.value);
    let last = items.iter().max_by_key(in_time).map(|item| item.value);
    assert_eq!(stats.value_in_time::<i64>(at::FIRST), first, "{id}");
    assert_eq!(stats.value_in_time::<i64>(at::LAST), last, "{id}");
    let times = || items.iter().map(|item| item.at);
    assert_eq!(stats.time(at::FIRST_TIME), times().min(), "{id}");
    assert_eq!(stats.time(at::LAST_TIME), times().max(), "{id}");
    let mut sketch = Sketch::with_error(0.01);
    #[allow(clippy::cast_precision_loss)]
    values().for_each(|value| sketch.add(value as f64));
    assert_eq!(stats.sketch(at::SKETCH, 10_000), sketch, "{id}");
}

/// Source of the bound: Higham, "Accuracy and Stability of Numerical Algorithms", section 4.2.
fn near(found: f64, expected: f64, parts: &[f64]) {
    let magnitude: f64 = parts.iter().map(|part| part.abs()).sum();
    #[allow(clippy::cast_precision_loss)]
    let bound = 2.0 * (parts.len() as f64 + 1.0) * f64::EPSILON * magnitude;
    assert!(
        (found - expected).abs() <= bound,
        "{found} instead of {expected}"
    );
}
