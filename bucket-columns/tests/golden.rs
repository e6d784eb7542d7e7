//! What version 1 has packed is read for ever, and the page on the format shows what is packed.
#![allow(clippy::unwrap_used)]

use std::{fs, path::Path};

use bson::{
    Binary, Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc, oid::ObjectId,
    spec::BinarySubtype,
};
use bucket_columns::{Columns, pack};

fn hex(bytes: &[u8]) -> String {
    let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines: Vec<String> = bytes.chunks(38).map(|line| line.join(" ")).collect();
    lines.join("\n")
}

fn unhex(text: &str) -> Vec<u8> {
    let bytes = text.split_whitespace();
    bytes
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

fn raws(documents: &[Document]) -> Vec<RawDocumentBuf> {
    let raw = |it| RawDocumentBuf::try_from(it).unwrap();
    documents.iter().map(raw).collect()
}

fn vectors() -> Vec<Vec<Document>> {
    let at = |minute: i64| DateTime::from_millis(1_700_000_000_000 + minute * 60_000);
    vec![
        vec![],
        vec![
            doc! { "at": at(0), "value": 20.5 },
            doc! { "at": at(1), "value": 21.0 },
            doc! { "at": at(2), "value": 21.0 },
        ],
        vec![
            doc! { "a": 1, "b": "x" },
            doc! { "b": "y", "c": { "d": true } },
            doc! { "b": Bson::Null, "a": 7_i64 },
            doc! { "a": [1, 2] },
        ],
    ]
}

/// A thousand readings of all types, made without any chance.
fn readings() -> Vec<Document> {
    let kinds = ["temperature", "humidity", "pressure"];
    let reading = |n: i64| {
        let hash = (n * 2_654_435_761) % 1_000_003;
        let value = 20.0 + f64::from(i32::try_from(hash % 500).unwrap()) / 100.0;
        let mut reading = doc! {
            "at": DateTime::from_millis(1_698_335_220_000 + n * 60_000 + hash % 7 * 1_000),
            "value": if n % 97 == 0 { f64::NAN } else { value },
            "count": i32::try_from(hash % 1_000).unwrap(), "total": hash << 30,
            "kind": kinds[usize::try_from(hash % 3).unwrap()],
            "note": format!("{hash:x}"), "is": hash % 5 == 0,
            "id": ObjectId::from_parts(u32::try_from(1_698_335 + n).unwrap(), [1, 2, 3, 4, 5], [0, 0, 7]),
            "where": { "room": i32::try_from(n % 4).unwrap(), "bytes": Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] } },
            "list": [hash % 2],
        };
        if n % 10 == 3 {
            reading.remove("note");
            reading.insert("late", Bson::Null);
        }
        reading
    };
    (0..1_000).map(reading).collect()
}

#[track_caller]
fn is_read(packed: &[u8], documents: &[RawDocumentBuf]) {
    let mut rows = Columns::read(packed).unwrap().into_rows();
    for document in documents {
        assert_eq!(rows.next_row(), Some(&**document));
    }
    assert_eq!(rows.next_row(), None);
}

#[test]
fn readings_of_version_1_are_read() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/readings.v1");
    let readings = raws(&readings());
    if !file.exists() {
        fs::write(&file, pack(readings.iter().map(|it| &**it)).unwrap()).unwrap();
    }
    is_read(&fs::read(file).unwrap(), &readings);
}

#[test]
fn the_vectors_on_the_page_are_what_is_packed() {
    let page = include_str!("../FORMAT.md");
    let shown: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
    let vectors = vectors();
    // The grammar has three blocks.
    let blocks = &shown[3..];
    assert_eq!(blocks.len(), vectors.len());
    for (block, documents) in blocks.iter().zip(&vectors) {
        let documents = raws(documents);
        let (json, bytes): (Vec<&str>, Vec<&str>) = block
            .trim_start_matches("text")
            .lines()
            .filter(|line| !line.is_empty())
            .partition(|line| line.starts_with('{'));
        let as_json = |it: &RawDocumentBuf| {
            serde_json::to_string(&Document::try_from(&**it).unwrap()).unwrap()
        };
        let expected: Vec<String> = documents.iter().map(as_json).collect();
        let packed = pack(documents.iter().map(|it| -> &RawDocument { it })).unwrap();
        assert_eq!(json, expected, "{}", hex(&packed));
        assert_eq!(unhex(&bytes.join(" ")), packed, "{}", hex(&packed));
        is_read(&packed, &documents);
    }
}
