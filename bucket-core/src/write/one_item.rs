//! One record as it is stored in an array, for edits.

use bson::{DateTime, RawDocumentBuf};

use super::{Batch, item::append_item};
use crate::{
    bucket::record::Record, codec::encode::KnownNames, error::EncodeError, model::limits::Limits,
};

/// The item of a record, checked as for an insert.
pub(crate) fn one_item<T: Record>(
    record: &T,
    limits: Option<Limits>,
    now: DateTime,
) -> Result<RawDocumentBuf, EncodeError> {
    let mut batch = Batch::of::<T>();
    batch.set_now(now);
    batch.push_with(0, record, limits)?;
    let item = std::mem::take(&mut batch.encoded.items);
    RawDocumentBuf::from_bytes(item).map_err(|source| EncodeError::Serialize(source.into()))
}

/// The item of a record that is stored already, whatever a write would say of it.
pub(crate) fn unchecked_item<T: Record>(record: &T) -> Result<RawDocumentBuf, EncodeError> {
    let mut item = Vec::new();
    append_item(record, record.time(), &mut item, &mut KnownNames::default())?;
    RawDocumentBuf::from_bytes(item).map_err(|source| EncodeError::Serialize(source.into()))
}
