//! Classes of buckets, by how many records and bytes they have.

use bson::{Bson, Document, doc};
use serde::Serialize;

/// The buckets of a histogram that have a number in this range.
///
/// ```
/// # use bucket_core::read::SizeClass;
/// fn line(class: &SizeClass) -> String {
///     match class.to {
///         Some(to) => format!("{} to {to}: {} buckets", class.from, class.buckets),
///         None => format!("{} and more: {} buckets", class.from, class.buckets),
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SizeClass {
    /// The least number of the class.
    pub from: u64,
    /// The greatest number of the class; `None` if it has no upper bound.
    pub to: Option<u64>,
    /// The number of buckets.
    pub buckets: u64,
}

/// Where the classes of a histogram begin. The first class begins at 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds(&'static [u64]);

/// By the number of records: 0, 1, 2 to 3, 4 to 7 and so on.
pub(super) const OF_RECORDS: Bounds = Bounds(&powers_of_two::<18>(0));
/// By bytes: less than 256, 256 to 511 and so on. A document has at most 16 MB.
pub(super) const OF_BYTES: Bounds = Bounds(&powers_of_two::<17>(8));
/// By percent of the capacity: tenths, those that are exactly full, and those that have more.
pub(super) const OF_CAPACITY: Bounds = Bounds(&[
    10,
    20,
    30,
    40,
    50,
    60,
    70,
    80,
    90,
    FULL_PERCENT,
    FULL_PERCENT + 1,
]);

const FULL_PERCENT: u64 = 100;
/// The class of buckets with more records than their capacity.
const OVERFULL: i64 = 11;

const fn powers_of_two<const N: usize>(first: u32) -> [u64; N] {
    let mut bounds = [0; N];
    let (mut index, mut power) = (0, first);
    while index < N {
        bounds[index] = 1 << power;
        index += 1;
        power += 1;
    }
    bounds
}

impl Bounds {
    /// The class of the number at this path, as an expression.
    pub(super) fn class(self, path: &str) -> Document {
        let branches = self.0.iter().zip(0_i32..).map(|(bound, class)| {
            // The bounds are small.
            let bound = i64::try_from(*bound).unwrap_or(i64::MAX);
            doc! { "case": { "$lt": [path, bound] }, "then": class }
        });
        let last = i32::try_from(self.0.len()).unwrap_or(i32::MAX);
        doc! { "$switch": { "branches": branches.collect::<Vec<_>>(), "default": last } }
    }
}

/// The class of a bucket by its items and its capacity, as an expression; null without a capacity.
pub(super) fn class_of_capacity(items: &str, capacity: &str) -> Document {
    // Both are small enough for the quotient to be a whole number only if it is one.
    let tenths = doc! { "$floor": { "$divide": [{ "$multiply": [items, 10] }, capacity] } };
    doc! { "$switch": { "branches": [
        { "case": { "$not": [{ "$isNumber": capacity }] }, "then": Bson::Null },
        { "case": { "$gt": [items, capacity] }, "then": OVERFULL },
    ], "default": { "$toLong": tenths } } }
}

/// The same, of numbers.
pub(super) fn class_within(items: u64, capacity: u64) -> i64 {
    if items > capacity {
        return OVERFULL;
    }
    let tenths = items.saturating_mul(10).checked_div(capacity);
    // At most 10.
    tenths.map_or(0, |tenths| i64::try_from(tenths).unwrap_or(OVERFULL))
}

/// The number of buckets in each class.
#[derive(Debug, Clone)]
pub(super) struct Histogram {
    bounds: Bounds,
    counts: Vec<u64>,
}

impl Histogram {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            counts: vec![0; bounds.0.len() + 1],
        }
    }

    pub(super) fn add(&mut self, class: i64, buckets: u64) {
        let class = usize::try_from(class).ok();
        if let Some(count) = class.and_then(|class| self.counts.get_mut(class)) {
            *count = count.saturating_add(buckets);
        }
    }

    /// The classes from the first to the last that has buckets.
    pub(super) fn classes(&self) -> Vec<SizeClass> {
        let starts = std::iter::once(&0).chain(self.bounds.0);
        let ends = self
            .bounds
            .0
            .iter()
            .map(|bound| Some(bound - 1))
            .chain([None]);
        let all = starts.zip(ends).zip(&self.counts);
        let all = all.map(|((from, to), buckets)| SizeClass {
            from: *from,
            to,
            buckets: *buckets,
        });
        let mut classes: Vec<SizeClass> = all.skip_while(|class| class.buckets == 0).collect();
        let used = classes.iter().rposition(|class| class.buckets > 0);
        classes.truncate(used.map_or(0, |last| last + 1));
        classes
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, OF_BYTES, OF_CAPACITY, OF_RECORDS, class_within};

    #[test]
    fn each_tenth_of_the_capacity_is_a_class_and_so_is_a_full_and_an_overfull_bucket() {
        let class = |items| class_within(items, 30);
        assert_eq!([0, 1, 2, 3, 29, 30, 31].map(class), [0, 0, 0, 1, 9, 10, 11]);
        assert_eq!(class_within(1, 1), 10);
        let mut histogram = Histogram::new(OF_CAPACITY);
        for items in 0..=31 {
            histogram.add(class(items), 1);
        }
        let classes = histogram.classes();
        let of = |index: usize| {
            (
                classes[index].from,
                classes[index].to,
                classes[index].buckets,
            )
        };
        assert_eq!(classes.len(), 12);
        assert_eq!(of(0), (0, Some(9), 3));
        assert_eq!(of(9), (90, Some(99), 3));
        assert_eq!(of(10), (100, Some(100), 1));
        assert_eq!(of(11), (101, None, 1));
    }

    #[test]
    fn only_the_classes_between_the_first_and_the_last_with_buckets_are_given() {
        let mut histogram = Histogram::new(OF_RECORDS);
        assert_eq!(histogram.classes(), []);
        histogram.add(2, 5);
        histogram.add(4, 1);
        histogram.add(99, 1);
        let classes = histogram.classes();
        let found: Vec<_> = classes
            .iter()
            .map(|of| (of.from, of.to, of.buckets))
            .collect();
        assert_eq!(found, [(2, Some(3), 5), (4, Some(7), 0), (8, Some(15), 1)]);
        let mut last = Histogram::new(OF_BYTES);
        last.add(17, 1);
        assert_eq!(
            (last.classes()[0].from, last.classes()[0].to),
            (16 << 20, None)
        );
    }
}
