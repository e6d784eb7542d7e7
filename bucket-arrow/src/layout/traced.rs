//! The samples of a record: those of its item, each with the same key.

use bucket_mongo::{KeyValue, Record, RecordKey, bson::oid::ObjectId};

use crate::{
    shape::{Place, observe},
    trace::{self, Untraceable},
};

/// What the samples are that a type makes of itself.
pub(super) fn traced<T: Record>() -> Result<Place, Untraceable> {
    let Some(key) = sample_key::<T>() else {
        return Err(Untraceable {
            path: String::new(),
            message: "its key takes no sample".to_owned(),
        });
    };
    let mut place: Option<Place> = None;
    trace::samples::<T::Item>(|item| {
        let record = T::assemble(key.clone(), item);
        let shown = observe(&record, true).map_err(|error| Untraceable {
            path: String::new(),
            message: error.0,
        })?;
        place = Some(match place.take() {
            None => shown,
            Some(before) => before.join(shown),
        });
        Ok(())
    })?;
    place.ok_or_else(|| Untraceable {
        path: String::new(),
        message: "it has no value".to_owned(),
    })
}

/// A key of some values: those of each type in turn.
fn sample_key<T: Record>() -> Option<T::Key> {
    let offers = [
        KeyValue::Int64(1),
        KeyValue::Int32(1),
        KeyValue::String("a"),
        KeyValue::ObjectId(ObjectId::from_bytes([1; 12])),
        KeyValue::Uuid([1; 16]),
        KeyValue::Bool(true),
        KeyValue::Text("1"),
        KeyValue::Text("a"),
    ];
    let number = T::SPEC.keys().len();
    let tries = offers.len().checked_pow(u32::try_from(number).ok()?)?;
    (0..tries).find_map(|mut at| {
        let mut parts = Vec::with_capacity(number);
        for _ in 0..number {
            parts.push(offers[at % offers.len()]);
            at /= offers.len();
        }
        T::Key::from_parts(&parts).ok()
    })
}
