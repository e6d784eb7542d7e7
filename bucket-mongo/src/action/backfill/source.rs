//! The collection that is read, chunk by chunk.

use std::time::Duration;

use bucket_core::{
    Record,
    backfill::{Chunk, Find, Gathering, Job, Order, Position, rejects_name},
    write::{
        Listing,
        codes::{INTERRUPTED, NAMESPACE_NOT_FOUND},
    },
};
use mongodb::{
    Collection, Cursor, Database,
    bson::{Bson, Document, RawDocument, RawDocumentBuf, doc},
    options::{FindOptions, Hint, ReadPreference, SelectionCriteria},
};
use tokio::time::{Instant, timeout};

use super::{
    asked::AskedOrder,
    tries::{patience, tried},
};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::edit::passes,
    collection::{list_indexes, simple_collation},
    error::{Context, ReadFault},
    writer::faults::code,
};

/// The collection that is read.
pub(in crate::action) struct Source<'c> {
    pub(super) documents: Collection<RawDocumentBuf>,
    /// What identifies it, if the server says it.
    pub(super) uuid: Option<Bson>,
    pub(super) indexes: Vec<Document>,
    /// How long a command is waited for, and how long it is tried.
    patience: Duration,
    context: &'c Context,
}

fn invalid(message: String, context: &Context) -> Error {
    Error::new(ErrorKind::InvalidArgument { message }, context)
}

/// A secondary may lack the last documents, and the job would be done without them.
const fn primary() -> SelectionCriteria {
    SelectionCriteria::ReadPreference(ReadPreference::Primary)
}

/// What the server lists of a collection.
async fn info(database: &Database, name: &str) -> mongodb::error::Result<Option<Document>> {
    let list = doc! { "listCollections": 1, "filter": { "name": name } };
    let reply = database.run_command(list).await?;
    Ok(match Listing::of_reply(&reply) {
        Listing::Found(found) => found.into_iter().next(),
        _ => None,
    })
}

/// What identifies a collection.
fn uuid_of(info: &Document) -> Option<Bson> {
    info.get_document("info").ok()?.get("uuid").cloned()
}

/// The `_id` of a document.
pub(in crate::action) fn id_of(document: &RawDocument) -> Bson {
    let id = document.get("_id").ok().flatten();
    id.and_then(|id| Bson::try_from(id).ok())
        .unwrap_or(Bson::Null)
}

impl<'c> Source<'c> {
    /// The collection, if there is one.
    pub(in crate::action) async fn find<T: Record>(
        documents: Collection<RawDocumentBuf>,
        buckets: &Buckets<T>,
        context: &'c Context,
    ) -> Result<Option<Self>> {
        let store = buckets.store();
        let patience = patience(store);
        let namespace = documents.namespace();
        let database = documents.client().database(&namespace.db);
        let until = Instant::now() + patience;
        let found = tried(until, context, || info(&database, &namespace.coll)).await?;
        let Some(found) = found else {
            return Ok(None);
        };
        let kind = found.get_str("type").unwrap_or("collection");
        if kind != "collection" {
            return Err(invalid(
                format!(
                    "`{namespace}` is no plain collection ({kind}), and has no index that it could be read by: copy its \
                     documents into a collection with `$out`, and give this call that one"
                ),
                context,
            ));
        }
        let uuid = uuid_of(&found);
        let target = tried(until, context, || {
            info(store.database(), T::SPEC.collection())
        });
        let target = target.await?.as_ref().and_then(uuid_of);
        if uuid.is_some() && target == uuid {
            let message = format!(
                "`{namespace}` is the collection of the buckets: give this call the one that has the documents"
            );
            return Err(invalid(message, context));
        }
        let rejects = rejects_name(T::SPEC.collection());
        let rejects = tried(until, context, || info(store.database(), &rejects));
        let rejects = rejects.await?.as_ref().and_then(uuid_of);
        if uuid.is_some() && rejects == uuid {
            let message = format!(
                "`{namespace}` has the rejects of these buckets, each with its document in `document`: copy the documents into a \
                 collection of their own with `$replaceWith` and `$out`, and give this call that one"
            );
            return Err(invalid(message, context));
        }
        let indexes = tried(until, context, || list_indexes(&database, &namespace.coll)).await;
        let indexes = match indexes {
            Err(error) if error.code() == Some(NAMESPACE_NOT_FOUND) => return Ok(None),
            indexes => indexes?,
        };
        Ok(Some(Self {
            documents,
            uuid,
            indexes,
            patience,
            context,
        }))
    }

    /// The order that a call asks for, or that its job has.
    pub(super) fn order<T: Record>(&self, asked: &AskedOrder, job: Option<&Job>) -> Result<Order> {
        let name = match (asked, job.map(Job::index)) {
            (AskedOrder::Index(name), _) => name.as_str(),
            (AskedOrder::Any, Some(Some(name))) => name,
            (AskedOrder::Id, _) | (AskedOrder::Any, Some(None)) => {
                return Ok(Order::by_id(T::SPEC));
            }
            (AskedOrder::Any, None) => return Ok(Order::best(T::SPEC, &self.indexes)),
        };
        let order = Order::by_index(T::SPEC, &self.indexes, name);
        order.map_err(|reason| {
            let message = format!(
                "the source cannot be read by its index `{name}`, which {reason}: create an index on the key fields and the \
                 time, or name another one"
            );
            invalid(message, self.context)
        })
    }

