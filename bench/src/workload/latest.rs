//! The newest record of every key.

use std::{marker::PhantomData, sync::Arc};

use bucket_mongo::{
    bson::{DateTime, Document, doc},
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
    model::{Count10, Hourly, Model},
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
    sites::SitesHourly,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "latest",
    title: "the newest record of each of 10,000 keys",
    about: include_str!("about/latest.md"),
    plan,
};

/// The number of records of a key.
const EACH: usize = 100;

fn plan(scale: Scale) -> Plan {
    let keys = scale.pick(10_000, 100);
    let all = readings_of(keys, keys * EACH);
    let mut newest = all[all.len() - keys..].to_vec();
    newest.sort_by(by_sensor);
    let newest = Arc::new(newest);

    let mut plan = Plan::new(Unit::RecordsPerSecond);
    plan.store(Buckets::<Hourly>::of(&all));
    plan.store(Buckets::<Count10>::of(&all));
    plan.store(Buckets::<SitesHourly>::of(&all));
    plan.store(Flat {
        readings: all.clone(),
        index: doc! { "sensor_id": 1, "ts": 1 },
    });
    // In an alternating order, the server takes minutes for them.
    let mut by_key = all.to_vec();
    by_key.sort_by(by_sensor);
    plan.store(TimeSeries {
        readings: Arc::new(by_key),
        // It supports the server's own way to find the last points.
        index: doc! { "sensor_id": 1, "ts": -1 },
    });

    let times = scale.pick(3, 2);
    let hourly = LatestPerKeyQuery::<Hourly>::of(&newest, "one key field");
    let count = LatestPerKeyQuery::<Count10>::of(&newest, "one key field");
    let sites = LatestPerKeyQuery::<SitesHourly>::of(&newest, "two key fields");
    let hourly = plan.own(Timed::new(hourly, keys, times));
    let count = plan.own(Timed::new(count, keys, times));
    let sites = plan.own(Timed::new(sites, keys, times));
    let mut sorted = |name, collection, sort| {
        let newest = Arc::clone(&newest);
        let read = Sorted {
            name,
            collection,
            sort,
            newest,
        };
        plan.peer(Timed::new(read, keys, times))
    };
    let by_time = sorted("flat, $sort by ts, $group", FLAT, doc! { "ts": -1 });
    let as_index = sorted(
        "flat, $sort as the index, $group",
        FLAT,
        doc! { "sensor_id": -1, "ts": -1 },
    );
    let time_series = sorted(
        "time series, $sort as the index, $group",
        TIME_SERIES,
        doc! { "sensor_id": 1, "ts": -1 },
    );
    plan.compare(hourly, by_time, Goal::AtLeast(10.0));
    plan.compare(hourly, as_index, None);
    plan.compare(hourly, time_series, None);
    plan.compare(count, by_time, None);
    plan.compare(sites, by_time, None);
    plan
}

fn by_sensor(one: &Reading, other: &Reading) -> std::cmp::Ordering {
    one.sensor_id.cmp(&other.sensor_id)
}

/// Whether these are the newest records, in any order.
fn are_newest(mut found: Vec<Reading>, newest: &Readings) -> bool {
    found.sort_by(by_sensor);
    found == **newest
}

/// The library's `latest_per_key`.
struct LatestPerKeyQuery<M> {
    newest: Readings,
    keys: &'static str,
    model: PhantomData<fn() -> M>,
}

impl<M> LatestPerKeyQuery<M> {
    fn of(newest: &Readings, keys: &'static str) -> Self {
        Self {
            newest: Arc::clone(newest),
            keys,
            model: PhantomData,
        }
    }
}

impl<M: Model> Read for LatestPerKeyQuery<M> {
    type Source = bucket_mongo::Buckets<M>;
    type Found = Vec<M>;

    fn name(&self) -> String {
        format!("buckets, {}, {}, latest_per_key", M::NAME, self.keys)
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        M::buckets(arena.database())
    }

    async fn read(&self, source: &Self::Source) -> Result<Vec<M>> {
        Ok(source.latest_per_key().await?)
    }

    fn is_right(&self, found: Vec<M>) -> bool {
        are_newest(found.into_iter().map(M::reading).collect(), &self.newest)
    }
}

/// `$sort` and `$group` with `$first`.
struct Sorted {
    name: &'static str,
    collection: &'static str,
    sort: Document,
    newest: Readings,
}

/// The newest record of a sensor, as `$group` returns it.
#[derive(Debug, Deserialize)]
struct Newest {
    #[serde(rename = "_id")]
    sensor_id: String,
    ts: DateTime,
    v: f64,
    q: f64,
}

impl Read for Sorted {
    type Source = Collection<Document>;
    type Found = Vec<Newest>;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn open(&self, arena: &Arena) -> Self::Source {
        arena.collection(self.collection)
    }

    async fn read(&self, source: &Self::Source) -> Result<Vec<Newest>> {
        let first = |field: &str| doc! { "$first": format!("${field}") };
        let group = doc! {
            "_id": "$sensor_id",
            "ts": first("ts"),
            "v": first("v"),
            "q": first("q"),
        };
        let pipeline = [doc! { "$sort": &self.sort }, doc! { "$group": group }];
        // A sort of many records takes more memory than allowed.
        let found = source.aggregate(pipeline).allow_disk_use(true);
        let found = found.with_type::<Newest>().await?;
        Ok(found.try_collect().await?)
    }

    fn is_right(&self, found: Vec<Newest>) -> bool {
        let reading = |Newest {
                           sensor_id,
                           ts,
                           v,
                           q,
                       }| Reading {
            sensor_id,
            ts,
            v,
            q,
        };
        are_newest(found.into_iter().map(reading).collect(), &self.newest)
    }
}
