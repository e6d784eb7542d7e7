//! Where a stream ends.

use futures_core::{Stream, stream::BoxStream};
use futures_util::{StreamExt, stream};

use crate::{Error, ErrorKind, Result};

/// The same stream, which ends at the first error that is no damage. A damaged bucket hides no other; after any
/// other error, what is under way is not needed any more.
pub(crate) fn until_failed<'a, R: Send + 'a>(
    stream: impl Stream<Item = Result<R>> + Send + 'a,
) -> BoxStream<'a, Result<R>> {
    let next = async |stream: Option<BoxStream<'a, _>>| {
        let mut stream = stream?;
        let next: Result<R> = stream.next().await?;
        let ends = next.as_ref().is_err_and(|error| !is_damage(error));
        Some((next, (!ends).then_some(stream)))
    };
    stream::unfold(Some(stream.boxed()), next).fuse().boxed()
}

fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Damaged(_))
}
