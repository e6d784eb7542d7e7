//! The values that a type is offered.

use std::sync::LazyLock;

use bucket_mongo::bson::{
    Binary, Bson, DateTime, Decimal128, Timestamp, doc, oid::ObjectId, spec::BinarySubtype,
};

/// Texts of the types that read one.
pub(super) const TEXTS: [&str; 9] = [
    "a",
    "",
    "1",
    "1970-01-01T00:00:00Z",
    "1970-01-01",
    "00000000-0000-4000-8000-000000000000",
    "000000000000000000000000",
    "127.0.0.1",
    "P1D",
];

/// Bytes of the types that read some.
pub(super) const BYTES: [&[u8]; 5] = [b"a", b"", &[1; 12], &[1; 16], &[1; 4]];

/// Characters.
pub(super) const CHARS: [char; 1] = ['a'];

/// Documents with one value each, of every kind that a type may ask for.
pub(super) static VALUES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let binary = |subtype| Binary {
        subtype,
        bytes: vec![1; 16],
    };
    let values = [
        Bson::Int32(1),
        Bson::Int64(1 << 40),
        Bson::Double(0.5),
        "a".into(),
        true.into(),
        DateTime::from_millis(0).into(),
        ObjectId::from_bytes([1; 12]).into(),
        Decimal128::from_bytes([0; 16]).into(),
        binary(BinarySubtype::Generic).into(),
        binary(BinarySubtype::Uuid).into(),
        binary(BinarySubtype::Sensitive).into(),
        Timestamp {
            time: 1,
            increment: 1,
        }
        .into(),
        Bson::Array(Vec::new()),
        Bson::Document(doc! {}),
        "1970-01-01T00:00:00Z".into(),
    ];
    // A document that cannot be written is none, and refused like every other one.
    let bytes = values.map(|value| doc! { "v": value }.to_vec().unwrap_or_default());
    bytes.into()
});

/// The sample of a key of a map. No field has this name.
pub(crate) const ANY_KEY: &str = "\u{1}any key";
