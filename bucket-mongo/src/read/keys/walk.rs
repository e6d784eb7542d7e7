//! Keys that have the same first key fields, and the commands that read them.

use bucket_core::{
    BucketSpec,
    read::{AggregatePlan, KeyScan},
};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::{
    Collection,
    bson::{Bson, RawDocumentBuf},
};

use crate::{
    error::{Context, Error, Result},
    read::{Aggregated, SharedOptions},
};

/// The most reads that run at the same time.
pub(crate) const SIDE_BY_SIDE: usize = 4;

pub(crate) type Found = Result<RawDocumentBuf>;

/// The keys that have these values of the first key fields.
#[derive(Clone)]
pub(super) struct Walk<'a> {
    pub(super) spec: &'static BucketSpec,
    pub(super) scan: KeyScan,
    pub(super) collection: Collection<RawDocumentBuf>,
    pub(super) options: SharedOptions<'a>,
    pub(super) context: Context,
    pub(super) prefix: Vec<Bson>,
    /// Values of the next field that are left out.
    pub(super) except: Vec<Bson>,
}

impl<'a> Walk<'a> {
    pub(super) async fn open(&self) -> Result<Aggregated<'a>> {
        let plan = self.scan.by_field(self.spec, &self.prefix, &self.except);
        self.aggregate(plan).await
    }

    pub(super) async fn aggregate(&self, plan: AggregatePlan) -> Result<Aggregated<'a>> {
        let cursor = self.options.aggregate(&self.collection, plan).await;
        cursor.map_err(|fault| Error::read(fault, &self.context))
    }

    /// The newest bucket of each key, where the cursor is on the last key field.
    pub(super) fn rows(self, cursor: Aggregated<'a>) -> BoxStream<'a, Found> {
        let context = self.context;
        cursor
            .into_stream()
            .map_err(move |fault| Error::read(fault, &context))
            .boxed()
    }

    /// The keys that have these values of the next field, one value after the other, without keys whose
    /// following field is one of `except`. `through` leads from a cursor on that field to the buckets.
    pub(super) fn each(
        &self,
        values: Vec<Bson>,
        except: &[Bson],
        through: fn(Self, Aggregated<'a>) -> BoxStream<'a, Found>,
    ) -> BoxStream<'a, Found> {
        let walk = Self {
            except: except.to_vec(),
            ..self.clone()
        };
        let side_by_side = self.side_by_side();
        let below = move |value| {
            let walk = walk.at(value);
            let keys = async move {
                match walk.open().await {
                    Ok(cursor) => through(walk, cursor),
                    Err(error) => stream::iter([Err(error)]).boxed(),
                }
            };
            stream::once(keys).flatten().boxed()
        };
        stream::iter(values)
            .map(below)
            .flatten_unordered(side_by_side)
            .boxed()
    }

    pub(super) fn side_by_side(&self) -> usize {
        self.options.side_by_side(SIDE_BY_SIDE)
    }

    /// The keys that have this value of the next field.
    pub(super) fn at(&self, value: Bson) -> Self {
        let mut walk = self.clone();
        walk.prefix.push(value);
        walk
    }
}
