//! The walk over all buckets, in the order of the index on the keys and their buckets.

use std::{marker::PhantomData, mem};

use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};

use super::{
    CheckPosition, Finding, PositionError, Problem, Suspicion,
    document::{document, head},
    neighbours::Neighbours,
    position::{first_of_key, index_order, values},
};
use crate::{
    bucket::record::Record,
    codec::raw::RawWriter,
    model::limits::Limits,
    read::{ReadKey, can_hold},
    time::range::TimeRange,
};

/// More than the fields of a bucket can show.
const PROBLEMS_OF_FIELDS: usize = 32;

/// The read of a walk.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanPlan {
    /// The filter: all, or the buckets of a key or of a span of time.
    pub filter: RawDocumentBuf,
    /// The fields of the index at the first document to read; none to begin with the first of all.
    pub min: Option<Document>,
    /// Those at the document before which it ends; none to end with the last of all.
    pub max: Option<Document>,
    /// The order, which is that of the index.
    pub sort: Document,
    /// The name of the index.
    pub hint: String,
    /// The fields that are left out, if not all are read.
    pub projection: Document,
}

/// Checks the buckets of a collection as they come.
///
/// ```
/// # use bson::{DateTime, RawDocumentBuf};
/// # use bucket_core::{Record, check::{Checker, Finding}};
/// fn damages<T: Record>(stored: &[RawDocumentBuf]) -> Vec<Finding> {
///     let mut checker = Checker::<T>::new(DateTime::now());
///     for stored in stored {
///         checker.take(stored, |_| None);
///     }
///     checker.end();
///     // Without other writers, there is nothing to look at again.
///     let again = checker.suspicions().into_iter();
///     let mut findings = checker.findings();
///     findings.extend(again.map(|suspicion| suspicion.into_finding()));
///     findings
/// }
/// ```
#[derive(Debug)]
pub struct Checker<T: Record> {
    now: DateTime,
    neighbours: Neighbours,
    range: TimeRange,
    begins: Begins,
    buckets: u64,
    records: u64,
    record: PhantomData<fn() -> T>,
}

/// Where the next read begins.
#[derive(Debug)]
enum Begins {
    /// With the first bucket, or somewhere after it: the walk has taken what was there.
    Anywhere,
    /// With the first bucket of the key at this place: those before it are only compared with what comes after it.
    WithKeyOf(Document),
    /// With the bucket at this place, which is only compared with what comes after it.
    With(Document),
    /// With the bucket at this place, which the walk has taken.
    After(Document),
}

impl<T: Record> Checker<T> {
    /// A walk over all buckets, at this time.
    #[must_use]
    pub fn new(now: DateTime) -> Self {
        Self {
            now,
            neighbours: Neighbours::new(T::SPEC, now),
            range: TimeRange::ALL,
            begins: Begins::Anywhere,
            buckets: 0,
            records: 0,
            record: PhantomData,
        }
    }

    /// Only the buckets that can hold records of this span of time, or whose span is damaged.
    #[must_use]
    pub fn between(mut self, range: TimeRange) -> Self {
        self.range = range;
        // Where buckets have no span, their numbers say nothing about which of them are in this one.
        self.neighbours.skips = range != TimeRange::ALL && !T::SPEC.form().has_span();
        self
    }

    /// Compares the record ids of the buckets of each key too: where the unique index on them is missing, or where
    /// nobody knows whether it is.
    pub fn compare_record_ids(&mut self) {
        self.neighbours.compares_ids = T::SPEC.unique().is_some();
    }

    /// Goes on after this position.
    ///
    /// # Errors
    ///
    /// [`PositionError`] if it belongs to another model.
    pub fn after(&mut self, position: &CheckPosition) -> Result<(), PositionError> {
        let values = position.values(T::SPEC)?;
        self.neighbours.last = Some(values.clone());
        // A place may be the first one that a key can have: the server reads nothing between that and itself.
        self.begins = if first_of_key(T::SPEC, &values) == values {
            Begins::With(values)
        } else {
            Begins::WithKeyOf(values)
        };
        Ok(())
    }

    /// The read goes on after the last document: its cursor is gone.
    pub fn reopen(&mut self) {
        if let Some(last) = &self.neighbours.last {
            self.begins = match mem::replace(&mut self.begins, Begins::Anywhere) {
                Begins::Anywhere | Begins::After(_) => Begins::After(last.clone()),
                earlier => earlier,
            };
        }
    }

