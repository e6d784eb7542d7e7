//! Runs read plans of core with the driver.

use bucket_core::read::{AggregatePlan, FindPlan};
use futures_util::TryStreamExt;
use mongodb::{
    ClientSession, Collection, Cursor,
    bson::{Document, RawDocument, RawDocumentBuf},
    error::Result,
    options::Hint,
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
        .hint(Hint::Name(plan.hint));
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
    let filter = Document::try_from(plan.filter)?;
    collection
        .find(filter)
        .sort(plan.sort)
        .hint(Hint::Name(plan.hint))
        .await
}

/// Hands over each document of a plan, with its projection, as it stands in the server's reply;
/// the first error of `take` ends it.
pub(super) async fn each<E: From<mongodb::error::Error>>(
    collection: &Collection<RawDocumentBuf>,
    plan: FindPlan,
    session: Option<&mut ClientSession>,
    mut take: impl FnMut(&RawDocument) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let filter = Document::try_from(plan.filter).map_err(mongodb::error::Error::from)?;
    let find = collection
        .find(filter)
        .sort(plan.sort)
        .projection(plan.projection)
        .batch_size(BATCH)
        .hint(Hint::Name(plan.hint));
    if let Some(session) = session {
        let mut cursor = find.session(&mut *session).await?;
        while cursor.advance(session).await? {
            take(cursor.current())?;
        }
    } else {
        let mut cursor = find.await?;
        while cursor.advance().await? {
            take(cursor.current())?;
        }
    }
    Ok(())
}

/// So many documents without their items are less than a reply holds.
const BATCH: u32 = 10_000;

/// A cursor over the documents of an aggregation.
pub(super) async fn aggregation(
    collection: &Collection<RawDocumentBuf>,
    plan: AggregatePlan,
) -> Result<Cursor<RawDocumentBuf>> {
    collection
        .aggregate(plan.pipeline)
        .hint(Hint::Name(plan.hint))
        .with_type()
        .await
}

/// The only document of an aggregation.
pub(super) async fn aggregate(
    collection: &Collection<RawDocumentBuf>,
    plan: AggregatePlan,
    session: Option<&mut ClientSession>,
) -> Result<Option<Document>> {
    let aggregate = collection
        .aggregate(plan.pipeline)
        .hint(Hint::Name(plan.hint));
    match session {
        Some(session) => {
            let mut cursor = aggregate.session(&mut *session).await?;
            cursor.next(session).await.transpose()
        }
        None => aggregate.await?.try_next().await,
    }
}
