//! Checks the items of a bucket, and what the bucket stores of them.

use std::collections::HashMap;

use bson::{DateTime, RawBsonRef, RawDocument};
use foldhash::fast::RandomState;

use super::{Problem, damage::problem, fields::Own, ids::identity_of};
use crate::{
    bucket::{
        ItemReader,
        edits::{Edits, is_removed, names_its_place},
        item_time, items,
        merged::MERGED,
        record::Record,
        wrong_field,
    },
    codec::raw::elements,
    error::Damage,
    model::{
        form::OwnField,
        size::{ELEMENT_BYTES, RecordSize},
        spec::BucketSpec,
    },
    stats::{Magnitudes, StoredStats, Total, differences},
    write::counted_bytes,
};

/// Checks them; returns the number of records, as far as it is known. Aggregates are compared only if the key and all items can be
/// read.
pub(super) fn check<T: Record>(
    stored: &RawDocument,
    key: Option<&T::Key>,
    own: &Own,
    now: DateTime,
    problems: &mut Vec<Problem>,
) -> u64 {
    let spec = T::SPEC;
    let array = match items(spec, stored) {
        Ok(array) => array,
        Err(damage) => {
            problems.push(problem(damage));
            return 0;
        }
    };
    let reader = match ItemReader::new(spec, stored) {
        Ok(reader) => reader,
        Err(damage) => {
            problems.push(problem(damage));
            return 0;
        }
    };
    let mut of_items = Items::new(spec, own, &reader);
    let mut number: u64 = 0;
    let mut marks: u64 = 0;
    for (index, item) in array.into_iter().enumerate() {
        let item = match item {
            Ok(item) => item,
            Err(source) => {
                problems.push(problem(Damage::Bson(source.into())));
                // Nothing after it can be found.
                return number - marks;
            }
        };
        number += 1;
        marks += u64::from(matches!(item, RawBsonRef::Document(item) if is_removed(item)));
        if let Err(damage) = of_items.take::<T>(index, item, key, problems) {
            of_items.are_readable = false;
            problems.push(problem(damage));
        }
    }
    // The same attributes of the bucket are wrong in each item.
    let mut told = Vec::new();
    problems.retain(|problem| {
        let is_shared = matches!(problem, Problem::Attribute { index: None, .. });
        let is_new = !is_shared || !told.contains(problem);
        if is_shared && is_new {
            told.push(problem.clone());
        }
        is_new
    });
    if let Some(count) = own.count
        && u64::try_from(count) != Ok(number)
    {
        problems.push(Problem::Count {
            count,
            items: number,
        });
    }
    let removed = u64::from(reader.edits().removed);
    if removed != marks {
        problems.push(Problem::Removed { removed, marks });
    }
    if number == 0 && !spec.form().reserves() {
        problems.push(Problem::Empty);
    }
    if let Some(origins) = &own.origins {
        let count = u32::try_from(number).unwrap_or(u32::MAX);
        if origins.check_count(count).is_err() {
            problems.push(problem(wrong_field(MERGED, "the origins of its items")));
        }
    } else if number > u64::from(own.size()) {
        problems.push(Problem::OverCapacity {
            items: number,
            capacity: own.size(),
        });
    }
    if of_items.are_readable {
        of_items.finish(stored, [number, marks], key.is_some(), now, problems);
    }
    number - marks
}

/// What the items have in common.
struct Items<'a> {
    spec: &'static BucketSpec,
    own: &'a Own,
    reader: &'a ItemReader<'a>,
    total: Total,
    magnitudes: Magnitudes,
    /// The first, the earliest and the latest time.
    times: Option<(DateTime, DateTime, DateTime)>,
    /// The size that counts against the limit of bytes.
    bytes: u64,
    /// The ids as the index compares them, and where they are.
    ids: HashMap<Vec<u8>, usize, RandomState>,
    /// The names of arrays of the bucket that were compared already.
    compared: Vec<&'a str>,
    are_readable: bool,
}

impl<'a> Items<'a> {
    fn new(spec: &'static BucketSpec, own: &'a Own, reader: &'a ItemReader<'a>) -> Self {
        Self {
            spec,
            own,
            reader,
            total: Total::new(spec, own.form.size()),
            magnitudes: Magnitudes::default(),
            times: None,
            bytes: 0,
            ids: HashMap::default(),
            compared: Vec::new(),
            are_readable: true,
        }
    }

    fn take<T: Record>(
        &mut self,
        index: usize,
        raw: RawBsonRef<'a>,
        key: Option<&T::Key>,
        problems: &mut Vec<Problem>,
    ) -> Result<(), Damage> {
        let spec = self.spec;
        let time = item_time(spec, index, raw)?;
        let at = u64::try_from(index).unwrap_or(u64::MAX);
        if !self.own.covers(index, time) {
            let (start, end) = self.own.span_of(index);
            problems.push(Problem::Outside {
                index: at,
                time,
                start,
                end,
            });
        }
        self.times = Some(match self.times {
            None => (time, time, time),
            Some((first, earliest, latest)) => (first, earliest.min(time), latest.max(time)),
        });
        let RawBsonRef::Document(document) = raw else {
            let _: T::Item = self.reader.decode(index, raw)?;
            return Ok(());
        };
        if is_removed(document) {
            // A place may be named twice: the items after a lost one have other places than they had.
            if !names_its_place(spec, document) {
                self.take_id(index, document, problems);
            }
            return Ok(());
        }
        let item: T::Item = self.reader.decode(index, raw)?;
        self.take_id(index, document, problems);
        let encoded = self.compare_arrays(at, document, problems);
        let mut size = encoded + ELEMENT_BYTES;
        if let Some(key) = key
            && !spec.inputs().is_empty()
        {
            let record = T::assemble(key.clone(), item);
            self.total
                .add_record(time, |sink| record.visit_inputs(sink));
            self.magnitudes.begin();
            record.visit_inputs(&mut self.magnitudes);
            if spec.max_bytes().is_some() {
                size = counted_bytes(&record, encoded);
            }
        } else {
            // Aggregates of the time need no values.
            self.total.add_record(time, |_| {});
        }
        self.bytes += u64::try_from(size).unwrap_or(u64::MAX);
        Ok(())
    }

