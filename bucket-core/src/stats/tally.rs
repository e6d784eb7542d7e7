//! Tallied values as field names.
//!
//! The name of a value is its text: `200`, `true`, `buy`. If the text could not be a field name, or
//! if it would be read as a path or an operator, then `%`, `.`, `$` and control characters are
//! percent-encoded. The empty text is `%`.

use std::fmt::Write;

use crate::{model::key::KeyValue, text::percent};

/// The name of the counter of a value.
pub(crate) fn push_name(text: &mut String, value: KeyValue<'_>) {
    match value {
        KeyValue::Bool(value) => push(text, value),
        KeyValue::Int32(value) => push(text, value),
        KeyValue::Int64(value) => push(text, value),
        KeyValue::ObjectId(value) => push(text, value),
        KeyValue::Uuid(value) => push(text, bson::Uuid::from_bytes(value)),
        KeyValue::String("") | KeyValue::Text("") => text.push('%'),
        KeyValue::String(value) | KeyValue::Text(value) => {
            for character in value.chars() {
                if matches!(character, '%' | '.' | '$') || character.is_ascii_control() {
                    percent::push_encoded(text, character);
                } else {
                    text.push(character);
                }
            }
        }
    }
}

fn push(text: &mut String, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{value}");
}

/// The value's text from the name of its counter.
pub(crate) fn value_of(name: &str) -> Option<String> {
    if name == "%" {
        return Some(String::new());
    }
    percent::decode(name)
}

#[cfg(test)]
mod tests {
    use super::{push_name, value_of};
    use crate::model::key::KeyValue;

    #[test]
    fn every_text_is_a_safe_name_and_reads_back() {
        for value in [
            "", "200", "a.b", "$inc", "100%", "%", "\0\n", "ü", "%41", ".",
        ] {
            let mut name = String::new();
            push_name(&mut name, KeyValue::String(value));
            assert!(
                !name.is_empty() && !name.contains(['.', '$', '\0']),
                "{name}"
            );
            assert_eq!(value_of(&name).as_deref(), Some(value));
        }
    }
}
