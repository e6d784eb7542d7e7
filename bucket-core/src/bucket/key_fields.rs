//! Reads and writes the key fields of a stored bucket.

use bson::RawDocument;

use super::record::Record;
use crate::{
    codec::raw::RawWriter,
    error::{Damage, KeyError},
    model::{
        key::{KeySink, KeySource, KeyValue, RecordKey},
        spec::BucketSpec,
    },
};

/// The key fields of a stored bucket.
pub(crate) fn key_of<T: Record>(stored: &RawDocument) -> Result<T::Key, Damage> {
    let mut source = StoredKey {
        stored,
        spec: T::SPEC,
        next: 0,
    };
    T::Key::read(&mut source).map_err(|error| Damage::Key {
        message: error.to_string(),
    })
}

/// Reads key fields from the top level of a stored bucket.
pub(crate) struct StoredKey<'a> {
    pub(crate) stored: &'a RawDocument,
    pub(crate) spec: &'static BucketSpec,
    pub(crate) next: usize,
}

impl KeySource for StoredKey<'_> {
    fn part(&mut self) -> Result<KeyValue<'_>, KeyError> {
        let Some(key) = self.spec.keys().get(self.next) else {
            return Err(KeyError::new("the model has fewer key fields"));
        };
        self.next += 1;
        match self.stored.get(key.path) {
            Ok(Some(value)) => KeyValue::from_raw(value).ok_or_else(|| {
                KeyError::new(format!(
                    "its field `{}` has a type that no key can have",
                    key.path
                ))
            }),
            _ => Err(KeyError::new(format!(
                "its field `{}` is missing",
                key.path
            ))),
        }
    }
}

/// Writes key parts as top-level elements under the names of the model.
pub(crate) struct ElementSink<'a> {
    spec: &'static BucketSpec,
    writer: &'a mut RawWriter,
    next: usize,
}

impl<'a> ElementSink<'a> {
    pub(crate) fn new(spec: &'static BucketSpec, writer: &'a mut RawWriter) -> Self {
        Self {
            spec,
            writer,
            next: 0,
        }
    }
}

impl KeySink for ElementSink<'_> {
    fn part(&mut self, value: KeyValue<'_>) {
        if let Some(key) = self.spec.keys().get(self.next) {
            self.writer.key(key.path, value);
            self.next += 1;
        }
    }
}
