//! A call at work: a first read counts, a second one finds what differs.

use std::{
    pin::{Pin, pin},
    time::Instant,
};

use bucket_core::{
    EncodeError, Record,
    backfill::Order,
    compare::{Fingerprint, Parts, Search, Side, Tallies, document_of},
};
use futures_core::Stream;
use futures_util::TryStreamExt;
use serde::de::DeserializeOwned;

use super::{
    asked::{Asked, OnProgress},
    both::{Seen, both},
    comparison::{CompareProgress, Comparison, Difference},
};
use crate::{
    Error, ErrorKind, Result,
    action::{
        RejectedDocument,
        backfill::{Source, id_of},
    },
    error::Context,
    trace,
};

/// How many records are compared one by one.
const COMPARED: u64 = 200_000;
/// How many documents and records are read until the caller hears of them.
const TOLD: u64 = 4_096;

/// Runs a call to its end.
pub(super) async fn run<T: Record + DeserializeOwned>(
    asked: Asked<'_, T>,
    on_progress: Option<OnProgress<'_>>,
) -> Result<Comparison> {
    let context = Context::of_all::<T>("compare_with");
    let begun = Instant::now();
    if asked.range.is_reversed() {
        let message = "the time range ends before it starts".to_owned();
        return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
    }
    let found = Source::find(asked.source.clone(), asked.buckets, &context).await?;
    let Some(source) = found else {
        let message = format!(
            "there is no collection `{}` to compare the buckets with",
            asked.source.namespace()
        );
        return Err(Error::new(ErrorKind::InvalidArgument { message }, &context));
    };
    let order = Order::by_id(T::SPEC);
    let progress = CompareProgress {
        documents: 0,
        records: 0,
        expected: source.expected().await?,
        is_searching: false,
    };
    let mut told = Told {
        progress,
        tell: on_progress,
    };
    let mut comparison = Comparison::default();
    let seen = pin!(both(&asked, &source, &order));
    let (of_source, of_buckets) = count(&asked, seen, &mut told, &mut comparison, &context).await?;
    (comparison.documents, comparison.records) = (of_source.records(), of_buckets.records());
    let parts = of_source.differing(&of_buckets, COMPARED);
    comparison.is_complete = parts.left_out() == 0;
    if !parts.is_empty() {
        told.search();
        let seen = pin!(both(&asked, &source, &order));
        let found = search(&asked, seen, &mut told, parts, &context).await?;
        comparison.differ(found);
    }
    comparison.took = begun.elapsed();
    tracing::debug!(
        target: trace::READ,
        documents = comparison.documents,
        records = comparison.records,
        rejected = comparison.rejected,
        missing = comparison.missing,
        extra = comparison.extra,
        "compare_with",
    );
    Ok(comparison)
}

/// How far it is, and what is called with it.
struct Told<'a> {
    progress: CompareProgress,
    tell: Option<OnProgress<'a>>,
}

impl Told<'_> {
    fn count<T>(&mut self, seen: &Seen<T>) {
        let progress = &mut self.progress;
        match seen {
            Seen::Document(..) => progress.documents += 1,
            Seen::Record(_) => progress.records += 1,
        }
        if (progress.documents + progress.records).is_multiple_of(TOLD) {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if let Some(tell) = &mut self.tell {
            tell(&self.progress);
        }
    }

    /// Begins the second read.
    fn search(&mut self) {
        self.progress.documents = 0;
        self.progress.records = 0;
        self.progress.is_searching = true;
    }
}

/// Counts both sides. Returns them part by part.
async fn count<T: Record + DeserializeOwned>(
    asked: &Asked<'_, T>,
    mut seen: Pin<&mut (impl Stream<Item = Result<Seen<T>>> + Send)>,
    told: &mut Told<'_>,
    comparison: &mut Comparison,
    context: &Context,
) -> Result<(Tallies, Tallies)> {
    let (mut source, mut buckets) = (Tallies::default(), Tallies::default());
    while let Some(one) = seen.try_next().await? {
        told.count(&one);
        match one {
            Seen::Document(document, Err(misfit)) => comparison.reject(|| RejectedDocument {
                id: id_of(&document),
                reason: misfit.to_string(),
            }),
            Seen::Document(_, Ok(record)) if asked.range.contains(record.time()) => {
                source.add(fingerprint(&record, context)?);
            }
            Seen::Document(_, Ok(_)) => {}
            Seen::Record(record) => buckets.add(fingerprint(&record, context)?),
        }
    }
    told.tell();
    Ok((source, buckets))
}

/// Finds the records of some parts that only one side has.
async fn search<T: Record + DeserializeOwned>(
    asked: &Asked<'_, T>,
    mut seen: Pin<&mut (impl Stream<Item = Result<Seen<T>>> + Send)>,
    told: &mut Told<'_>,
    parts: Parts,
    context: &Context,
) -> Result<Vec<Difference>> {
    let mut search = Search::new(parts);
    while let Some(one) = seen.try_next().await? {
        told.count(&one);
        match one {
            Seen::Document(document, Ok(record)) if asked.range.contains(record.time()) => {
                let fingerprint = fingerprint(&record, context)?;
                search.add(Side::Source, fingerprint, || {
                    (Some(id_of(&document)), record)
                });
            }
            Seen::Document(..) => {}
            Seen::Record(record) => {
                let fingerprint = fingerprint(&record, context)?;
                search.add(Side::Buckets, fingerprint, || (None, record));
            }
        }
    }
    told.tell();
    let unmatched = search.unmatched().map(|one| {
        let (missing, record) = one.what;
        Ok(Difference {
            missing,
            time: record.time(),
            record: document_of(&record).map_err(|error| unwritten(error, context))?,
        })
    });
    unmatched.collect()
}

fn fingerprint<T: Record>(record: &T, context: &Context) -> Result<Fingerprint> {
    Fingerprint::of(record).map_err(|error| unwritten(error, context))
}

fn unwritten(error: EncodeError, context: &Context) -> Error {
    Error::new(ErrorKind::Encode(error), context)
}
