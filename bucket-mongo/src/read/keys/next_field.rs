//! The newest buckets of many values of a key field, by the few values of the next field.
//!
//! For a thousand devices with two sensors each, a walk by device takes a thousand commands. Instead, one
//! device shows which sensors there are, and one command per sensor jumps over all devices. One more command
//! finds devices that also have other sensors; those sensors are read one device at a time.

use bucket_core::read;
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::bson::Bson;

use super::walk::{Found, Walk};
use crate::{Error, Result, error::ReadFault};

/// The fewest values for which this is worthwhile ..
pub(super) const WORTHWHILE: usize = 8;
/// .. if there are at least this many times more of them than values of the next field.
const TIMES: usize = 4;

/// The newest bucket of every key that has one of these values, where one more field follows.
pub(super) fn newest_buckets(walk: Walk<'_>, values: Vec<Bson>) -> BoxStream<'_, Found> {
    let keys = async move {
        match split(walk, values).await {
            Ok(keys) => keys,
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    };
    stream::once(keys).flatten().boxed()
}

async fn split(walk: Walk<'_>, values: Vec<Bson>) -> Result<BoxStream<'_, Found>> {
    let (mut values, odd): (Vec<Bson>, Vec<Bson>) =
        values.into_iter().partition(read::is_key_value);
    let odd = walk.each(odd, &[], Walk::rows);
    let Some(sample) = values.pop() else {
        return Ok(odd);
    };
    let sample = walk.at(sample);
    let mut cursor = sample.open().await?;
    let failed = |fault: ReadFault| Error::read(fault, &sample.context);
    let mut known = Vec::new();
    let mut found = Vec::new();
    while known.len() * TIMES <= values.len() {
        let Some(next) = cursor.next().await.map_err(failed)? else {
            // All that the sample has.
            let rest = by_next(&walk, values, known).await?;
            return Ok(stream::iter(found).chain(rest).chain(odd).boxed());
        };
        let next = read::FieldValue::new(next);
        known.push(next.value);
        found.push(Ok(next.found));
    }
    let sample = sample.rows(cursor);
    let each = walk.each(values, &[], Walk::rows);
    let rest = sample.chain(each).chain(odd);
    Ok(stream::iter(found).chain(rest).boxed())
}

/// The keys of all values by the values of the next field that are known, and those with other ones.
async fn by_next<'a>(
    walk: &Walk<'a>,
    values: Vec<Bson>,
    mut known: Vec<Bson>,
) -> Result<BoxStream<'a, Found>> {
    known.retain(read::is_key_value);
    let plan = read::with_others(walk.spec, &walk.prefix, &values, &known);
    let others = walk.aggregate(plan).await?;
    let failed = |fault: ReadFault| Error::read(fault, &walk.context);
    let others: Vec<Bson> = others
        .into_stream()
        .map_ok(|found| read::FieldValue::new(found).value)
        .try_collect()
        .await
        .map_err(failed)?;
    let others = walk.each(others, &known, Walk::rows);
    let walk = walk.clone();
    let side_by_side = walk.side_by_side();
    let by_next = stream::iter(known)
        .map(move |next| {
            let plan = walk.scan.by_next(walk.spec, &walk.prefix, &values, &next);
            let walk = walk.clone();
            let keys = async move {
                match walk.aggregate(plan).await {
                    Ok(cursor) => walk.rows(cursor),
                    Err(error) => stream::iter([Err(error)]).boxed(),
                }
            };
            stream::once(keys).flatten().boxed()
        })
        .flatten_unordered(side_by_side);
    Ok(by_next.chain(others).boxed())
}
