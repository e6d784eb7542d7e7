//! Writing ids.

use super::{Place, ordinal, template::separator_behind};
use crate::{
    model::{
        key::{KeySink, KeyValue, RecordKey},
        spec::{BucketSpec, IdSegment, TimeUnit},
    },
    text::percent,
};

/// Between the time and the sequence; no time text contains it.
pub(super) const SEQUENCE: char = '_';

/// The part of an id before its time. No two keys have the same.
pub(crate) fn prefix<K: RecordKey>(spec: &BucketSpec, key: &K) -> String {
    let parts = key_parts(key);
    let mut text = String::with_capacity(32);
    for segment in spec.id() {
        match segment {
            IdSegment::Literal(literal) => text.push_str(literal),
            IdSegment::Key(index) => {
                if let Some(part) = parts.get(*index) {
                    push_escaped(&mut text, part, separator_behind(spec, *index));
                }
            }
            IdSegment::Time(_) | IdSegment::Number => {}
        }
    }
    text
}

/// Appends the time and, except for the first bucket of that time, the sequence.
pub(crate) fn push_place(text: &mut String, place: Place, unit: TimeUnit) {
    ordinal::push_signed(text, place.time, unit.digits());
    if place.sequence > 0 {
        text.push(SEQUENCE);
        ordinal::push_sequence(text, place.sequence);
    }
}

/// Collects the text of key parts.
struct TextSink<'a> {
    parts: &'a mut Vec<String>,
}

impl KeySink for TextSink<'_> {
    fn part(&mut self, value: KeyValue<'_>) {
        self.parts.push(key_text(value));
    }
}

fn key_parts<K: RecordKey>(key: &K) -> Vec<String> {
    let mut parts = Vec::with_capacity(1);
    key.visit(&mut TextSink { parts: &mut parts });
    parts
}

/// A key part as text, before escaping.
fn key_text(value: KeyValue<'_>) -> String {
    match value {
        KeyValue::Bool(value) => value.to_string(),
        KeyValue::Int32(value) => value.to_string(),
        KeyValue::Int64(value) => value.to_string(),
        KeyValue::String(value) | KeyValue::Text(value) => value.to_owned(),
        KeyValue::ObjectId(value) => value.to_hex(),
        KeyValue::Uuid(value) => bson::Uuid::from_bytes(value).to_string(),
    }
}

fn push_escaped(text: &mut String, part: &str, separator: Option<char>) {
    for character in part.chars() {
        if character == '%' || character.is_ascii_control() || separator == Some(character) {
            // An ASCII character: separators are ASCII punctuation.
            percent::push_encoded(text, character);
        } else {
            text.push(character);
        }
    }
}
