//! BSON as JSON: MongoDB's relaxed extended JSON, and back for keys.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bucket_mongo::bson::{self, Binary, Bson, Document, Uuid, oid::ObjectId, spec::BinarySubtype};
use serde_json::{Map, Value, json};

use crate::text;

/// A document as an object.
pub(crate) fn object(document: &Document) -> Value {
    let fields = document.iter();
    let fields: Map<String, Value> = fields
        .map(|(name, field)| (name.clone(), value(field)))
        .collect();
    Value::Object(fields)
}

/// A value in its relaxed form: plain numbers, dates as RFC 3339.
pub(crate) fn value(bson: &Bson) -> Value {
    match bson {
        Bson::Document(document) => object(document),
        Bson::Array(items) => items.iter().map(value).collect(),
        Bson::String(text) => text.as_str().into(),
        Bson::Boolean(flag) => (*flag).into(),
        Bson::Null => Value::Null,
        Bson::Int32(number) => (*number).into(),
        Bson::Int64(number) => (*number).into(),
        Bson::Double(number) if number.is_finite() => (*number).into(),
        Bson::Double(number) => json!({ "$numberDouble": special(*number) }),
        Bson::DateTime(date) if text::has_form(*date) => json!({ "$date": text::date(*date) }),
        Bson::DateTime(date) => {
            json!({ "$date": { "$numberLong": date.timestamp_millis().to_string() } })
        }
        Bson::Binary(binary) if uuid(binary).is_some() => {
            json!({ "$uuid": uuid(binary).map(|uuid| uuid.to_string()) })
        }
        Bson::Binary(binary) => json!({ "$binary": {
            "base64": BASE64_STANDARD.encode(&binary.bytes),
            "subType": format!("{:02x}", u8::from(binary.subtype)),
        }}),
        // Its own form is the extended JSON of these.
        other => serde_json::to_value(other).unwrap_or_else(|_| other.to_string().into()),
    }
}

/// A report of the library in the same form.
pub(crate) fn report(of: &impl serde::Serialize) -> Value {
    match bson::serialize_to_bson(of) {
        Ok(bson) => value(&bson),
        // A number that BSON does not have.
        Err(_) => serde_json::to_value(of).unwrap_or(Value::Null),
    }
}

fn special(number: f64) -> &'static str {
    match number {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ => "NaN",
    }
}

/// The UUID of a binary of subtype 4.
pub(crate) fn uuid(binary: &Binary) -> Option<Uuid> {
    let is_one = binary.subtype == BinarySubtype::Uuid;
    let bytes = binary.bytes.as_slice().try_into().ok();
    bytes.filter(|_| is_one).map(Uuid::from_bytes)
}

/// The value of a part of a key, or of an id; `None` if no key has such a value.
pub(crate) fn key_part(value: &Value) -> Option<Bson> {
    Some(match value {
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => whole(number)?.into(),
        Value::String(text) => text.as_str().into(),
        Value::Object(fields) => {
            let (name, value) = fields.iter().next().filter(|_| fields.len() == 1)?;
            let text = value.as_str()?;
            match name.as_str() {
                "$oid" => ObjectId::parse_str(text).ok()?.into(),
                "$uuid" => Uuid::parse_str(text).ok()?.into(),
                "$numberInt" | "$numberLong" => text.parse::<i64>().ok()?.into(),
                _ => return None,
            }
        }
        Value::Null | Value::Array(_) => return None,
    })
}

/// Also a whole number that is stored as a double.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let of_double = || number.to_string().strip_suffix(".0")?.parse().ok();
    number.as_i64().or_else(of_double)
}

/// One line, without a character that a terminal would obey.
pub(crate) fn line(value: &Value) -> String {
    let text = value.to_string();
    if !text.chars().any(text::is_unsafe) {
        return text;
    }
    // Such characters are only in strings: `serde_json` escapes some of them.
    let mut line = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if text::is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a string cannot fail.
                let _ = write!(line, "\\u{unit:04x}");
            }
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::{DateTime, doc};

    use super::*;

    #[test]
    fn values_have_the_relaxed_form() {
        let document = doc! {
            "a": 1_i64, "b": 2.5, "c": f64::NAN, "d": DateTime::from_millis(0), "e": Bson::Null,
            "f": ["x", true], "g": Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] },
        };
        let expected = r#"{"a":1,"b":2.5,"c":{"$numberDouble":"NaN"},"d":{"$date":"1970-01-01T00:00:00.000Z"},"e":null,"f":["x",true],"g":{"$binary":{"base64":"AQI=","subType":"00"}}}"#;
        assert_eq!(object(&document).to_string(), expected);
    }

    #[test]
    fn a_date_beyond_the_years_of_rfc_3339_is_a_number_of_milliseconds() {
        for millis in [253_402_300_800_000, -62_167_219_200_001, i64::MAX, i64::MIN] {
            let date = value(&DateTime::from_millis(millis).into());
            let expected = json!({ "$date": { "$numberLong": millis.to_string() } });
            assert_eq!(date, expected);
        }
        let last = value(&DateTime::from_millis(253_402_300_799_999).into());
        assert_eq!(last, json!({ "$date": "9999-12-31T23:59:59.999Z" }));
    }

    #[test]
    fn a_part_of_a_key_is_the_same_after_a_way_through_json() {
        let parts: [Bson; 6] = [
            true.into(),
            i64::MAX.into(),
            i64::MIN.into(),
            "a\u{1b}=\"ü".into(),
            ObjectId::from_bytes([7; 12]).into(),
            Uuid::from_bytes([9; 16]).into(),
        ];
        for part in parts {
            let text = line(&value(&part));
            assert!(!text.chars().any(text::is_unsafe));
            let read: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(key_part(&read), Some(part));
        }
    }
}
