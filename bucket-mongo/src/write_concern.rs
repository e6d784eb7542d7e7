//! What a write waits for: the library's own choice, and the caller's as a command has it.

use bson::RawDocumentBuf;
use mongodb::options::{Acknowledgment, WriteConcern};

use crate::error::{Context, Error, ErrorKind};

/// Stored on the disks of a majority: what no single fault takes back.
pub(crate) fn durable() -> WriteConcern {
    let mut concern = WriteConcern::majority();
    concern.journal = Some(true);
    concern
}

/// A write concern as a command has it.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if it gives no replies to go by.
pub(crate) fn raw_write_concern(
    concern: Option<&WriteConcern>,
    context: &Context,
) -> Result<Option<RawDocumentBuf>, Error> {
    let refused = |message| Error::new(ErrorKind::InvalidArgument { message }, context);
    match concern {
        None => Ok(None),
        // Without replies nothing is known of any record.
        Some(concern) if concern.w == Some(Acknowledgment::Nodes(0)) => Err(refused(
            "the write concern `w: 0` gives no replies: use `w: 1` or more".to_owned(),
        )),
        Some(concern) => match bson::serialize_to_raw_document_buf(concern) {
            Ok(concern) => Ok(Some(concern)),
            Err(source) => Err(refused(format!(
                "the write concern cannot be encoded: {source}"
            ))),
        },
    }
}
