//! Single inserts by one task and by many, over few and over many keys.

use std::{marker::PhantomData, ops::Range, sync::Arc};

use bucket_mongo::bson::doc;
use futures_util::future::{BoxFuture, FutureExt as _};

use super::Workload;
use crate::{
    arena::{Arena, durability, rate},
    contestant::{Contestant, create_time_series},
    error::Result,
    goal::{Goal, Unit},
    in_flight,
    model::{Count200, Hourly, ITEMS, Model, records},
    output::number::grouped,
    plan::Plan,
    reading::{Reading, Readings, readings_of},
    scale::Scale,
};

pub(super) const WORKLOAD: Workload = Workload {
    name: "single",
    title: "single inserts: one task, and 64 tasks over 1, 100 and 10,000 keys",
    about: include_str!("about/single.md"),
    plan,
};

const TASKS: usize = 64;

fn plan(scale: Scale) -> Plan {
    let mut plan = Plan::new(Unit::RecordsPerSecond);
    let many = scale.pick(TASKS * 300, TASKS * 2);
    let cases = [
        (100, 1, scale.pick(1_000, 20)),
        (1, TASKS, many),
        (100, TASKS, many),
        (10_000, TASKS, many),
    ];
    for (keys, tasks, number) in cases {
        let case = Case {
            keys,
            tasks,
            readings: readings_of(keys, number),
        };
        let own = [
            plan.own(Inserts::<Hourly>::new(&case)),
            plan.own(Inserts::<Count200>::new(&case)),
        ];
        let flat = plan.peer(Documents {
            case: case.clone(),
            of_series: false,
        });
        let series = plan.peer(Documents {
            case,
            of_series: true,
        });
        let goal = match (tasks, keys) {
            (1, _) => Some(Goal::AtLeast(0.95)),
            (_, 1) => None,
            _ => Some(Goal::AtLeast(5.0)),
        };
        for own in own {
            plan.compare(own, flat, goal);
            plan.compare(own, series, goal);
        }
    }
    plan
}

/// The same records for all, by the same number of tasks.
#[derive(Clone)]
struct Case {
    keys: usize,
    tasks: usize,
    readings: Readings,
}

impl Case {
    fn text(&self) -> String {
        let tasks = match self.tasks {
            1 => "one task".to_owned(),
            more => format!("{more} tasks"),
        };
        let keys = match self.keys {
            1 => "one key".to_owned(),
            more => format!("{} keys", grouped(more)),
        };
        format!("{tasks}, {keys}")
    }
}

/// This library's `insert`. The tasks share a handle.
struct Inserts<M> {
    case: Case,
    model: PhantomData<fn() -> M>,
}

impl<M> Inserts<M> {
    fn new(case: &Case) -> Self {
        Self {
            case: case.clone(),
            model: PhantomData,
        }
    }
}

impl<M: Model> Contestant for Inserts<M> {
    fn name(&self) -> String {
        format!("buckets, {}, insert, {}", M::NAME, self.case.text())
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let collection = M::SPEC.collection();
            arena.clear(collection).await?;
            let buckets = M::buckets(arena.database()).with_write_concern(durability());
            buckets.ensure().await?;
            let records: Arc<Vec<M>> = Arc::new(records(&self.case.readings));
            let number = records.len();
            let store = move |range: Range<usize>| {
                let (buckets, records) = (buckets.clone(), Arc::clone(&records));
                async move {
                    for record in &records[range] {
                        buckets.insert(record).await?;
                    }
                    Ok(())
                }
            };
            let store = in_flight::batches(number, 1, self.case.tasks, store);
            let (time, ()) = arena.clock(store).await?;
            arena.expect_items(collection, ITEMS, number).await?;
            arena.clear(collection).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}

/// The driver's `insert_one` in a flat collection, or in a time series collection.
struct Documents {
    case: Case,
    of_series: bool,
}

const COLLECTION: &str = "single_documents";

impl Contestant for Documents {
    fn name(&self) -> String {
        let kind = if self.of_series {
            "time series"
        } else {
            "flat"
        };
        format!("{kind}, insert_one, {}", self.case.text())
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            arena.clear(COLLECTION).await?;
            if self.of_series {
                create_time_series(arena, COLLECTION).await?;
            } else {
                let keys = doc! { "sensor_id": 1, "ts": 1 };
                arena.index(COLLECTION, keys).await?;
            }
            let target = arena.collection::<Reading>(COLLECTION);
            let readings = Arc::clone(&self.case.readings);
            let number = readings.len();
            let store = move |range: Range<usize>| {
                let (target, readings) = (target.clone(), Arc::clone(&readings));
                async move {
                    for reading in &readings[range] {
                        target.insert_one(reading).await?;
                    }
                    Ok(())
                }
            };
            let store = in_flight::batches(number, 1, self.case.tasks, store);
            let (time, ()) = arena.clock(store).await?;
            arena.expect_documents(COLLECTION, number).await?;
            arena.clear(COLLECTION).await?;
            Ok(rate(number, time))
        }
        .boxed()
    }
}
