//! Work that ends at a safe point: key by key.

use bucket_mongo::Bucketed;
use futures_util::StreamExt as _;

use crate::{at::At, error::Error, signal::Signal};

/// How a walk over the keys ended.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// The number of keys whose piece is done.
    pub(crate) keys: u64,
    /// The number of keys that cannot be read.
    pub(crate) unreadable: u64,
    /// The signal that ended it before the last key.
    pub(crate) signal: Option<Signal>,
}

/// Does a piece of work for this key, or for every key. A signal ends the walk after the piece of the current one.
pub(crate) async fn of_keys<T: Bucketed>(
    at: &mut At<'_, T>,
    key: Option<T::Key>,
    mut piece: impl AsyncFnMut(&bucket_mongo::Buckets<T>, T::Key) -> Result<(), Error>,
) -> Result<Walked, Error> {
    let mut walked = Walked::default();
    let buckets = at.buckets.clone();
    if let Some(key) = key {
        piece(&buckets, key).await?;
        walked.keys = 1;
        return Ok(walked);
    }
    let mut keys = buckets.keys().stream();
    loop {
        let found = tokio::select! {
            biased;
            signal = at.signals.first() => {
                walked.signal = Some(signal);
                return Ok(walked);
            }
            found = keys.next() => found,
        };
        match found {
            None => return Ok(walked),
            Some(Ok(key)) => {
                piece(&buckets, key).await?;
                walked.keys += 1;
            }
            Some(Err(error)) if error.is_damaged() => walked.unreadable += 1,
            Some(Err(error)) => return Err(error.into()),
        }
    }
}
