//! One record as it is stored in an array, for edits and checks.

use bson::{DateTime, RawDocumentBuf};

use super::{Batch, item::append_item};
use crate::{
    bucket::record::Record,
    codec::encode::KnownNames,
    error::EncodeError,
    model::{
        aggregate::InputSink, key::KeyValue, limits::Limits, measure::Number, size::ELEMENT_BYTES,
    },
    stats::tally,
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

/// What a record adds to the stored size of its bucket, if its item with all its arrays takes `encoded` bytes:
/// what an insert adds, but for the counters, which are the same for each record.
pub(crate) fn counted_bytes<T: Record>(record: &T, encoded: usize) -> usize {
    let mut lengths = Tallied::default();
    record.visit_inputs(&mut lengths);
    encoded + lengths.bytes + ELEMENT_BYTES
}

/// The length of the tallied values of a record.
#[derive(Default)]
struct Tallied {
    text: String,
    bytes: usize,
}

impl InputSink for Tallied {
    fn number(&mut self, _: Option<Number>) {}

    fn flag(&mut self, _: bool) {}

    fn tally(&mut self, value: KeyValue<'_>) {
        self.text.clear();
        tally::push_name(&mut self.text, value);
        self.bytes += self.text.len();
    }
}
