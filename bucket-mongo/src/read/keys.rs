//! Every key, key field by key field.
//!
//! One command jumps over the values of the first field and gives the newest bucket of one key for each
//! value. A second command, answered from the index only, gives the other end of each value. If both ends are
//! the same key, the value has no other key. Otherwise the keys of that value are read in the same way by the
//! next field, or all together (`next_field.rs`).

mod next_field;
mod walk;

use bucket_core::{
    BucketSpec,
    read::{self, FieldValue, KeyScan},
};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::{
    Collection,
    bson::{Bson, RawDocumentBuf},
};

use self::walk::Walk;
pub(crate) use self::walk::{Found, SIDE_BY_SIDE};
use super::{Aggregated, SharedOptions};
use crate::{
    Error, Result,
    error::{Context, ReadFault},
};

/// The most values of a field that one command looks at ..
const VALUES: usize = 1_000;
/// .. unless their documents reach this many bytes first.
const BYTES: usize = 4 * 1024 * 1024;

/// What the scan brings of every key.
///
/// # Errors
///
/// Those of opening the first cursor.
pub(crate) async fn every_key<'a>(
    spec: &'static BucketSpec,
    scan: KeyScan,
    collection: Collection<RawDocumentBuf>,
    options: SharedOptions<'a>,
    context: Context,
) -> Result<BoxStream<'a, Found>> {
    let walk = Walk {
        spec,
        scan,
        collection,
        options,
        context,
        prefix: Vec::new(),
        except: Vec::new(),
    };
    let cursor = walk.open().await?;
    Ok(walk.through(cursor))
}

impl<'a> Walk<'a> {
    /// The newest bucket of every key that a cursor on the next field leads to.
    fn through(self, cursor: Aggregated<'a>) -> BoxStream<'a, Found> {
        if self.prefix.len() + 1 >= self.spec.keys().len() {
            return self.rows(cursor);
        }
        let walk = self.clone();
        let values = stream::try_unfold(cursor, move |mut cursor| {
            let walk = walk.clone();
            async move {
                let values = walk.some(&mut cursor).await?;
                if values.is_empty() {
                    return Ok(None);
                }
                let sorted = walk.sort_out(values).await?;
                Ok::<_, Error>(Some((sorted, cursor)))
            }
        });
        let keys = values.map(move |sorted| match sorted {
            Err(error) => stream::iter([Err(error)]).boxed(),
            Ok(Sorted { alone, several }) => {
                let below = self.of_several(several);
                stream::iter(alone.into_iter().map(Ok)).chain(below).boxed()
            }
        });
        keys.flatten().boxed()
    }

    /// The next values of the field.
    async fn some(&self, cursor: &mut Aggregated<'_>) -> Result<Vec<FieldValue>> {
        let (mut values, mut bytes) = (Vec::new(), 0);
        while values.len() < VALUES && bytes < BYTES {
            let found = cursor.next().await;
            let Some(found) = found.map_err(|fault| Error::read(fault, &self.context))? else {
                break;
            };
            bytes += found.as_bytes().len();
            values.push(FieldValue::new(found));
        }
        Ok(values)
    }

    /// Separates the values with one key from those with several.
    async fn sort_out(&self, values: Vec<FieldValue>) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return Ok(sorted);
        };
        let plan = read::other_ends(self.spec, &self.prefix, (&first.value, &last.value));
        let mut ends: Vec<FieldValue> = match plan {
            None => Vec::new(),
            Some(plan) => {
                let failed = |fault: ReadFault| Error::read(fault, &self.context);
                let ends = self.aggregate(plan).await?.into_stream();
                let ends = ends.map_ok(FieldValue::new);
                ends.try_collect().await.map_err(failed)?
            }
        };
        // They come from the other end of each value. A missing value is left for a walk of its own.
        for value in values {
            let same = ends.iter().rposition(|end| end.value == value.value);
            let end = same.and_then(|at| ends.drain(at..).next());
            if end.is_some_and(|end| value.is_same_key(&end, self.spec)) {
                sorted.alone.push(value.found);
            } else {
                sorted.several.push(value.value);
            }
        }
        Ok(sorted)
    }

    /// The newest bucket of every key that has one of these values.
    fn of_several(&self, several: Vec<Bson>) -> BoxStream<'a, Found> {
        let is_last_but_one = self.prefix.len() + 2 == self.spec.keys().len();
        if is_last_but_one && several.len() > next_field::WORTHWHILE {
            next_field::newest_buckets(self.clone(), several)
        } else {
            self.each(several, &[], Self::through)
        }
    }
}

/// Values of a key field.
#[derive(Default)]
struct Sorted {
    /// The newest bucket of each value that has one key.
    alone: Vec<RawDocumentBuf>,
    /// The values that have several keys.
    several: Vec<Bson>,
}
