//! Runs read plans of core with the driver.

use bucket_core::{
    DamagedBucket,
    read::{AggregatePlan, FindPlan},
};
use futures_util::TryStreamExt;
use mongodb::{
    ClientSession, Collection, Cursor,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::Result,
    options::Hint,
};

use crate::{
    Error, ErrorKind,
    error::Context,
    footing::simple_collation,
    read::{Rows, opened, prepared},
};

/// The first document of a plan.
pub(super) async fn one(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
    session: Option<&mut ClientSession>,
) -> Result<Option<RawDocumentBuf>> {
    let filter = Document::try_from(plan.filter)?;
    let find = collection
        .find_one(filter)
        .sort(plan.sort)
        .skip(plan.skip)
        .hint(Hint::Name(plan.hint))
        .collation(simple_collation());
    let find = if plan.projection.is_empty() {
        find
    } else {
        find.projection(plan.projection)
    };
    match session {
        Some(session) => find.session(session).await,
        None => find.await,
    }
}

/// A cursor over the documents of a plan.
pub(super) async fn many(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
) -> Result<Cursor<RawDocumentBuf>> {
    let collection = collection.clone();
    opened(async move { prepared(&collection, plan)?.await }).await
}

/// Passes on each document of a plan, with its projection, as it is in the server's reply.
pub(super) async fn each(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
    session: Option<&mut ClientSession>,
    context: &Context,
    mut take: impl FnMut(&RawDocument) -> std::result::Result<(), DamagedBucket>,
) -> crate::Result<()> {
    let failed = |error| Error::read(error, context);
    let rows = Rows::open(collection, vec![plan], BATCH, session).await;
    let mut rows = rows.map_err(failed)?;
    while let Some(stored) = rows.next(|_| 0).await.map_err(failed)? {
        take(stored).map_err(|damage| Error::new(ErrorKind::Damaged(damage), context))?;
    }
    Ok(())
}

/// A reply holds this many documents without their items.
const BATCH: u32 = 10_000;

/// A cursor over the documents of an aggregation.
pub(super) async fn aggregation(
    collection: &Collection<RawDocumentBuf>,
    plan: AggregatePlan,
) -> Result<Cursor<RawDocumentBuf>> {
    let collection = collection.clone();
    let opening = async move {
        let aggregate = collection.aggregate(plan.pipeline);
        let aggregate = aggregate.hint(Hint::Name(plan.hint));
        aggregate.collation(simple_collation()).with_type().await
    };
    opened(opening).await
}

/// The only document of an aggregation.
pub(super) async fn aggregate(
    collection: &Collection<RawDocumentBuf>,
    plan: AggregatePlan,
    session: Option<&mut ClientSession>,
) -> Result<Option<Document>> {
    let aggregate = collection
        .aggregate(plan.pipeline)
        .hint(Hint::Name(plan.hint))
        .collation(simple_collation());
    match session {
        Some(session) => {
            let mut cursor = aggregate.session(&mut *session).await?;
            cursor.next(session).await.transpose()
        }
        None => aggregate.await?.try_next().await,
    }
}
