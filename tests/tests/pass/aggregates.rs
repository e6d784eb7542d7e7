//! Every aggregate on every type of number and on options of them.

use bucket_mongo::{
    BucketKey, Bucketed, Record,
    bson::{self, DateTime, doc},
    model::{AggregateKind, NonFinite},
};
use serde::{Deserialize, Serialize};

macro_rules! on_every_type {
    ($($module:ident: $ty:ty => $value:ty, $sum:ty;)+) => {$(
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "readings", items = "readings", capacity = 60, stats = "")]
            pub struct Reading {
                #[bucket(key)]
                device: i64,
                #[bucket(time, first, last)]
                at: DateTime,
                #[bucket(min, max, sum, avg = "average", std_dev, sum_of_squares = "squares")]
                #[bucket(count = "values", first, last, percentiles(error = 0.02))]
                #[bucket(non_finite = "skip", count_if("low", is_low))]
                value: $ty,
            }

            fn is_low(_: &$ty) -> bool {
                true
            }

            pub fn reads(stats: &ReadingStats) {
                let _: [Option<$value>; 2] = [stats.min(), stats.max()];
                let _: [Option<$value>; 2] = [stats.first(), stats.value().last()];
                let _: Option<$sum> = stats.sum();
                let _: [Option<f64>; 2] = [stats.avg(), stats.sum_of_squares()];
                let _: [Option<f64>; 2] = [stats.std_dev(), stats.variance()];
                let _: [u64; 2] = [stats.count(), stats.low()];
                assert_eq!(stats.percentile(0.5), stats.sketch().quantile(0.5));
                let _: [Option<DateTime>; 2] = [stats.first_timestamp(), stats.last_timestamp()];
            }
        }
    )+};
}

on_every_type! {
    f64_: f64 => f64, f64;
    f32_: f32 => f32, f64;
    i64_: i64 => i64, i64;
    i32_: i32 => i32, i64;
    i16_: i16 => i16, i64;
    i8_: i8 => i8, i64;
    u32_: u32 => u32, i64;
    u16_: u16 => u16, i64;
    u8_: u8 => u8, i64;
    option: Option<f64> => f64, f64;
    option_of_an_integer: std::option::Option<i32> => i32, i64;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Ok,
    TimedOut,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "calls", items = "calls", capacity = 60)]
struct Call {
    #[bucket(key)]
    caller: String,
    #[bucket(time)]
    at: DateTime,
    #[bucket(tally, tally("by_letter", |outcome| matches!(outcome, Outcome::Ok)))]
    call_outcome: Outcome,
    #[bucket(
        avg,
        std_dev,
        sum = "cost.total",
        count = "cost.n",
        sum_of_squares = "cost.squares"
    )]
    cost: Option<f64>,
    #[bucket(count_if("longNames", |name| name.len() > 8), tally("lengths", |name| name.len() as i64))]
    name: String,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let kinds: Vec<_> = Call::SPEC
        .aggregates()
        .iter()
        .map(|kept| (kept.path, kept.kind))
        .collect();
    assert_eq!(
        kinds,
        [
            ("stats.callOutcome", AggregateKind::Tally),
            ("stats.by_letter", AggregateKind::Tally),
            ("stats.cost.total", AggregateKind::Sum),
            ("stats.cost.squares", AggregateKind::SumOfSquares),
            ("stats.cost.n", AggregateKind::Count),
            ("stats.longNames", AggregateKind::CountIf),
            ("stats.lengths", AggregateKind::Tally),
        ]
    );
    let spec = <f64_::Reading as Record>::SPEC;
    assert!(
        spec.inputs()
            .iter()
            .all(|input| input.non_finite == NonFinite::Skip)
    );
    assert_eq!(spec.aggregates().len(), 12);
    let avg = AggregateKind::Avg {
        sum: 4,
        count: Some(6),
    };
    assert!(
        spec.aggregates()
            .iter()
            .any(|kept| kept.path == "average" && kept.kind == avg)
    );
    let _ = f64_::reads;
    let _ = (
        f32_::reads,
        i64_::reads,
        i32_::reads,
        i16_::reads,
        i8_::reads,
    );
    let _ = (
        u32_::reads,
        u16_::reads,
        u8_::reads,
        option::reads,
        option_of_an_integer::reads,
    );

    let at = DateTime::from_millis(1_698_335_223_434);
    let bucket: CallBucket = bson::deserialize_from_document(doc! {
        "_id": "a_1698335223",
        "caller": "a",
        "count": 1,
        "stats": {
            "callOutcome": { "timed_out": 1 },
            "by_letter": { "false": 1 },
            "cost": { "total": 8.0, "n": 2, "squares": 40.0 },
            "longNames": 1,
            "lengths": { "9": 1 },
        },
        "calls": [{ "at": at, "callOutcome": "timed_out", "name": "long name" }],
    })
    .unwrap();
    let stats = bucket.stats();
    assert_eq!(
        stats.call_outcome().call_outcome(),
        [(Outcome::TimedOut, 1)]
    );
    assert_eq!(stats.call_outcome().by_letter::<bool>(), [(false, 1)]);
    assert_eq!(stats.cost().avg(), Some(4.0));
    assert_eq!(
        (stats.cost().variance(), stats.cost().std_dev()),
        (Some(4.0), Some(2.0))
    );
    assert_eq!(stats.name().long_names(), 1);
    assert_eq!(stats.name().lengths::<i64>(), [(9, 1)]);
}
