//! A stream over documents, decoded from the server's reply in place.

use futures_core::stream::BoxStream;
use futures_util::{StreamExt, TryFutureExt, stream};
use mongodb::bson::RawDocument;

use super::rows::Rows;
use crate::{Error, Result, error::ReadFault};

/// What `decode` makes of each document; `open` runs when the stream is first polled. What cannot be decoded is an
/// error in its place, and the stream goes on after it.
pub(crate) fn each<'a, R: Send + 'a>(
    open: impl Future<Output = Result<Rows<'a>>> + Send + 'a,
    decode: impl FnMut(&RawDocument) -> Result<R> + Send + 'a,
    failed: impl Fn(ReadFault) -> Error + Send + 'a,
) -> BoxStream<'a, Result<R>> {
    let opened = open.map_ok(move |rows| {
        let each = Each {
            rows: Some(rows),
            decode,
            failed,
        };
        stream::unfold(each, Each::next)
    });
    opened.try_flatten_stream().fuse().boxed()
}

struct Each<'a, D, F> {
    /// None after an error of the server or of the connection, which is the end.
    rows: Option<Rows<'a>>,
    decode: D,
    failed: F,
}

impl<R, D, F> Each<'_, D, F>
where
    D: FnMut(&RawDocument) -> Result<R>,
    F: Fn(ReadFault) -> Error,
{
    async fn next(mut self) -> Option<(Result<R>, Self)> {
        let rows = self.rows.as_mut()?;
        let decoded = match rows.next(&|_| 0).await {
            Ok(None) => return None,
            Ok(Some(stored)) => (self.decode)(stored),
            Err(fault) => {
                self.rows = None;
                Err((self.failed)(fault))
            }
        };
        Some((decoded, self))
    }
}
