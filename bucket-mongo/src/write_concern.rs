//! Write concerns: the library's default, and the caller's in the form of a command.

use bson::RawDocumentBuf;
use mongodb::options::{Acknowledgment, WriteConcern};

use crate::error::{Context, Error, ErrorKind};

/// Stored on the disks of a majority, so that no single fault loses it.
pub(crate) fn durable() -> WriteConcern {
    let mut concern = WriteConcern::majority();
    concern.journal = Some(true);
    concern
}

/// A write concern in the form of a command.
///
/// # Errors
///
/// [`ErrorKind::InvalidArgument`] if it gives no replies.
pub(crate) fn raw_write_concern(
    concern: Option<&WriteConcern>,
    context: &Context,
) -> Result<Option<RawDocumentBuf>, Error> {
    let refused = |message| Error::new(ErrorKind::InvalidArgument { message }, context);
    match concern {
        None => Ok(None),
        // Without replies the outcome of every record is unknown.
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
