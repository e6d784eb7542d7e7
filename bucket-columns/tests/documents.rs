//! Every document comes back byte by byte, and damaged bytes are an error.
#![allow(clippy::unwrap_used)]

use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, RawBsonRef, RawDocument,
    RawDocumentBuf, Regex, Timestamp, doc,
    oid::ObjectId,
    spec::{BinarySubtype, ElementType},
};
use bucket_columns::{Columns, PackError, Row, UnpackError, Value, pack};
use proptest::prelude::*;

fn given_back(documents: &[RawDocumentBuf]) -> Vec<u8> {
    let packed = pack(documents.iter().map(|it| &**it)).unwrap();
    let columns = Columns::read(&packed).unwrap();
    assert_eq!(columns.len(), documents.len());
    let mut rows = columns.into_rows();
    for document in documents {
        assert_eq!(
            rows.next_row().map(RawDocument::as_bytes),
            Some(document.as_bytes())
        );
    }
    assert_eq!(rows.next_row(), None);
    given_field_by_field(documents, &packed);
    packed
}

/// The same documents, every other one field by field.
fn given_field_by_field(documents: &[RawDocumentBuf], packed: &[u8]) {
    let mut rows = Columns::read(packed).unwrap().into_rows();
    for (index, document) in documents.iter().enumerate() {
        if let Some(row) = rows.row() {
            compare(row, document);
            if index % 2 == 0 {
                rows.pass();
                continue;
            }
        }
        let next = rows.next_row().map(RawDocument::as_bytes);
        assert_eq!(next, Some(document.as_bytes()));
    }
    assert!(rows.row().is_none());
    rows.pass();
    assert_eq!(rows.left(), 0);
}

fn compare(row: Row<'_>, document: &RawDocument) {
    let mut fields = row.fields();
    for element in document {
        // `bson` does not read a name or a text that is no UTF-8.
        let Ok((name, stored)) = element else {
            return;
        };
        let (own, value) = fields.next().unwrap();
        assert_eq!(own, Some(name.as_str()));
        let own = value.value();
        let is_same = match (own, stored) {
            (Value::Double(own), RawBsonRef::Double(stored)) => own.to_bits() == stored.to_bits(),
            (Value::Int32(own), RawBsonRef::Int32(stored)) => own == stored,
            (Value::Int64(own), RawBsonRef::Int64(stored)) => own == stored,
            (Value::Date(own), RawBsonRef::DateTime(stored)) => own == stored.timestamp_millis(),
            (Value::Boolean(own), RawBsonRef::Boolean(stored)) => own == stored,
            (Value::Text(own), RawBsonRef::String(stored)) => own == stored.as_bytes(),
            (Value::Document(own), RawBsonRef::Document(stored)) => {
                compare(own, stored);
                true
            }
            (Value::Null, stored) => stored == RawBsonRef::Null,
            // A document that fits no columns is one, too.
            (Value::Other, stored) => !matches!(
                stored.element_type(),
                ElementType::Double
                    | ElementType::Int32
                    | ElementType::Int64
                    | ElementType::DateTime
                    | ElementType::Boolean
                    | ElementType::Null
                    | ElementType::String
            ),
            _ => false,
        };
        assert!(is_same, "{own:?} is not {stored:?}");
    }
    assert!(fields.next().is_none());
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn raws(documents: impl IntoIterator<Item = Document>) -> Vec<RawDocumentBuf> {
    documents.into_iter().map(|it| raw(&it)).collect()
}

fn scalar() -> impl Strategy<Value = Bson> {
    prop_oneof![
        any::<u64>().prop_map(|bits| Bson::Double(f64::from_bits(bits))),
        (-9..9_i32).prop_map(|whole| Bson::Double(whole.into())),
        Just(Bson::Double(-0.0)),
        ".*".prop_map(Bson::String),
        "[ab]".prop_map(Bson::String),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        any::<i64>().prop_map(|millis| Bson::DateTime(DateTime::from_millis(millis))),
        (any::<u32>(), any::<u32>())
            .prop_map(|(time, increment)| Bson::Timestamp(Timestamp { time, increment })),
        any::<[u8; 12]>().prop_map(|bytes| Bson::ObjectId(ObjectId::from_bytes(bytes))),
        any::<[u8; 16]>().prop_map(|bytes| Bson::Decimal128(Decimal128::from_bytes(bytes))),
        (any::<u8>(), prop::collection::vec(any::<u8>(), 0..9)).prop_map(|(subtype, bytes)| {
            // The old subtype repeats the length.
            let subtype = BinarySubtype::from(if subtype == 2 { 0 } else { subtype });
            Bson::Binary(Binary { subtype, bytes })
        }),
        Just(Bson::Null),
        Just(Bson::Undefined),
        Just(Bson::MinKey),
        Just(Bson::MaxKey),
        Just(Bson::Symbol("symbol".to_owned())),
        Just(Bson::JavaScriptCode("code".to_owned())),
        Just(Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
            code: "code".to_owned(),
            scope: doc! { "a": 1 }
        })),
        Just(Bson::RegularExpression(Regex {
            pattern: bson::cstr!("a.*").to_owned(),
            options: bson::cstr!("i").to_owned()
        })),
    ]
}

