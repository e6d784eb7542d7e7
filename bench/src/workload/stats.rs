//! Count, smallest, largest, sum and mean of a key's records in a span of time.

use std::marker::PhantomData;

use bucket_mongo::{
    RangeStats,
    bson::{Document, doc},
    mongodb::Collection,
};
use futures_util::TryStreamExt as _;
use serde::Deserialize;

use super::Workload;
use crate::{
    arena::Arena,
    contestant::{Read, Timed},
    data::{Buckets, FLAT, Flat, TIME_SERIES, TimeSeries},
    error::Result,
    goal::{Goal, Unit},
    model::{HourlyStats, MergedPartsStats, Model, PartsStats, SealedHourlyStats},
    plan::Plan,
    scale::Scale,
    span::{BATCH, SENSOR, Span, span},
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "stats",
    title: "statistics of 100,000 records of one key in a span of time",
    about: include_str!("about/stats.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let (all, span) = span(scale);
    let index = doc! { "sensor_id": 1, "ts": 1 };
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    plan.store(Buckets::<HourlyStats>::of(&all));
    plan.store(Buckets::<SealedHourlyStats>::sealed(&all));
    plan.store(Buckets::<PartsStats>::in_batches(&all, BATCH));
    plan.store(Buckets::<MergedPartsStats>::merged(&all, BATCH));
    plan.store(Flat {
        readings: all.clone(),
        index: index.clone(),
    });
    plan.store(TimeSeries {
        readings: all,
        index,
    });

    let length = span.readings.len();
    let times = scale.pick(100, 5);
    let own = plan.own(Timed::new(Stats::<HourlyStats>::of(&span), length, times));
    let sealed = Stats::<SealedHourlyStats>::of(&span);
    let sealed = plan.own(Timed::new(sealed, length, times));
    let parts = Stats::<PartsStats>::of(&span);
    let parts = plan.own(Timed::new(parts, length, times));
    let merged = Stats::<MergedPartsStats>::of(&span);
    let merged = plan.own(Timed::new(merged, length, times));
    let mut grouped = |name, collection| {
        let span = span.clone();
        let read = Grouped {
            name,
            collection,
            span,
        };
        plan.peer(Timed::new(read, length, scale.pick(5, 2)))
    };
    let flat = grouped("flat", FLAT);
    let time_series = grouped("time series", TIME_SERIES);
    plan.compare(own, flat, Goal::AtLeast(8.0));
    plan.compare(own, time_series, Goal::AtLeast(3.0));
    plan.compare(sealed, flat, None);
    plan.compare(sealed, own, Goal::AtLeast(1.0));
    // At most 1.5 times as long.
    plan.compare(parts, own, Goal::AtLeast(0.67));
    plan.compare(merged, own, Goal::AtLeast(1.0));
    plan
}

/// The requested statistics.
#[derive(Debug, Clone, Deserialize)]
struct Totals {
    count: i64,
    min: f64,
    max: f64,
    sum: f64,
    avg: f64,
}

impl Totals {
    /// Whether they are those of the span. Sums differ in the last digits, because the order of the
    /// additions differs.
    fn are_of(&self, span: &Span) -> bool {
        let sum: f64 = span.values().sum();
        let count = i64::try_from(span.readings.len());
        #[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
        let avg = sum / span.readings.len() as f64;
        let close = |one: f64, other: f64| (one - other).abs() <= other.abs() * 1e-9;
        count == Ok(self.count)
            && close(self.min, span.values().fold(f64::INFINITY, f64::min))
            && close(self.max, span.values().fold(f64::NEG_INFINITY, f64::max))
            && close(self.sum, sum)
            && close(self.avg, avg)
    }
}

/// The library's `stats`.
struct Stats<M> {
    span: Span,
    model: PhantomData<fn() -> M>,
}

impl<M> Stats<M> {
    fn of(span: &Span) -> Self {
        Self {
            span: span.clone(),
            model: PhantomData,
        }
    }
}

impl<M: WithStats> Read for Stats<M> {
    type Source = bucket_mongo::Buckets<M>;
    type Found = Option<Totals>;

    fn name(&self) -> String {
        format!("buckets, {}, stats", M::NAME)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        M::buckets(arena.database())
    }

    async fn read(&self, source: &Self::Source) -> Result<Option<Totals>> {
        let stats = source.stats(SENSOR, self.span.from..self.span.to).await?;
        Ok(stats.and_then(|stats| M::totals(&stats)))
    }

    fn is_right(&self, found: Option<Totals>) -> bool {
        found.is_some_and(|totals| totals.are_of(&self.span))
    }
}

/// A model with the aggregates of the value.
trait WithStats: Model<Key: From<&'static str>> {
    fn totals(stats: &RangeStats<Self>) -> Option<Totals>;
}

macro_rules! with_stats {
    ($($model:ident)+) => {$(
        impl WithStats for $model {
            fn totals(stats: &RangeStats<Self>) -> Option<Totals> {
                let v = stats.v();
                Some(Totals {
                    count: i64::try_from(stats.count()).ok()?,
                    min: v.min()?,
                    max: v.max()?,
                    sum: v.sum()?,
                    avg: v.avg()?,
                })
            }
        }
    )+};
}

with_stats!(HourlyStats SealedHourlyStats PartsStats MergedPartsStats);

/// `$match` and `$group`.
struct Grouped {
    name: &'static str,
    collection: &'static str,
    span: Span,
}

impl Read for Grouped {
    type Source = Collection<Document>;
    type Found = Option<Totals>;

    fn name(&self) -> String {
        format!("{}, $match and $group", self.name)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        arena.collection(self.collection)
    }

    async fn read(&self, source: &Self::Source) -> Result<Option<Totals>> {
        let group = doc! {
            "_id": null,
            "count": { "$sum": 1 },
            "min": { "$min": "$v" },
            "max": { "$max": "$v" },
            "sum": { "$sum": "$v" },
            "avg": { "$avg": "$v" },
        };
        let pipeline = [
            doc! { "$match": self.span.filter() },
            doc! { "$group": group },
        ];
        let found = source.aggregate(pipeline).with_type::<Totals>();
        Ok(found.await?.try_next().await?)
    }

    fn is_right(&self, found: Option<Totals>) -> bool {
        found.is_some_and(|totals| totals.are_of(&self.span))
    }
}
