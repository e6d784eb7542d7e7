//! The items of archived buckets, which a read puts into the rows that refer to them.
//!
//! A row is what its collection says at one moment; where it refers to the archive, the copy has the items of that moment,
//! because a copy never changes. So these reads are outside of the call's session. A copy that is not there is looked for
//! again on the primary, and then in the collection itself: the bucket may have come back since the row was read.

use std::{collections::VecDeque, mem};

use bucket_core::{
    BucketSpec,
    archive::{InRow, Wanted},
};
use mongodb::{
    Collection,
    bson::{Document, RawDocument, RawDocumentBuf, doc},
    options::{FindOptions, ReadConcern, ReadPreference, SelectionCriteria},
};

use super::{archived::Archived, opened::opened, place::Place, terms::Terms};
use crate::{collection::simple_collation, error::ReadFault};

/// How many rows are read at first before what they refer to is fetched together, and at most.
const FIRST: usize = 16;
const MOST: usize = 256;
/// The most bytes of rows and of their items that are fetched together.
const MOST_BYTES: usize = 8 * 1024 * 1024;

/// Why a read is overtaken, and what to do.
const CHANGED: &str = "an archived bucket was restored and changed while it was read: read again, in a snapshot or a \
                       transaction that begins later";
const REMOVED: &str = "an archived bucket was removed after the snapshot or the transaction had begun, and its items with \
                       it: read again in a new one";

/// How many moves of a bucket a read follows.
const MOVES: u32 = 8;

/// Finds what is wanted.
async fn find(archived: &Archived, wanted: &mut Wanted, terms: &Terms) -> Result<(), ReadFault> {
    let spec = archived.spec;
    let mut look = Look {
        spec,
        terms,
        // Files do not lag.
        on_primary: archived.copies.collection().is_none(),
    };
    for _ in 0..MOVES {
        loop {
            look.copies(&archived.copies, wanted).await?;
            if !wanted.lacks_any() {
                return Ok(());
            }
            if look.on_primary {
                break;
            }
            look.on_primary = true;
        }
        let filter = wanted.buckets();
        let take = |bucket: &RawDocument| wanted.take_bucket(bucket);
        look.each(&archived.buckets, filter, take).await?;
        if !wanted.has_moved() {
            break;
        }
    }
    Ok(())
}

/// A look for documents by their ids.
struct Look<'a> {
    spec: &'static BucketSpec,
    terms: &'a Terms,
    /// With its own settings a collection may be read on a member that lags.
    on_primary: bool,
}

impl Look<'_> {
    /// Takes the copies that are there.
    async fn copies(&self, place: &Place, wanted: &mut Wanted) -> Result<(), ReadFault> {
        match place {
            Place::Collection(collection) => {
                let filter = wanted.copies();
                let take = |copy: &RawDocument| wanted.take_copy(copy);
                self.each(collection, filter, take).await
            }
            #[cfg(feature = "object-store")]
            Place::Files(files) => {
                self.terms.is_in_time()?;
                let copies = self.terms.wait(files.copies(wanted.copy_ids())).await??;
                for copy in copies {
                    wanted.take_copy(&copy);
                }
                Ok(())
            }
        }
    }

    async fn each(
        &self,
        collection: &Collection<RawDocumentBuf>,
        filter: RawDocumentBuf,
        mut take: impl FnMut(&RawDocument),
    ) -> Result<(), ReadFault> {
        let Self {
            spec,
            terms,
            on_primary,
        } = *self;
        terms.is_in_time()?;
        let mut options = FindOptions::default();
        terms.set_time_for_find(&mut options);
        options.projection = Some(doc! { spec.items(): 1 });
        options.collation = Some(simple_collation());
        if on_primary {
            options.selection_criteria =
                Some(SelectionCriteria::ReadPreference(ReadPreference::Primary));
            options.read_concern = Some(ReadConcern::local());
        }
        let filter = Document::try_from(filter).map_err(mongodb::error::Error::from)?;
        let collection = collection.clone();
        let opening = opened(async move { collection.find(filter).with_options(options).await });
        let mut found = terms.within(opening).await?;
        while terms.within(found.advance()).await? {
            take(found.current());
        }
        Ok(())
    }
}

/// The rows of a read, as its collection has them.
pub(crate) trait Stored: Send {
    /// The next one.
    fn next_row(
        &mut self,
    ) -> impl Future<Output = Result<Option<RawDocumentBuf>, ReadFault>> + Send;

    /// Whether all reads of the session see one moment. Then a bucket that was removed since has its records still.
    fn is_at_moment(&mut self) -> impl Future<Output = bool> + Send;
}

/// Rows with their items, of which some were read ahead: what they refer to is fetched together.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    rows: InRow,
    ready: VecDeque<RawDocumentBuf>,
    /// Read, but not complete. Kept here, so that a wait that is given up loses no row.
    gathered: Vec<RawDocumentBuf>,
    /// Their size.
    bytes: usize,
    /// `None` before the first row.
    wanted: Option<Wanted>,
    together: usize,
}

impl Ahead {
    /// Of these rows.
    pub(crate) fn of(rows: InRow) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// The next of these rows.
    pub(crate) async fn next(
        &mut self,
        archived: &Archived,
        terms: &Terms,
        rows: &mut impl Stored,
    ) -> Result<Option<RawDocumentBuf>, ReadFault> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Ok(Some(row));
            }
            let most = self.together.max(FIRST);
            let new = || Wanted::of(archived.spec, self.rows);
            let wanted = self.wanted.get_or_insert_with(new);
            while self.gathered.len() < most && wanted.bytes() + self.bytes < MOST_BYTES {
                let Some(row) = rows.next_row().await? else {
                    break;
                };
                wanted.add(&row);
                self.bytes += row.as_bytes().len();
                self.gathered.push(row);
                if wanted.is_empty() {
                    break;
                }
            }
            if self.gathered.is_empty() {
                return Ok(None);
            }
            if wanted.is_empty() {
                self.bytes = 0;
                self.ready.extend(self.gathered.drain(..));
                continue;
            }
            find(archived, wanted, terms).await?;
            if wanted.has_changed() {
                return Err(ReadFault::Overtaken(CHANGED));
            }
            if wanted.has_gone() && rows.is_at_moment().await {
                return Err(ReadFault::Overtaken(REMOVED));
            }
            self.bytes = 0;
            let wanted = mem::replace(wanted, Wanted::of(archived.spec, self.rows));
            let complete = self.gathered.drain(..);
            self.ready
                .extend(complete.filter_map(|row| wanted.fill(&row)));
            self.together = most.saturating_mul(4).min(MOST);
        }
    }
}
