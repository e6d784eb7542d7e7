//! A page far after the first one.

use std::{marker::PhantomData, sync::Arc};

use bucket_mongo::{
    bson::{DateTime, doc},
    mongodb::Collection,
};
use futures_util::{
    TryStreamExt as _,
    future::{BoxFuture, FutureExt as _},
};
use serde::Deserialize;

use super::Workload;
use crate::{
    arena::Arena,
    contestant::{Interleaved, ReadOnce, ShortRead},
    data::{Buckets, MANUAL, ManualBuckets, of_sensor},
    error::Result,
    goal::{Goal, Unit},
    model::{Count200, Hourly, Model},
    output::number::grouped,
    plan::Plan,
    reading::{Reading, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "pages",
    title: "page 5,000 of 25 records against page 1",
    about: include_str!("about/pages.md"),
    plan,
};

const SENSORS: usize = 5;
const SENSOR: &str = "sensor_002";
/// The number of records on a page.
const LIMIT: usize = 25;
/// The last page of a bucket of 200 records.
const LAST: usize = 8;

fn plan(scale: Scale) -> Plan {
    let far = scale.pick(5_000, 48);
    // Both pages are inside an hour: each is read from one bucket.
    let before = SENSORS * LIMIT;
    let all = readings_of(SENSORS, before + SENSORS * LIMIT * (far + 10));
    let all = Arc::new(all[before..].to_vec());
    let of_sensor = of_sensor(&all, SENSOR);
    let mut plan = Plan::new(Unit::Microseconds);
    plan.store(Buckets::<Hourly>::of(&all));
    plan.store(Buckets::<Count200>::of(&all));
    plan.store(ManualBuckets {
        readings: of_sensor.clone(),
        capacity: LIMIT,
    });

    let page = |number: usize| {
        let records = of_sensor.chunks(LIMIT).nth(number - 1).unwrap_or_default();
        let records = records.to_vec();
        Page { number, records }
    };
    let reads: Vec<Box<dyn ShortRead>> = vec![
        Box::new(Cursor::<Hourly>::to(page(1))),
        Box::new(Cursor::<Hourly>::to(page(far))),
        Box::new(Cursor::<Count200>::to(page(1))),
        Box::new(Cursor::<Count200>::to(page(far))),
        // Like the far one, it ends with a bucket.
        Box::new(Cursor::<Count200>::to(page(LAST))),
        Box::new(Skip(page(1))),
        Box::new(Skip(page(far))),
    ];
    let turns = Interleaved::contestants(reads, scale.pick(500, 20));
    let ids: Vec<_> = turns
        .enumerate()
        .map(|(at, turn)| match at {
            0..5 => plan.own(turn),
            _ => plan.peer(turn),
        })
        .collect();
    let mut compare = |far: usize, first: usize, goal| plan.compare(ids[far], ids[first], goal);
    compare(1, 0, Some(Goal::AtMost(1.2)));
    compare(3, 2, Some(Goal::AtMost(1.2)));
    compare(3, 4, None);
    compare(6, 5, None);
    plan
}

/// A page and its records.
struct Page {
    /// Counted from 1.
    number: usize,
    records: Vec<Reading>,
}

/// The library's `records` after a token.
struct Cursor<M> {
    page: Page,
    model: PhantomData<fn() -> M>,
}

impl<M> Cursor<M> {
    fn to(page: Page) -> Self {
        Self {
            page,
            model: PhantomData,
        }
    }
}

impl<M: Model> ShortRead for Cursor<M>
where
    M::Key: From<&'static str>,
{
    fn name(&self) -> String {
        let page = grouped(self.page.number);
        format!("buckets, {}, page {page} by its token", M::NAME)
    }

    fn open<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<ReadOnce>> {
        async {
            let buckets = M::buckets(arena.database());
            let before = (self.page.number - 1) * LIMIT;
            let token = if before == 0 {
                None
            } else {
                let mut records = buckets.records(SENSOR).limit(before).stream();
                while records.try_next().await?.is_some() {}
                records.position()
            };
            let once = move || {
                let (buckets, token) = (buckets.clone(), token.clone());
                async move {
                    let page = buckets.records(SENSOR).limit(LIMIT).after(token).await?;
                    Ok(page.into_iter().map(M::reading).collect())
                }
                .boxed()
            };
            Ok(Box::new(once) as ReadOnce)
        }
        .boxed()
    }

    fn expected(&self) -> &[Reading] {
        &self.page.records
    }
}

/// A page of the manual: a bucket after the skipped ones.
struct Skip(Page);

#[derive(Deserialize)]
struct Bucket {
    sensor_id: String,
    readings: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    ts: DateTime,
    v: f64,
    q: f64,
}

impl ShortRead for Skip {
    fn name(&self) -> String {
        format!("the manual's page {} by skip", grouped(self.0.number))
    }

    fn open<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<ReadOnce>> {
        let collection: Collection<Bucket> = arena.collection(MANUAL);
        let skipped = u64::try_from(self.0.number - 1).unwrap_or(u64::MAX);
        let once = move || {
            let collection = collection.clone();
            async move {
                let of_sensor = doc! { "_id": { "$regex": format!("^{SENSOR}_") } };
                let page = collection.find(of_sensor).sort(doc! { "_id": 1 });
                let mut page = page.skip(skipped).limit(1).await?;
                let bucket = page.try_next().await?;
                Ok(bucket.map(Bucket::into_readings).unwrap_or_default())
            }
            .boxed()
        };
        async { Ok(Box::new(once) as ReadOnce) }.boxed()
    }

    fn expected(&self) -> &[Reading] {
        &self.0.records
    }
}

impl Bucket {
    fn into_readings(self) -> Vec<Reading> {
        let Self {
            sensor_id,
            readings,
        } = self;
        let reading = |Item { ts, v, q }| {
            let sensor_id = sensor_id.clone();
            Reading {
                sensor_id,
                ts,
                v,
                q,
            }
        };
        readings.into_iter().map(reading).collect()
    }
}
