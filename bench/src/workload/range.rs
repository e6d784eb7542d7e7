//! All records of a key in a span of time, typed.

use std::marker::PhantomData;

use bucket_mongo::{bson::doc, mongodb::Collection};
use futures_util::TryStreamExt as _;

use super::Workload;
use crate::{
    arena::Arena,
    contestant::{Read, Timed},
    data::{Buckets, Elsewhere, FLAT, Flat, TIME_SERIES, TimeSeries},
    error::Result,
    goal::{Goal, Unit},
    model::{
        Count200, HalfArchived, HalfInFiles, Hourly, HourlyParts, MergedParts, Model, SealedHourly,
    },
    plan::Plan,
    reading::Reading,
    scale::Scale,
    span::{BATCH, SENSOR, Span, span},
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "range",
    title: "reading 100,000 records of one key in a span of time",
    about: include_str!("about/range.md"),
    plan,
};

fn plan(scale: Scale) -> Plan {
    let (all, span) = span(scale);
    let index = doc! { "sensor_id": 1, "ts": 1 };
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    plan.store(Buckets::<Hourly>::of(&all));
    plan.store(Buckets::<Count200>::of(&all));
    plan.store(Buckets::<SealedHourly>::sealed(&all));
    plan.store(Buckets::<HourlyParts>::in_batches(&all, BATCH));
    plan.store(Buckets::<MergedParts>::merged(&all, BATCH));
    let middle = span.readings[span.readings.len() / 2].ts;
    plan.store(Buckets::<HalfArchived>::archived(
        &all,
        middle,
        &Elsewhere::Collection,
    ));
    let files = Elsewhere::files();
    plan.store(Buckets::<HalfInFiles>::archived(&all, middle, &files));
    plan.store(Flat {
        readings: all.clone(),
        index: index.clone(),
    });
    plan.store(TimeSeries {
        readings: all,
        index,
    });

    let length = span.readings.len();
    let times = scale.pick(5, 2);
    let hourly = plan.own(Timed::new(FromBuckets::<Hourly>::of(&span), length, times));
    let count = plan.own(Timed::new(
        FromBuckets::<Count200>::of(&span),
        length,
        times,
    ));
    let sealed = FromBuckets::<SealedHourly>::of(&span);
    let sealed = plan.own(Timed::new(sealed, length, times));
    let archived = FromBuckets::<HalfArchived>::with_archive(&span, Elsewhere::Collection);
    let archived = plan.own(Timed::new(archived, length, times));
    let in_files = FromBuckets::<HalfInFiles>::with_archive(&span, files);
    let in_files = plan.own(Timed::new(in_files, length, times));
    let parts = FromBuckets::<HourlyParts>::of(&span);
    let parts = plan.own(Timed::new(parts, length, times));
    let merged = FromBuckets::<MergedParts>::of(&span);
    let merged = plan.own(Timed::new(merged, length, times));
    let documents = |name, collection| Documents {
        name,
        collection,
        span: span.clone(),
    };
    let flat = plan.peer(Timed::new(documents("flat", FLAT), length, times));
    let time_series = plan.peer(Timed::new(
        documents("time series", TIME_SERIES),
        length,
        times,
    ));
    plan.compare(hourly, flat, Goal::AtLeast(5.0));
    plan.compare(hourly, time_series, Goal::AtLeast(4.0));
    plan.compare(count, flat, None);
    plan.compare(count, time_series, None);
    plan.compare(sealed, flat, Goal::AtLeast(15.0));
    plan.compare(sealed, time_series, Goal::AtLeast(15.0));
    plan.compare(sealed, hourly, Goal::AtLeast(1.7));
    // At most 1.2 times as long.
    plan.compare(archived, sealed, Goal::AtLeast(0.83));
    plan.compare(in_files, sealed, Goal::AtLeast(0.83));
    // At most 1.5 times as long.
    plan.compare(parts, hourly, Goal::AtLeast(0.67));
    plan.compare(merged, hourly, Goal::AtLeast(1.0));
    plan
}

/// The library's `range`.
struct FromBuckets<M> {
    span: Span,
    archive: Option<Elsewhere>,
    model: PhantomData<fn() -> M>,
}

impl<M> FromBuckets<M> {
    fn of(span: &Span) -> Self {
        Self {
            span: span.clone(),
            archive: None,
            model: PhantomData,
        }
    }

    fn with_archive(span: &Span, archive: Elsewhere) -> Self {
        Self {
            archive: Some(archive),
            ..Self::of(span)
        }
    }
}

impl<M: Model> Read for FromBuckets<M>
where
    M::Key: From<&'static str>,
{
    type Source = bucket_mongo::Buckets<M>;
    type Found = Vec<M>;

    fn name(&self) -> String {
        format!("buckets, {}, range", M::NAME)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        let buckets = M::buckets(arena.database());
        match &self.archive {
            Some(archive) => buckets.with_archive(archive.archive(arena)),
            None => buckets,
        }
    }

    async fn read(&self, source: &Self::Source) -> Result<Vec<M>> {
        Ok(source.range(SENSOR, self.span.from..self.span.to).await?)
    }

    fn is_right(&self, found: Vec<M>) -> bool {
        found
            .into_iter()
            .map(M::reading)
            .eq(self.span.readings.iter().cloned())
    }
}

/// The driver's `find`, sorted as the index is.
struct Documents {
    name: &'static str,
    collection: &'static str,
    span: Span,
}

impl Read for Documents {
    type Source = Collection<Reading>;
    type Found = Vec<Reading>;

    fn name(&self) -> String {
        format!("{}, find with sort", self.name)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        arena.collection(self.collection)
    }

    async fn read(&self, source: &Self::Source) -> Result<Vec<Reading>> {
        let found = source
            .find(self.span.filter())
            .sort(doc! { "sensor_id": 1, "ts": 1 });
        Ok(found.await?.try_collect().await?)
    }

    fn is_right(&self, found: Vec<Reading>) -> bool {
        found == *self.span.readings
    }
}
