//! What a watch asks the server.

use bucket_core::{
    Record,
    watch::{Follow, Head, HeadLookup, Position, Start},
};
use mongodb::{
    bson::{self, Bson, DateTime, Document, RawDocumentBuf, doc},
    change_stream::{ChangeStream, event::ResumeToken},
    error::Error as DriverError,
    options::{ChangeStreamOptions, ReadConcern},
};

use crate::{
    Buckets, Error, ErrorKind, Result,
    error::{Context, ReadFault},
    read::opened,
};

/// The server has removed the place from its oplog.
const HISTORY_LOST: [i32; 2] = [286, 280];

/// An open cursor has lost its place in the oplog. Whether the place after the last event is lost too, the server says
/// when the change stream is opened there.
const CURSOR_LOST: i32 = 136;

/// The server does not remember the state of that time.
const SNAPSHOT_LOST: [i32; 2] = [239, 246];

/// The label of errors after which a change stream goes on.
const RESUMABLE: &str = "ResumableChangeStreamError";

/// What a watch asks the server.
pub(super) struct Server<T: Record> {
    pub(super) buckets: Buckets<T>,
    pub(super) context: Context,
}

impl<T: Record> Server<T> {
    /// Opens the change stream at the place.
    pub(super) async fn opened(&self, follow: &Follow<T>) -> Result<ChangeStream<RawDocumentBuf>> {
        let collection = self.buckets.store().collection::<Document>();
        let mut options = ChangeStreamOptions::default();
        options.read_concern = Some(ReadConcern::majority());
        match follow.position().start() {
            Start::At(time) => options.start_at_operation_time = Some(*time),
            Start::After(token) => match token_of(token) {
                Some(token) => options.start_after = Some(token),
                None => return Err(self.invalid("the token holds no place of the server")),
            },
            _ => return Err(self.invalid("the token has another version")),
        }
        let pipeline = follow.pipeline();
        // If the call is dropped meanwhile, the stream is closed once the server has opened it.
        let opening = async move {
            let watch = collection.watch().pipeline(pipeline);
            watch.with_options(options).await
        };
        let stream = opened(opening).await;
        let stream = stream.map_err(|error| self.fault(error, follow.position()))?;
        Ok(stream.with_type())
    }

    /// The head of a bucket.
    pub(super) async fn head(&self, lookup: &HeadLookup, at: &Position) -> Result<Head> {
        match self.found(lookup.before(T::SPEC), at).await {
            Ok(Some(head)) => return Ok(Head::Before(head)),
            Err(error) if may_go_on(&error) && !forgets(&error) => return Err(error),
            Ok(None) | Err(_) => {}
        }
        let now = self.found(lookup.now(T::SPEC), at).await?;
        Ok(now.map_or(Head::Nothing, Head::Now))
    }

    async fn found(&self, command: Document, at: &Position) -> Result<Option<RawDocumentBuf>> {
        let database = self.buckets.database();
        let reply = database.run_command(command).await;
        let reply = reply.map_err(|error| self.fault(error, at))?;
        let first = reply
            .get_document("cursor")
            .and_then(|cursor| cursor.get_array("firstBatch"));
        let first = first.ok().and_then(|batch| batch.first());
        let first = first.and_then(Bson::as_document);
        Ok(first.and_then(|first| RawDocumentBuf::try_from(first).ok()))
    }

    /// An error of the driver.
    pub(super) fn fault(&self, driver: DriverError, at: &Position) -> Error {
        let error = Error::read(ReadFault::Driver(driver.clone()), &self.context);
        match error.code() {
            Some(code) if HISTORY_LOST.contains(&code) => {
                self.lost("its oplog does not reach back so far", Some(driver), at)
            }
            _ => error,
        }
    }

    /// An error of a read of what is stored.
    pub(super) fn read_fault(&self, driver: DriverError, at: &Position) -> Error {
        let error = self.fault(driver, at);
        self.without_history(error, at)
    }

    /// The same error, or that the server remembers the state of the read no more.
    pub(super) fn without_history(&self, error: Error, at: &Position) -> Error {
        if forgets(&error) {
            let message =
                "the stored records took longer to read than the server remembers a state";
            return self.lost(message, error.driver().cloned(), at);
        }
        error
    }

    /// The watch cannot go on from this place.
    pub(super) fn lost(&self, message: &str, driver: Option<DriverError>, at: &Position) -> Error {
        let since = DateTime::from_millis(at.millis());
        let message = message.to_owned();
        Error::with_driver(
            ErrorKind::HistoryLost { since, message },
            &self.context,
            driver,
        )
    }

    fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}

/// Whether the change stream can be opened again after it.
pub(super) fn may_go_on(error: &Error) -> bool {
    let is_lost = matches!(error.kind(), ErrorKind::HistoryLost { .. });
    let is_resumable = error.contains_label(RESUMABLE) || error.code() == Some(CURSOR_LOST);
    !is_lost && (error.is_retryable() || is_resumable)
}

fn forgets(error: &Error) -> bool {
    error
        .code()
        .is_some_and(|code| SNAPSHOT_LOST.contains(&code))
}

fn token_of(token: &RawDocumentBuf) -> Option<ResumeToken> {
    let token = Document::try_from(&**token).ok()?;
    bson::deserialize_from_document(doc! { "token": token })
        .ok()
        .map(|Holder { token }| token)
}

/// The driver's token as the server wrote it.
pub(super) fn raw_token(token: &ResumeToken) -> Option<RawDocumentBuf> {
    bson::serialize_to_raw_document_buf(token).ok()
}

/// The driver reads a token only as a value.
#[derive(serde::Deserialize)]
struct Holder {
    token: ResumeToken,
}
