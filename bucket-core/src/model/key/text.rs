//! A key in messages: its fields by their stored names, as in a shell filter.

use std::fmt::Write as _;

use bson::RawDocument;

use super::{KeySink, KeyValue, RecordKey};
use crate::{
    model::spec::{BucketSpec, KeyField},
    text::Quoted,
};

impl BucketSpec {
    /// A key of the model as text, for messages: `{ customerId: 1 }`.
    ///
    /// The text is one line for any key, and long texts are cut.
    ///
    /// ```
    /// use bucket_core::Record;
    ///
    /// fn said_of<T: Record>(record: &T) -> String {
    ///     format!("a record of {}", T::SPEC.key_text(&record.key()))
    /// }
    /// ```
    #[must_use]
    pub fn key_text(&self, key: &impl RecordKey) -> String {
        let mut sink = KeyText {
            fields: self.keys(),
            text: String::new(),
        };
        key.visit(&mut sink);
        in_braces(&sink.text)
    }
}

/// The same text for a key in its stored form. Values that no key can have are left out.
pub(crate) fn stored_key_text(key: &RawDocument) -> String {
    let mut text = String::new();
    for (name, value) in key.iter().filter_map(Result::ok) {
        if let Some(value) = KeyValue::from_raw(value) {
            push_part(&mut text, name.as_str(), value);
        }
    }
    in_braces(&text)
}

fn in_braces(fields: &str) -> String {
    match fields {
        "" => "{}".to_owned(),
        fields => format!("{{ {fields} }}"),
    }
}

/// Writes the parts of a key, each after the name of its field.
struct KeyText {
    /// The fields of the remaining parts.
    fields: &'static [KeyField],
    text: String,
}

impl KeySink for KeyText {
    fn part(&mut self, value: KeyValue<'_>) {
        let Some((field, others)) = self.fields.split_first() else {
            return;
        };
        self.fields = others;
        push_part(&mut self.text, field.path, value);
    }
}

fn push_part(text: &mut String, name: &str, value: KeyValue<'_>) {
    let comma = if text.is_empty() { "" } else { ", " };
    // Writing to a string cannot fail.
    let _ = match value {
        KeyValue::Bool(value) => write!(text, "{comma}{name}: {value}"),
        KeyValue::Int32(value) => write!(text, "{comma}{name}: {value}"),
        KeyValue::Int64(value) => write!(text, "{comma}{name}: {value}"),
        KeyValue::String(value) | KeyValue::Text(value) => {
            write!(text, "{comma}{name}: {}", Quoted(value))
        }
        KeyValue::ObjectId(id) => write!(text, "{comma}{name}: ObjectId(\"{id}\")"),
        KeyValue::Uuid(bytes) => {
            let id = bson::Uuid::from_bytes(bytes);
            write!(text, "{comma}{name}: UUID(\"{id}\")")
        }
    };
}
