//! Stored aggregates: read from a bucket, validated once, typed on access.

mod accumulator;
mod compare;
pub(crate) mod contribution;
mod presence;
pub mod sketch;
mod stored_value;
mod sum;
pub(crate) mod tally;
mod total;

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument};

pub(crate) use self::{
    accumulator::Accumulator,
    compare::{Magnitudes, differences},
    presence::Presence,
    total::Total,
};
use self::{sketch::Sketch, stored_value::Value};
use crate::{
    error::{Damage, KeyError},
    model::{
        aggregate::AggregateKind,
        key::{BucketKey, KeyValue},
        measure::{Measure, Number},
        spec::BucketSpec,
    },
};

/// The aggregates of one bucket, or of all records in a span of time. The derive makes a typed view
/// for each model.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStats {
    /// In the order of the model.
    values: Vec<Option<Value>>,
    /// The number of records.
    count: u64,
}

/// The statistics of a model without aggregates: only the number of records.
///
/// ```
/// use bucket_core::{NoStats, stats::StoredStats};
/// assert_eq!(NoStats::from(StoredStats::empty().clone()), NoStats::default());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoStats;

impl From<StoredStats> for NoStats {
    fn from(_: StoredStats) -> Self {
        Self
    }
}

impl AsRef<Self> for StoredStats {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[doc(hidden)]
impl AsRef<StoredStats> for NoStats {
    fn as_ref(&self) -> &StoredStats {
        StoredStats::empty()
    }
}

impl StoredStats {
    /// The aggregates of a model without any.
    #[must_use]
    pub const fn empty() -> &'static Self {
        const EMPTY: &StoredStats = &StoredStats {
            values: Vec::new(),
            count: 0,
        };
        EMPTY
    }

    /// Reads the aggregates of a stored bucket.
    pub(crate) fn read(
        spec: &BucketSpec,
        stored: &RawDocument,
        count: u32,
    ) -> Result<Self, Damage> {
        let mut values = Vec::with_capacity(spec.aggregates().len());
        for aggregate in spec.aggregates() {
            let damaged = || Damage::Field {
                path: aggregate.path.to_owned(),
                expected: expected(aggregate.kind),
            };
            let found = at_path(stored, aggregate.path).map_err(|()| damaged())?;
            let value = found.map(|raw| Value::read(aggregate.kind, raw).ok_or_else(damaged));
            values.push(value.transpose()?);
        }
        Ok(Self {
            values,
            count: u64::from(count),
        })
    }

    /// The aggregates in their stored form, under their paths.
    #[must_use]
    pub fn to_document(&self, spec: &BucketSpec) -> Document {
        let mut document = Document::new();
        for (aggregate, value) in spec.aggregates().iter().zip(&self.values) {
            if let Some(value) = value {
                insert(&mut document, aggregate.path, value.to_bson());
            }
        }
        document
    }

