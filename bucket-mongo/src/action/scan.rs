//! The cursor of a call that reads many buckets in the order of their index.

use bucket_core::check::ScanPlan;
#[cfg(feature = "seal")]
use mongodb::options::{ReadConcern, ReadPreference, SelectionCriteria};
use mongodb::{
    Collection,
    bson::{Document, RawDocumentBuf},
    options::{FindOptions, Hint},
};

#[cfg(feature = "seal")]
use tokio::time::Instant;

#[cfg(feature = "seal")]
use crate::store::Store;
use crate::{
    Error, Result,
    collection::simple_collation,
    error::Context,
    read::{Find, ReadOptions, Rows},
};

/// Opens it on the primary, for a call that sends statements for what it finds: they have to match what the buckets themselves
/// have now. `until` is when the call ends.
#[cfg(feature = "seal")]
pub(in crate::action) async fn open_to_change<'a>(
    store: &Store,
    plan: ScanPlan,
    together: Option<u32>,
    until: Option<Instant>,
    context: &Context,
) -> Result<Rows<'a>> {
    let mut options = ReadOptions::default();
    let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
    options.terms.criteria = Some(primary);
    options.terms.concern = Some(ReadConcern::local());
    options.terms.deadline = until.map(|until| until - Instant::now());
    let collection = store.readable_anytime(&mut options, context).await?;
    options.terms.archived = None;
    open(&collection, plan, together, options, context).await
}

/// Opens it. `together` is how many documents a batch has, if the server should not choose.
pub(in crate::action) async fn open<'a>(
    collection: &Collection<RawDocumentBuf>,
    plan: ScanPlan,
    together: Option<u32>,
    options: ReadOptions<'a>,
    context: &Context,
) -> Result<Rows<'a>> {
    let mut find = FindOptions::default();
    find.sort = Some(plan.sort);
    find.hint = Some(Hint::Name(plan.hint));
    find.min = plan.min;
    find.max = plan.max;
    find.collation = Some(simple_collation());
    // A key field that is an array makes the server sort.
    find.allow_disk_use = Some(true);
    find.batch_size = together;
    find.projection = (!plan.projection.is_empty()).then_some(plan.projection);
    let failed = |fault| Error::read(fault, context);
    let filter = Document::try_from(plan.filter);
    let filter = filter.map_err(|error| failed(mongodb::error::Error::from(error).into()))?;
    let rows = Rows::found(collection, vec![Find::new(filter, find)], options).await;
    rows.map_err(failed)
}
