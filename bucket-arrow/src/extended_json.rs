//! BSON as canonical extended JSON, with the fields of a document in their order.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bucket_mongo::bson::Bson;

/// The value as canonical extended JSON.
pub(crate) fn text(value: &Bson) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Bson, to: &mut String) {
    match value {
        Bson::Null => to.push_str("null"),
        Bson::Boolean(true) => to.push_str("true"),
        Bson::Boolean(false) => to.push_str("false"),
        Bson::String(text) => to.push_str(&quoted(text)),
        Bson::Int32(number) => typed("$numberInt", &number.to_string(), to),
        Bson::Int64(number) => typed("$numberLong", &number.to_string(), to),
        Bson::Double(number) => typed("$numberDouble", &double(*number), to),
        Bson::DateTime(date) => {
            to.push_str("{\"$date\":");
            typed("$numberLong", &date.timestamp_millis().to_string(), to);
            to.push('}');
        }
        Bson::ObjectId(id) => typed("$oid", &id.to_hex(), to),
        Bson::Decimal128(number) => typed("$numberDecimal", &number.to_string(), to),
        Bson::Binary(binary) => {
            to.push_str("{\"$binary\":{\"base64\":");
            to.push_str(&quoted(&BASE64_STANDARD.encode(&binary.bytes)));
            to.push_str(",\"subType\":");
            to.push_str(&quoted(&format!("{:02x}", u8::from(binary.subtype))));
            to.push_str("}}");
        }
        Bson::Array(items) => {
            to.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    to.push(',');
                }
                write(item, to);
            }
            to.push(']');
        }
        Bson::Document(fields) => {
            to.push('{');
            for (at, (name, field)) in fields.iter().enumerate() {
                if at > 0 {
                    to.push(',');
                }
                to.push_str(&quoted(name));
                to.push(':');
                write(field, to);
            }
            to.push('}');
        }
        // The own form of these is extended JSON.
        other => match serde_json::to_string(other) {
            Ok(text) => to.push_str(&text),
            Err(_) => to.push_str(&quoted(&other.to_string())),
        },
    }
}

fn typed(name: &str, text: &str, to: &mut String) {
    to.push_str("{\"");
    to.push_str(name);
    to.push_str("\":");
    to.push_str(&quoted(text));
    to.push('}');
}

fn double(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        let name = if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        };
        name.to_owned()
    } else {
        format!("{number:?}")
    }
}

/// A text of JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::{Binary, DateTime, Timestamp, doc, spec::BinarySubtype};

    use super::*;

    #[test]
    fn values_have_their_canonical_form_in_the_order_of_their_document() {
        let document = doc! {
            "z": 1, "a": 2_i64, "d": -0.0, "big": 1e300, "nan": f64::NAN, "t": "x\"\u{0}", "n": Bson::Null,
            "date": DateTime::from_millis(-1), "list": [true, 0.5],
            "b": Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] },
            "decimal": "1.10".parse::<bucket_mongo::bson::Decimal128>().unwrap(),
            "stamp": Timestamp { time: 1, increment: 2 },
        };
        let expected = concat!(
            r#"{"z":{"$numberInt":"1"},"a":{"$numberLong":"2"},"d":{"$numberDouble":"-0.0"},"#,
            r#""big":{"$numberDouble":"1e300"},"nan":{"$numberDouble":"NaN"},"t":"x\"\u0000","n":null,"#,
            r#""date":{"$date":{"$numberLong":"-1"}},"list":[true,{"$numberDouble":"0.5"}],"#,
            r#""b":{"$binary":{"base64":"AQI=","subType":"00"}},"decimal":{"$numberDecimal":"1.10"},"#,
            r#""stamp":{"$timestamp":{"t":1,"i":2}}}"#,
        );
        assert_eq!(text(&document.into()), expected);
    }
}
