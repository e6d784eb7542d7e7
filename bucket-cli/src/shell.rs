//! Documents as the shell prints them.

use std::fmt::Write as _;

use bucket_mongo::bson::{Bson, Document};

use crate::{json, text};

/// A document on several lines.
pub(crate) fn document(document: &Document, depth: usize) -> String {
    let fields = document
        .iter()
        .map(|(name, field)| format!("{}: {}", key(name), nested(field, depth + 1)));
    block('{', &fields.collect::<Vec<_>>(), '}', depth)
}

fn nested(value: &Bson, depth: usize) -> String {
    match value {
        Bson::Document(inner) => document(inner, depth),
        Bson::Array(items) => {
            let items = items.iter().map(|item| nested(item, depth + 1));
            block('[', &items.collect::<Vec<_>>(), ']', depth)
        }
        value => line(value),
    }
}

/// A value on one line, with quotes around text.
pub(crate) fn line(value: &Bson) -> String {
    match value {
        Bson::Document(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, field)| format!("{}: {}", key(name), line(field)));
            enclosed('{', &fields.collect::<Vec<_>>(), '}')
        }
        Bson::Array(items) => {
            let items: Vec<String> = items.iter().map(line).collect();
            enclosed('[', &items, ']')
        }
        Bson::String(text) => quoted(text),
        Bson::Double(number) if number.is_infinite() && *number > 0.0 => "Infinity".to_owned(),
        Bson::Double(number) if number.is_infinite() => "-Infinity".to_owned(),
        Bson::DateTime(date) => format!("ISODate(\"{}\")", text::date(*date)),
        Bson::ObjectId(id) => format!("ObjectId('{id}')"),
        Bson::Binary(binary) => match json::uuid(binary) {
            Some(uuid) => format!("UUID('{uuid}')"),
            None => format!("Binary({} bytes)", binary.bytes.len()),
        },
        Bson::Decimal128(number) => format!("Decimal128('{number}')"),
        other => text::printable(&other.to_string()),
    }
}

/// A value in a cell of a table: as on one line, but text, dates and ids are bare.
pub(crate) fn cell(value: &Bson) -> String {
    match value {
        Bson::String(text) => text.clone(),
        Bson::DateTime(date) => text::short_date(*date),
        Bson::ObjectId(id) => id.to_string(),
        Bson::Null => String::new(),
        Bson::Binary(binary) => {
            json::uuid(binary).map_or_else(|| line(value), |uuid| uuid.to_string())
        }
        Bson::Decimal128(number) => number.to_string(),
        other => line(other),
    }
}

fn enclosed(open: char, entries: &[String], close: char) -> String {
    if entries.is_empty() {
        return format!("{open}{close}");
    }
    format!("{open} {} {close}", entries.join(", "))
}

fn block(open: char, entries: &[String], close: char, depth: usize) -> String {
    if entries.is_empty() {
        return format!("{open}{close}");
    }
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    let lines = entries.join(&format!(",\n{inner}"));
    format!("{open}\n{inner}{lines}\n{outer}{close}")
}

/// A field name, in quotes only where the shell's language needs them.
fn key(name: &str) -> String {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_' || c == '$';
    let is_plain =
        name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit());
    if is_plain {
        name.to_owned()
    } else {
        quoted(name)
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            // Writing to a string cannot fail.
            c if text::is_unsafe(c) => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::{DateTime, doc};

    use super::*;

    #[test]
    fn a_document_prints_as_in_the_shell() {
        let stored = doc! {
            "_id": "a_1", "count": 1, "items": [{ "at": DateTime::from_millis(0), "it's": 2.5 }],
        };
        let expected = "{\n  _id: 'a_1',\n  count: 1,\n  items: [\n    {\n      \
            at: ISODate(\"1970-01-01T00:00:00.000Z\"),\n      'it\\'s': 2.5\n    }\n  ]\n}";
        assert_eq!(document(&stored, 0), expected);
    }
}