    /// The index cannot see that one document has an id twice.
    fn take_id(&mut self, index: usize, item: &RawDocument, problems: &mut Vec<Problem>) {
        let Some(identity) = identity_of(self.spec, item) else {
            return;
        };
        if let Some(first) = self.ids.insert(identity, index) {
            let count = |number| u64::try_from(number).unwrap_or(u64::MAX);
            problems.push(Problem::RepeatedId {
                first: count(first),
                index: count(index),
            });
        }
    }

    /// Compares the arrays of attributes with those that the library would write; returns the size
    /// of the item with all its attributes.
    fn compare_arrays(
        &mut self,
        index: u64,
        item: &'a RawDocument,
        problems: &mut Vec<Problem>,
    ) -> usize {
        if self.spec.arrays().is_empty() {
            return item.as_bytes().len();
        }
        let right = self.reader.encoded(item);
        for expected in elements(&right).map_while(Result::ok) {
            let mut arrays = self.spec.arrays().iter();
            let Some(array) = arrays.find(|array| array.name == expected.name) else {
                continue;
            };
            let mut of_item = elements(item).map_while(Result::ok);
            let (found, index) = match of_item.find(|element| element.name == array.name) {
                Some(own) => (Some(own), Some(index)),
                None if self.compared.contains(&array.name) => continue,
                None => (self.reader.shared(array.name), None),
            };
            if index.is_none() {
                self.compared.push(array.name);
            }
            if found.is_some_and(|found| found.bytes != expected.bytes) {
                problems.push(Problem::AttributeForm {
                    index,
                    array: array.name.to_owned(),
                });
            }
        }
        right.as_bytes().len()
    }

    /// Compares what the bucket stores of its items.
    fn finish(
        self,
        stored: &RawDocument,
        [number, marks]: [u64; 2],
        has_key: bool,
        now: DateTime,
        problems: &mut Vec<Problem>,
    ) {
        // Edits move no bound, so a bucket may reach further than its records.
        let is_edited = marks > 0 || self.reader.edits() != Edits::default();
        if let Some(times) = self.times {
            if !is_edited {
                self.own.check_span(times, problems);
                self.check_age(times, now, problems);
            }
            self.check_bytes(stored, number, is_edited, problems);
        }
        if !has_key && !self.spec.inputs().is_empty() {
            return;
        }
        // The marks themselves: their number may be stored wrong.
        let count = u32::try_from(number - marks).unwrap_or(u32::MAX);
        let found = match StoredStats::read(self.spec, stored, count) {
            Ok(found) => found,
            Err(damage) => return problems.push(problem(damage)),
        };
        let expected = match self.total.finish() {
            Ok(expected) => expected,
            Err(overflow) => {
                return problems.push(Problem::Aggregate {
                    path: overflow.path().to_owned(),
                    stored: "stored".to_owned(),
                    expected: "more than a number can hold".to_owned(),
                });
            }
        };
        for difference in differences(self.spec, &found, &expected, &self.magnitudes) {
            let path = difference.path.to_owned();
            problems.push(match difference.stored {
                None => Problem::MissingAggregate { path },
                Some(stored) => Problem::Aggregate {
                    path,
                    stored,
                    expected: difference.expected.unwrap_or_else(|| "none".to_owned()),
                },
            });
        }
    }

    fn check_bytes(
        &self,
        stored: &RawDocument,
        number: u64,
        is_edited: bool,
        problems: &mut Vec<Problem>,
    ) {
        // Buckets from before the model counted bytes have none.
        let has_bytes = matches!(stored.get(self.spec.names().bytes), Ok(Some(_)));
        if self.spec.max_bytes().is_none() || !has_bytes || !self.own.is_readable(OwnField::Bytes) {
            return;
        }
        let mut size = RecordSize::default();
        let counters = size.of(self.spec, self.own.form.size(), 0).counters;
        let counters = u64::try_from(counters).unwrap_or(u64::MAX);
        let of_items = self.bytes.saturating_add(number.saturating_mul(counters));
        let expected = of_items.max(self.own.least_bytes(self.spec, number));
        let bytes = self.own.fields.bytes;
        // Edits make it no smaller.
        if bytes < expected || bytes != expected && !is_edited {
            problems.push(Problem::Bytes { bytes, expected });
        }
    }

    /// A record dated in the future counts as one of the moment in which it was stored. Without the
    /// date of the opening nothing tells that moment, so a day is allowed.
    fn check_age(
        &self,
        (_, earliest, latest): (DateTime, DateTime, DateTime),
        now: DateTime,
        problems: &mut Vec<Problem>,
    ) {
        const DAY: i64 = 86_400_000;
        let Some(from) = self.own.fields.expire_from else {
            return;
        };
        let before = |time: DateTime, millis: i64| {
            DateTime::from_millis(time.timestamp_millis().saturating_sub(millis))
        };
        let is_possible = match self.own.fields.created_at {
            Some(opened) => before(latest.min(opened), DAY) <= from,
            None => before(earliest.min(now), DAY) <= from || latest > now,
        };
        if latest < from {
            problems.push(Problem::RemovedLate { from, latest });
        } else if !is_possible {
            problems.push(Problem::RemovedEarly { from, latest });
        }
    }
}