    /// Visits the path of each aggregate with its stored form, if it has one.
    pub(crate) fn each(&self, spec: &BucketSpec, mut each: impl FnMut(&'static str, Option<Bson>)) {
        for (aggregate, value) in spec.aggregates().iter().zip(&self.values) {
            each(aggregate.path, value.as_ref().map(Value::to_bson));
        }
    }

    /// Takes over the value of this aggregate from another one.
    pub(crate) fn take_from(&mut self, other: &Self, at: usize) {
        if let Some(value) = self.values.get_mut(at) {
            *value = other.get(at).cloned();
        }
    }

    fn get(&self, at: usize) -> Option<&Value> {
        self.values.get(at)?.as_ref()
    }

    fn number(&self, at: usize) -> Option<Number> {
        match self.get(at)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// The smallest or the largest value.
    #[must_use]
    pub fn value<M: Measure>(&self, at: usize) -> Option<M::Value> {
        self.number_as(at, M::from_number)
    }

    // The derive calls these with functions of the field's type: with a bound here, a wrong type would be
    // reported once more for each method.
    #[doc(hidden)]
    pub fn number_as<V>(&self, at: usize, from: impl FnOnce(Number) -> Option<V>) -> Option<V> {
        from(self.number(at)?)
    }

    #[doc(hidden)]
    pub fn number_in_time<V>(
        &self,
        at: usize,
        from: impl FnOnce(Number) -> Option<V>,
    ) -> Option<V> {
        match self.get(at)? {
            Value::InTime(_, number) => from(*number),
            _ => None,
        }
    }

    #[doc(hidden)]
    pub fn tally_as<K>(
        &self,
        at: usize,
        from: impl Fn(KeyValue<'_>) -> Result<K, KeyError>,
    ) -> Vec<(K, u64)> {
        let Some(Value::Tally(counters)) = self.get(at) else {
            return Vec::new();
        };
        let one = |(name, count): &(String, u64)| {
            let text = tally::value_of(name)?;
            Some((from(KeyValue::Text(&text)).ok()?, *count))
        };
        counters.iter().filter_map(one).collect()
    }

    /// The value of the earliest or the latest record.
    #[must_use]
    pub fn value_in_time<M: Measure>(&self, at: usize) -> Option<M::Value> {
        self.number_in_time(at, M::from_number)
    }

    /// The time of the earliest or the latest record.
    #[must_use]
    pub fn time(&self, at: usize) -> Option<DateTime> {
        match self.get(at)? {
            Value::Time(time) => Some(*time),
            _ => None,
        }
    }

    /// A sum.
    #[must_use]
    pub fn sum<M: Measure>(&self, at: usize) -> Option<M::Sum> {
        self.number_as(at, M::sum_from)
    }

    /// A number of records or values; 0 if none is stored.
    #[must_use]
    pub fn count(&self, at: usize) -> u64 {
        match self.get(at) {
            Some(Value::Count(count)) => *count,
            _ => 0,
        }
    }

    /// The average from a sum and the number of values. Without a number of values, the number of
    /// records is used.
    #[must_use]
    pub fn avg(&self, sum: usize, count: Option<usize>) -> Option<f64> {
        let sum = self.number(sum)?.to_f64();
        Some(sum / self.values_counted(count)?)
    }

    /// The population variance from a sum, a sum of squares and the number of values. If the values
    /// are close together and far from zero, rounding loses their difference: the relative error is
    /// about `f64::EPSILON` times the squared mean over the variance.
    #[must_use]
    pub fn variance(&self, sum: usize, squares: usize, count: Option<usize>) -> Option<f64> {
        let mean = self.avg(sum, count)?;
        let squares = self.number(squares)?.to_f64();
        let variance = squares / self.values_counted(count)? - mean * mean;
        // Rounding can leave slightly less than zero.
        variance.is_finite().then_some(variance.max(0.0))
    }

    /// The population standard deviation: the root of the [variance](Self::variance).
    #[must_use]
    pub fn std_dev(&self, sum: usize, squares: usize, count: Option<usize>) -> Option<f64> {
        self.variance(sum, squares, count).map(f64::sqrt)
    }

    /// `None` instead of zero, because callers divide by it.
    #[allow(
        clippy::cast_precision_loss,
        reason = "there are far fewer than 2^53 values"
    )]
    fn values_counted(&self, count: Option<usize>) -> Option<f64> {
        let count = count.map_or(self.count, |at| self.count(at));
        (count > 0).then_some(count as f64)
    }

    /// The values of a tally with their numbers, in stored order. Values that the type cannot hold
    /// are left out.
    #[must_use]
    pub fn tally<K: BucketKey>(&self, at: usize) -> Vec<(K, u64)> {
        self.tally_as(at, K::from_key)
    }

    /// A quantile of a sketch; see [`Sketch::quantile`].
    #[must_use]
    pub fn percentile(&self, at: usize, error_ppm: u32, q: f64) -> Option<f64> {
        self.sketch(at, error_ppm).quantile(q)
    }

    /// A quantile sketch.
    #[must_use]
    pub fn sketch(&self, at: usize, error_ppm: u32) -> Sketch {
        let mut merged = Sketch::new(error_ppm);
        if let Some(Value::Sketches(sketches)) = self.get(at) {
            for sketch in sketches {
                merged.merge(sketch);
            }
        }
        merged
    }
}

/// The value at a dotted path; an error if a value on the path is not a document.
pub(crate) fn at_path<'a>(
    stored: &'a RawDocument,
    path: &str,
) -> Result<Option<RawBsonRef<'a>>, ()> {
    let mut document = stored;
    let (parents, name) = path.rsplit_once('.').unwrap_or(("", path));
    for parent in parents.split('.').filter(|parent| !parent.is_empty()) {
        match document.get(parent).map_err(|_| ())? {
            None => return Ok(None),
            Some(RawBsonRef::Document(inner)) => document = inner,
            Some(_) => return Err(()),
        }
    }
    document.get(name).map_err(|_| ())
}

fn insert(document: &mut Document, path: &str, value: Bson) {
    match path.split_once('.') {
        None => {
            document.insert(path, value);
        }
        Some((parent, rest)) => {
            let inner = document
                .entry(parent.to_owned())
                .or_insert_with(|| Bson::Document(Document::new()));
            if let Bson::Document(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

const fn expected(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::Sum
        | AggregateKind::SumOfSquares
        | AggregateKind::Avg { .. } => "a number",
        AggregateKind::Count | AggregateKind::CountIf => "a whole number",
        AggregateKind::Tally => "a document of whole numbers",
        AggregateKind::First | AggregateKind::Last => "a time `t` and a number `v`",
        AggregateKind::FirstTime | AggregateKind::LastTime => "a date",
        AggregateKind::Percentiles { .. } => "the counters of a quantile sketch",
    }
}