fn value() -> impl Strategy<Value = Bson> {
    scalar().prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Bson::Array),
            document(inner).prop_map(Bson::Document),
        ]
    })
}

/// Few names: many documents share some of them, in the same order or in another one.
fn document(value: impl Strategy<Value = Bson>) -> impl Strategy<Value = Document> {
    let field = ("[a-e]|\\PC{0,3}", value);
    prop::collection::vec(field, 0..6).prop_map(|fields| fields.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn all_documents_come_back_to_the_byte(documents in prop::collection::vec(document(value()), 0..40)) {
        // A name with a NUL is no BSON.
        let documents = documents.iter().filter_map(|it| RawDocumentBuf::try_from(it).ok());
        given_back(&documents.collect::<Vec<_>>());
    }

    #[test]
    fn records_with_missing_and_changed_fields_come_back(
        records in prop::collection::vec((any::<i64>(), any::<[bool; 4]>(), 0..3_u8, -5.0..5.0_f64), 0..400)
    ) {
        let record = |(at, has, kind, value): (i64, [bool; 4], u8, f64)| {
            let mut record = doc! { "at": DateTime::from_millis(at) };
            if has[0] {
                record.insert("a", if has[1] { Bson::Null } else { Bson::Int32(1) });
            }
            let value = match kind {
                0 => Bson::Double(value),
                1 => Bson::String(value.to_string()),
                _ => Bson::Document(doc! { "of": value }),
            };
            record.insert("value", value);
            if has[2] {
                record.insert("in", doc! { "deep": { "er": has[3] } });
            }
            record
        };
        given_back(&raws(records.into_iter().map(record)));
    }

    #[test]
    fn changed_bytes_are_an_error(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let documents = raws((0..50).map(|n| doc! { "n": n, "text": format!("{n}") }));
        let mut packed = given_back(&documents);
        let at = at.index(packed.len());
        packed[at] ^= by;
        prop_assert!(Columns::read(&packed).is_err());
        prop_assert!(Columns::read(&packed[..at]).is_err());
    }

    /// Whoever can write to the database can write a checksum too.
    #[test]
    fn made_up_bytes_are_read_or_refused_but_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let documents = raws((0..300_i32).map(|n| {
            let text = if n % 3 == 0 { "one" } else { "other" };
            doc! {
                "n": n * n % 97, "at": DateTime::from_millis((i64::from(n) * 60_007) % 1_000_003), "text": text,
                "value": f64::from(n) * 0.1, "in": { "array": [n % 2], "is": n % 5 == 0 },
                "id": ObjectId::from_bytes([3; 12]),
            }
        }));
        let mut packed = given_back(&documents);
        let body = packed.len() - 4;
        for (at, by) in changes {
            packed[1 + at.index(body - 1)] = by;
        }
        let checksum = crc32fast::hash(&packed[..body]).to_le_bytes();
        packed[body..].copy_from_slice(&checksum);
        if let Ok(columns) = Columns::read(&packed) {
            let mut rows = columns.into_rows();
            while rows.next_row().is_some() {}
            prop_assert_eq!(rows.left(), 0);
        }
    }
}

