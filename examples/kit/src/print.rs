//! Prints documents like the manual and the tutorial, in the form of `mongosh`.

mod fitted;

use std::fmt::Write as _;

use bucket_mongo::bson::{Bson, Document};

pub use self::fitted::{fitted, line};
use crate::text;

/// The blanks before a line of this depth.
fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// A list of documents, as the shell prints the result of a query.
#[must_use]
pub fn documents(documents: &[Document]) -> String {
    let list = documents.iter().cloned().map(Bson::Document).collect();
    value(&Bson::Array(list), 0, usize::MAX)
}

/// A document in a list at this depth.
#[must_use]
pub fn document(document: &Document, depth: usize) -> String {
    fields(document, depth, usize::MAX)
}

/// A document with at most this number of items of each of its arrays, and the number of items left
/// out.
#[must_use]
pub fn shortened(document: &Document, items: usize) -> String {
    fields(document, 0, items)
}

fn fields(document: &Document, depth: usize, items: usize) -> String {
    let fields = document
        .iter()
        .map(|(name, field)| format!("{}: {}", key(name), value(field, depth + 1, items)));
    block('{', fields, 0, '}', depth)
}

fn value(value: &Bson, depth: usize, items: usize) -> String {
    match value {
        Bson::Document(nested) => fields(nested, depth, items),
        Bson::Array(array) => {
            let shown = array.iter().take(items);
            let shown = shown.map(|item| self::value(item, depth + 1, items));
            block('[', shown, array.len().saturating_sub(items), ']', depth)
        }
        Bson::String(text) => quoted(text),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        Bson::Double(number) if number.is_infinite() => if *number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned(),
        Bson::Double(number) => number.to_string(),
        Bson::DateTime(date) => format!("ISODate(\"{}\")", text::date(*date)),
        Bson::ObjectId(id) => format!("ObjectId('{id}')"),
        other => other.to_string(),
    }
}

/// Entries between brackets, each on its own lines, and the number of those left out.
fn block(
    open: char,
    entries: impl Iterator<Item = String>,
    left_out: usize,
    close: char,
    depth: usize,
) -> String {
    let entries: Vec<String> = entries.collect();
    if entries.is_empty() {
        return format!("{open}{close}");
    }
    let inner = indent(depth + 1);
    let mut lines = entries.join(&format!(",\n{inner}"));
    if left_out > 0 {
        // Writing to a string cannot fail.
        let _ = write!(lines, "\n{inner}// ... {left_out} more");
    }
    format!("{open}\n{inner}{lines}\n{}{close}", indent(depth))
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
    for character in text.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            // Writing to a string cannot fail.
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::{DateTime, doc, oid::ObjectId};

    use super::*;

    #[test]
    fn a_document_prints_as_in_the_manual() {
        let date = DateTime::from_millis(1_698_750_962_120);
        let item = doc! { "type": "buy", "ticker": "GOOG", "qty": 50, "date": date };
        let stored = doc! {
            "_id": "456_1698750962", "customerId": 456_i64, "count": 1, "history": [item],
        };
        let expected = "\
[
  {
    _id: '456_1698750962',
    customerId: 456,
    count: 1,
    history: [
      {
        type: 'buy',
        ticker: 'GOOG',
        qty: 50,
        date: ISODate(\"2023-10-31T11:16:02.120Z\")
      }
    ]
  }
]";
        assert_eq!(documents(&[stored]), expected);
    }

    #[test]
    fn long_arrays_are_cut_on_request() {
        let bucket = doc! { "count": 3, "items": [{ "a": 1 }, { "a": 2 }, { "a": 3 }] };
        let expected =
            "{\n  count: 3,\n  items: [\n    {\n      a: 1\n    }\n    // ... 2 more\n  ]\n}";
        assert_eq!(shortened(&bucket, 1), expected);
        assert_eq!(shortened(&bucket, 3), document(&bucket, 0));
    }

    #[test]
    fn numbers_print_as_numbers() {
        let numbers = doc! { "a": 2.55, "b": 3.0, "c": f64::NAN, "d": f64::NEG_INFINITY };
        let expected = "{\n  a: 2.55,\n  b: 3,\n  c: NaN,\n  d: -Infinity\n}";
        assert_eq!(document(&numbers, 0), expected);
    }

    #[test]
    fn text_cannot_leave_its_quotes() {
        assert_eq!(quoted("it's\n\u{1b}[31m \\"), "'it\\'s\\n\\u001b[31m \\\\'");
        assert_eq!(key("a-b"), "'a-b'");
        assert_eq!(key("1a"), "'1a'");
    }

    #[test]
    fn empty_and_rare_values_have_a_form() {
        let id = ObjectId::from_bytes([0; 12]);
        let rare = doc! { "list": [], "none": null, "id": id, "yes": true, "sub": {} };
        let expected = "{\n  list: [],\n  none: null,\n  id: ObjectId('000000000000000000000000'),\
            \n  yes: true,\n  sub: {}\n}";
        assert_eq!(document(&rare, 0), expected);
    }
}