    /// Checks that the name has not got another collection, or none. The server does not say it: a read of a collection that
    /// is missing finds nothing.
    async fn is_the_same(&self) -> Result<()> {
        let namespace = self.documents.namespace();
        let database = self.documents.client().database(&namespace.db);
        let until = Instant::now() + self.patience;
        let found = tried(until, self.context, || info(&database, &namespace.coll)).await?;
        let what = match found {
            None => "is gone",
            Some(found) if self.uuid.is_some() && uuid_of(&found) != self.uuid => {
                "was replaced by another one"
            }
            Some(_) => return Ok(()),
        };
        let message = format!(
            "the collection `{namespace}` {what} while it was read: bring it back under its name, and call this again"
        );
        Err(invalid(message, self.context))
    }

    /// About how many documents it has.
    pub(in crate::action) async fn expected(&self) -> Result<u64> {
        let until = Instant::now() + self.patience;
        let count = || {
            let count = self.documents.estimated_document_count();
            count.selection_criteria(primary())
        };
        tried(until, self.context, count).await
    }

    async fn open(
        &self,
        find: Find,
        most: usize,
    ) -> mongodb::error::Result<Cursor<RawDocumentBuf>> {
        let mut options = FindOptions::default();
        // An index that is listed without a collation has none, also where the collection has one. That of `_id` has the
        // collection's.
        options.collation = find.hint.is_ok().then(simple_collation);
        options.hint = Some(match find.hint {
            Ok(name) => Hint::Name(name),
            Err(keys) => Hint::Keys(keys),
        });
        options.selection_criteria = Some(primary());
        options.min = find.min;
        options.max = find.max;
        options.sort = Some(find.sort);
        // One more shows where the chunk ends. What is mostly left out needs the largest replies.
        let most = most.saturating_add(1);
        options.batch_size = u32::try_from(most).ok().filter(|_| !find.is_sparse);
        self.documents.find(doc! {}).with_options(options).await
    }
}

/// Reads chunks one after the other, with one cursor as long as it lasts.
pub(in crate::action) struct Reader<'s, 'c> {
    source: &'s Source<'c>,
    order: &'s Order,
    cursor: Option<Cursor<RawDocumentBuf>>,
    /// The first document of the next chunk, which has shown where the one before it ends.
    first: Option<RawDocumentBuf>,
    /// A cursor was opened by the name of the source, or has come to its end, since the source was last looked for.
    is_doubtful: bool,
}

impl<'s, 'c> Reader<'s, 'c> {
    pub(in crate::action) fn new(source: &'s Source<'c>, order: &'s Order) -> Self {
        Self {
            source,
            order,
            cursor: None,
            first: None,
            is_doubtful: false,
        }
    }

    /// The chunk at a position, which is where the one before ends.
    pub(in crate::action) async fn chunk(&mut self, at: &Position, most: usize) -> Result<Chunk> {
        let context = self.source.context;
        let until = Instant::now() + self.source.patience;
        loop {
            let fault = match self.try_chunk(at, most).await {
                Ok(chunk) => {
                    if self.is_doubtful {
                        self.source.is_the_same().await?;
                        self.is_doubtful = false;
                    }
                    return Ok(chunk);
                }
                Err(fault) => fault,
            };
            // The next read begins anew at the position.
            self.cursor = None;
            self.first = None;
            let lost_its_cursor =
                matches!(&fault, ReadFault::Driver(error) if is_cursor_gone(error));
            let error = Error::read_by(self.order.index().unwrap_or("_id_"), fault, context);
            if matches!(error.kind(), ErrorKind::MissingIndex { .. }) {
                self.source.is_the_same().await?;
                return Err(self.without_index());
            }
            if !(lost_its_cursor && Instant::now() < until) {
                passes(error, until).await?;
            }
        }
    }

    async fn try_chunk(&mut self, at: &Position, most: usize) -> Result<Chunk, ReadFault> {
        let mut gathering = Gathering::new(self.order, at, most);
        let patience = self.source.patience;
        let late = |_| ReadFault::Late;
        if self.cursor.is_none() {
            let Some(find) = self.order.find(at) else {
                return Ok(gathering.end());
            };
            self.is_doubtful = true;
            let opened = timeout(patience, self.source.open(find, most)).await;
            self.cursor = Some(opened.map_err(late)??);
        }
        if let Some(first) = self.first.take() {
            gathering.take(first);
        }
        while let Some(cursor) = &mut self.cursor {
            if !timeout(patience, cursor.advance()).await.map_err(late)?? {
                self.cursor = None;
                self.is_doubtful = true;
                break;
            }
            let document = cursor.current().to_owned();
            if let Some((chunk, first)) = gathering.take(document) {
                self.first = Some(first);
                return Ok(chunk);
            }
        }
        Ok(gathering.end())
    }

    fn without_index(&self) -> Error {
        let index = self.order.index().unwrap_or("_id_");
        let message = format!(
            "the source has no index `{index}` any more, by which the job reads: create it again, and call this again"
        );
        invalid(message, self.source.context)
    }
}

/// Whether the server has forgotten a cursor: it was idle for long, others have ended its session, or the server has a new
/// primary.
fn is_cursor_gone(error: &mongodb::error::Error) -> bool {
    /// `CursorNotFound`, `CursorKilled`
    const GONE: [i32; 3] = [43, 237, INTERRUPTED];
    code(error).is_some_and(|code| GONE.contains(&code))
}