#[test]
fn documents_that_fit_no_columns_come_back() {
    // A field twice, another order, an old binary, a text that is no UTF-8, a bool that is neither.
    let twice = [
        &[19, 0, 0, 0][..],
        b"\x10a\0",
        &[1, 0, 0, 0],
        b"\x10a\0",
        &[2, 0, 0, 0],
        &[0],
    ]
    .concat();
    let old = [
        &[19, 0, 0, 0][..],
        b"\x05a\0",
        &[6, 0, 0, 0, 2],
        &[2, 0, 0, 0, 8, 9],
        &[0],
    ]
    .concat();
    let text = [&[14, 0, 0, 0][..], b"\x02a\0", &[2, 0, 0, 0, 0xFF, 0], &[0]].concat();
    let neither = [&[9, 0, 0, 0][..], b"\x08a\0", &[7], &[0]].concat();
    let unknown = [&[9, 0, 0, 0][..], b"\x55a\0", &[7], &[0]].concat();
    let mut documents: Vec<RawDocumentBuf> = [twice, old, text, neither, unknown]
        .into_iter()
        .map(|bytes| RawDocumentBuf::from_bytes(bytes).unwrap())
        .collect();
    documents.extend(raws([
        doc! { "a": 1, "b": 2 },
        doc! { "b": 2, "a": 1 },
        doc! { "a": 3 },
        doc! {},
    ]));
    given_back(&documents);
    documents.reverse();
    given_back(&documents);
}

#[test]
fn maps_with_names_of_their_own_come_back() {
    let map = |n: i32| {
        (0..20)
            .map(|m| (format!("{}", n * 31 + m), Bson::Int32(m)))
            .collect::<Document>()
    };
    given_back(&raws((0..500).map(|n| doc! { "n": n, "map": map(n) })));
    given_back(&raws((0..500).map(map)));
    let wide: Document = (0..3_000)
        .map(|n| (format!("field {n}"), Bson::Int32(n)))
        .collect();
    given_back(&raws(vec![wide; 20]));
}

#[test]
fn nested_documents_come_back_however_deep() {
    let mut deep = doc! { "end": 1 };
    for _ in 0..95 {
        deep = doc! { "in": deep };
    }
    given_back(&raws([deep.clone(), doc! { "in": 1 }, deep]));
}

#[test]
fn no_documents_are_packed_too() {
    let packed = given_back(&[]);
    assert!(Columns::read(&packed).unwrap().is_empty());
}

#[test]
fn a_later_version_and_no_bytes_at_all_say_so() {
    let mut packed = given_back(&raws([doc! { "a": 1 }]));
    packed[0] = 2;
    assert_eq!(Columns::read(&packed).unwrap_err(), UnpackError::Version(2));
    assert!(matches!(Columns::read(&[]), Err(UnpackError::Damaged(_))));
    assert_eq!(Columns::read(&[1]).unwrap_err(), UnpackError::Checksum);
}

#[test]
fn more_than_a_reader_takes_is_not_packed() {
    let large = raw(&doc! { "text": "x".repeat(8 << 20) });
    let documents = vec![large; 9];
    assert_eq!(
        pack(documents.iter().map(|it| &**it)).unwrap_err(),
        PackError::TooLarge
    );
}

#[test]
fn few_packed_bytes_cannot_fill_the_memory() {
    // 13 million documents, each with a thousand fields that all are missing.
    let header = pack(std::iter::empty()).unwrap();
    let mut packed = vec![1, 0x80, 0x80, 0x80, 0x06];
    packed.extend(&header[2..4]);
    packed.extend([0, 0, 0xE8, 0x07]);
    for _ in 0..1_000 {
        packed.extend([
            1, b'a', 2, 2, 0, 0x80, 0x80, 0x80, 0x03, 0, 0x80, 0x80, 0x80, 0x03,
        ]);
    }
    packed.extend(crc32fast::hash(&packed).to_le_bytes());
    assert!(matches!(
        Columns::read(&packed),
        Err(UnpackError::Damaged(_))
    ));
}
