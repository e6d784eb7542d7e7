//! The cursor of a call that reads many buckets in the order of their index.

use bucket_core::check::ScanPlan;
use mongodb::{
    Collection,
    bson::{Document, RawDocumentBuf},
    options::{FindOptions, Hint},
};

use crate::{
    Error, Result,
    collection::simple_collation,
    error::Context,
    read::{Find, ReadOptions, Rows},
};

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
