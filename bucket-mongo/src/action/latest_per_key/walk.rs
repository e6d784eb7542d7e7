//! Keys that have the same first key fields, and the commands that read them.

use bucket_core::{
    BucketSpec,
    read::{self, AggregatePlan},
};
use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt, stream};
use mongodb::{
    Collection, Cursor,
    bson::{Bson, RawDocumentBuf},
};

use super::run_plan;
use crate::error::{Context, Error, Result};

/// The most reads that run at the same time.
pub(super) const SIDE_BY_SIDE: usize = 4;

pub(super) type Found = Result<RawDocumentBuf>;

/// The keys that have these values of the first key fields.
#[derive(Clone)]
pub(super) struct Walk {
    pub(super) spec: &'static BucketSpec,
    pub(super) collection: Collection<RawDocumentBuf>,
    pub(super) context: Context,
    pub(super) prefix: Vec<Bson>,
    /// Values of the next field that are left out.
    pub(super) except: Vec<Bson>,
}

impl Walk {
    pub(super) async fn open(&self) -> Result<Cursor<RawDocumentBuf>> {
        let plan = read::newest_by_field(self.spec, &self.prefix, &self.except);
        self.aggregate(plan).await
    }

    pub(super) async fn aggregate(&self, plan: AggregatePlan) -> Result<Cursor<RawDocumentBuf>> {
        let cursor = run_plan::aggregation(&self.collection, plan).await;
        cursor.map_err(|error| Error::read(error, &self.context))
    }

    /// The newest bucket of each key, if the cursor is on the last key field.
    pub(super) fn rows(self, cursor: Cursor<RawDocumentBuf>) -> BoxStream<'static, Found> {
        let context = self.context;
        cursor
            .map_err(move |error| Error::read(error, &context))
            .boxed()
    }

    /// The keys that have these values of the next field, one value after the other, without keys whose
    /// following field is one of `except`. `through` leads from a cursor on that field to the buckets.
    pub(super) fn each(
        &self,
        values: Vec<Bson>,
        except: &[Bson],
        through: fn(Self, Cursor<RawDocumentBuf>) -> BoxStream<'static, Found>,
    ) -> BoxStream<'static, Found> {
        let walk = Self {
            except: except.to_vec(),
            ..self.clone()
        };
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
            .flatten_unordered(SIDE_BY_SIDE)
            .boxed()
    }

    /// The keys that have this value of the next field.
    pub(super) fn at(&self, value: Bson) -> Self {
        let mut walk = self.clone();
        walk.prefix.push(value);
        walk
    }
}
