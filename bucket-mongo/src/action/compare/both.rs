//! The records of both sides, as they are read.

use bucket_core::{
    Record,
    backfill::{Misfit, Order, Pass, Position, Reading},
};
use futures_core::Stream;
use futures_util::{TryStreamExt, stream};
use mongodb::bson::RawDocumentBuf;
use serde::de::DeserializeOwned;

use super::asked::Asked;
use crate::{
    Result,
    action::backfill::{Reader, Source},
    read::SIDE_BY_SIDE,
};

/// How many documents of the source are read at once.
const CHUNK: usize = 1_000;

/// What is read of one of the sides.
pub(super) enum Seen<T> {
    /// A document of the source, as a record.
    Document(RawDocumentBuf, Result<T, Misfit>),
    /// A record of the buckets.
    Record(T),
}

/// Where a read of the source is.
struct Place<'s, 'c, T> {
    reader: Reader<'s, 'c>,
    reading: Reading<T>,
    next: Position,
}

/// Everything of both sides. Each is in its own order, and neither waits for the other.
pub(super) fn both<'r, T: Record + DeserializeOwned>(
    asked: &'r Asked<'_, T>,
    source: &'r Source<'_>,
    order: &'r Order,
) -> impl Stream<Item = Result<Seen<T>>> + Send + 'r {
    stream::select(documents(asked, source, order), records(asked))
}

fn documents<'r, T: Record + DeserializeOwned>(
    asked: &'r Asked<'_, T>,
    source: &'r Source<'_>,
    order: &'r Order,
) -> impl Stream<Item = Result<Seen<T>>> + Send + 'r {
    let place = Place {
        reader: Reader::new(source, order),
        reading: Reading::new(asked.ignored.iter().cloned()),
        next: order.begin(),
    };
    let chunks = stream::try_unfold(place, |mut place| async move {
        if place.next.pass == Pass::Done {
            return Ok(None);
        }
        let chunk = place.reader.chunk(&place.next, CHUNK).await?;
        place.next = chunk.next;
        let reading = &mut place.reading;
        let seen = chunk.documents.into_iter().map(|document| {
            let record = reading.record(&document);
            Ok(Seen::Document(document, record))
        });
        let seen = seen.collect();
        Ok(Some((stream::iter::<Vec<Result<Seen<T>>>>(seen), place)))
    });
    chunks.try_flatten()
}

fn records<'r, T: Record>(
    asked: &'r Asked<'_, T>,
) -> impl Stream<Item = Result<Seen<T>>> + Send + 'r {
    let of_key = |key| {
        asked
            .buckets
            .range(key, asked.range)
            .stream()
            .map_ok(Seen::Record)
    };
    // All before the first record: a model that merges buckets reads from a snapshot, which the server keeps for minutes only.
    let keys = asked.buckets.keys().into_future();
    let keys = stream::once(keys).map_ok(|keys| stream::iter(keys.into_iter().map(Ok)));
    let of_keys = keys.try_flatten().map_ok(of_key);
    of_keys.try_flatten_unordered(SIDE_BY_SIDE)
}