    /// The read: of all buckets of the span, or of those of a key.
    #[must_use]
    pub fn plan(&self, key: Option<&ReadKey>) -> ScanPlan {
        let (mut min, mut max, mut projection) = (None, None, Document::new());
        match &self.begins {
            Begins::Anywhere => {}
            Begins::WithKeyOf(place) => {
                min = Some(first_of_key(T::SPEC, place));
                max = Some(place.clone());
                // Only record ids are in the items.
                if !self.neighbours.compares_ids {
                    projection = doc! { T::SPEC.items(): 0 };
                }
            }
            // With the place itself: the next one is compared with it.
            Begins::With(place) | Begins::After(place) => min = Some(place.clone()),
        }
        ScanPlan {
            filter: RawWriter::build(|writer| {
                writer.elements(key.map(ReadKey::elements).unwrap_or_default());
                can_hold(writer, T::SPEC, self.range);
            }),
            min,
            max,
            sort: index_order(T::SPEC),
            hint: T::SPEC.pages_index_name(),
            projection,
        }
    }

    /// The read has come to its end. Whether another one follows.
    pub fn goes_on(&mut self) -> bool {
        match mem::replace(&mut self.begins, Begins::Anywhere) {
            Begins::WithKeyOf(place) => {
                self.begins = Begins::With(place);
                true
            }
            _ => false,
        }
    }

    /// Checks the next document.
    pub fn take(&mut self, stored: &RawDocument, limits: impl Fn(&T::Key) -> Option<Limits>) {
        let place = values(T::SPEC, stored);
        match &self.begins {
            Begins::Anywhere => {}
            Begins::WithKeyOf(_) => return self.recall(stored, limits),
            // What has no place comes first if the server sorts.
            Begins::With(_) if place.is_none() => {}
            Begins::After(_) if place.is_none() => return,
            Begins::With(first) => {
                let is_there = place.as_ref() == Some(first);
                self.begins = Begins::Anywhere;
                if is_there {
                    let seen = document::<T>(stored, &limits, self.now).seen;
                    return self.neighbours.recall(seen, stored);
                }
            }
            Begins::After(last) => {
                let is_there = place.as_ref() == Some(last);
                self.begins = Begins::Anywhere;
                if is_there {
                    return;
                }
            }
        }
        let checked = document::<T>(stored, &limits, self.now);
        self.buckets += 1;
        self.records = self.records.saturating_add(checked.records);
        let seen = checked.seen;
        let mut problems: Vec<Problem> = Vec::with_capacity(checked.problems.len());
        for problem in checked.problems {
            // Several fields may show one. Those of fields come before those of items, which may be many.
            if !problems
                .iter()
                .take(PROBLEMS_OF_FIELDS)
                .any(|it| *it == problem)
            {
                problems.push(problem);
            }
        }
        let findings = problems.into_iter().map(|it| seen.finding(it));
        self.neighbours.findings.extend(findings);
        self.neighbours.take(seen, stored, place);
    }

    /// An earlier walk has reported what is wrong with this document.
    fn recall(&mut self, stored: &RawDocument, limits: impl Fn(&T::Key) -> Option<Limits>) {
        let seen = head::<T>(stored, limits).seen;
        self.neighbours.recall(seen, stored);
    }

    /// No more will come.
    pub fn end(&mut self) {
        self.neighbours.end();
    }

    /// What was found since the last call.
    #[must_use]
    pub fn findings(&mut self) -> Vec<Finding> {
        mem::take(&mut self.neighbours.findings)
    }

    /// How many suspicions wait.
    #[must_use]
    pub fn suspected(&self) -> usize {
        self.neighbours.suspicions.len()
    }

    /// What has to be looked at again, since the last call.
    #[must_use]
    pub fn suspicions(&mut self) -> Vec<Suspicion> {
        mem::take(&mut self.neighbours.suspicions)
    }

    /// Those that still hold are reported: another walk need not find them again.
    pub fn looked(&mut self) {
        self.neighbours.looked();
    }

    /// The number of documents so far.
    #[must_use]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// The number of their records, without those that were removed.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The number of keys so far.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.neighbours.keys
    }

    /// Of how many keys only a part of the record ids was compared: those with more than a million of them.
    #[must_use]
    pub fn parts_of_ids(&self) -> u64 {
        self.neighbours.parts_of_ids
    }

    /// Where another walk goes on: all that is wrong up to there is reported. What has to be looked at again comes after it.
    #[must_use]
    pub fn position(&self) -> Option<CheckPosition> {
        CheckPosition::of(self.neighbours.settled()?)
    }
}
