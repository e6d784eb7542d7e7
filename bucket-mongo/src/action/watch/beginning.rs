//! Where a watch starts.

use bucket_core::WatchToken;
use mongodb::bson::DateTime;

/// Where a watch starts.
#[derive(Debug, Clone)]
pub(super) enum Beginning {
    /// With what is written from now on.
    Now,
    /// After the event with this token.
    After(WatchToken),
    /// With the changes of this second of the server.
    Since(DateTime),
    /// With the stored records from this time on.
    Stored(DateTime),
}
