//! Runs read plans of core with the driver.

use bucket_core::{
    Damage, DamagedBucket,
    read::{AggregatePlan, FindPlan},
};
use mongodb::{
    Collection,
    bson::{Document, RawDocument, RawDocumentBuf},
};

use crate::{
    Error, ErrorKind,
    error::{Context, ReadFault},
    read::{ReadOptions, Rows, SharedOptions},
};

/// Hands over each document of these plans, with its projection, exactly as the server's reply has it.
pub(super) async fn each(
    collection: &Collection<RawDocumentBuf>,
    plans: Vec<FindPlan>,
    options: ReadOptions<'_>,
    context: &Context,
    mut take: impl FnMut(&RawDocument) -> Result<(), DamagedBucket>,
) -> crate::Result<()> {
    let failed = |fault| Error::read(fault, context);
    let rows = Rows::open(collection, plans, BATCH, options).await;
    let mut rows = rows.map_err(failed)?;
    while let Some(stored) = rows.next(&|_| 0).await.map_err(failed)? {
        take(stored).map_err(|damage| Error::new(of(damage), context))?;
    }
    Ok(())
}

/// Of what is read here, statistics could be exact with other bounds.
fn of(damage: DamagedBucket) -> ErrorKind {
    match damage.damage() {
        Damage::Expired { span, .. } => ErrorKind::Partial { span: *span },
        _ => ErrorKind::Damaged(damage),
    }
}

/// A reply holds this many documents without their items.
const BATCH: u32 = 10_000;

/// The only document of an aggregation.
pub(super) async fn aggregate(
    collection: &Collection<RawDocumentBuf>,
    plan: AggregatePlan,
    options: ReadOptions<'_>,
) -> Result<Option<Document>, ReadFault> {
    let options = SharedOptions::new(options);
    let mut found = options.aggregate(collection, plan).await?;
    let found = found.next().await?;
    let found = found.map(|found| Document::try_from(&*found));
    found
        .transpose()
        .map_err(|error| ReadFault::Driver(error.into()))
}
