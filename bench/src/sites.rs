//! A model with a key of two fields: ten sensors at each site.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

use crate::{model::Model, reading::Reading};

/// A bucket for each hour of a sensor, which has a number at its site.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "sites_hourly",
    items = "readings",
    window = "1h",
    capacity = 1_000
)]
pub(crate) struct SitesHourly {
    #[bucket(key)]
    site: String,
    #[bucket(key)]
    number: String,
    #[bucket(time)]
    ts: DateTime,
    v: f64,
    q: f64,
}

impl Model for SitesHourly {
    const NAME: &'static str = "an hour a bucket";

    /// The last digit of a sensor is its number; the digits before it are the site.
    fn of(reading: &Reading) -> Self {
        let Reading {
            sensor_id,
            ts,
            v,
            q,
        } = reading;
        let (site, number) = sensor_id.split_at(sensor_id.len().saturating_sub(1));
        Self {
            site: site.to_owned(),
            number: number.to_owned(),
            ts: *ts,
            v: *v,
            q: *q,
        }
    }

    fn reading(self) -> Reading {
        let Self {
            site,
            number,
            ts,
            v,
            q,
        } = self;
        Reading {
            sensor_id: site + &number,
            ts,
            v,
            q,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::reading::readings_of;

    #[test]
    fn ten_thousand_sensors_are_at_a_thousand_sites() {
        let readings = readings_of(10_000, 10_000);
        let models: Vec<_> = readings.iter().map(SitesHourly::of).collect();
        let keys: BTreeSet<_> = models.iter().map(|m| (&m.site, &m.number)).collect();
        let sites: BTreeSet<_> = models.iter().map(|m| &m.site).collect();
        assert_eq!((keys.len(), sites.len()), (10_000, 1_000));
        let back: Vec<_> = models.into_iter().map(Model::reading).collect();
        assert_eq!(back, *readings);
    }
}
