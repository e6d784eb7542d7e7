//! Many fields and arrays of attributes: the manual's examples, and that nothing is lost in
//! conversion.

#![allow(clippy::unwrap_used)]

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc, oid::ObjectId, raw::cstr};
use bucket_core::attribute::{
    AttributeArray, AttributeFault, AttributeField, EntryNames, Rest, ValueKind, fold, unfold,
};
use proptest::prelude::*;

const fn field(
    name: &'static str,
    k: &'static str,
    u: Option<&'static str>,
    kind: ValueKind,
) -> AttributeField {
    AttributeField {
        name,
        k,
        u,
        kind,
        text: false,
        null: false,
    }
}

const fn text(of: AttributeField) -> AttributeField {
    AttributeField { text: true, ..of }
}

const VOLUME_ML: AttributeField = field("volume_ml", "volume", Some("ml"), ValueKind::Int32);
const VOLUME_OUNCES: AttributeField =
    field("volume_ounces", "volume", Some("ounces"), ValueKind::Int32);
const HEIGHT: AttributeField = field("height_inches", "height", Some("inches"), ValueKind::Double);

const SPECS: AttributeArray = AttributeArray::new(
    "specs",
    EntryNames::KVU,
    &[VOLUME_ML, VOLUME_OUNCES, HEIGHT],
    None,
);

const AS_TEXT: AttributeArray = AttributeArray::new(
    "specs",
    EntryNames::KVU,
    &[text(VOLUME_ML), text(VOLUME_OUNCES), text(HEIGHT)],
    None,
);

const RELEASES: AttributeArray = AttributeArray::new(
    "releases",
    EntryNames {
        k: "location",
        v: "date",
        u: None,
    },
    &[
        field("release_US", "USA", None, ValueKind::Date),
        field("release_France", "France", None, ValueKind::Date),
        field("release_Italy", "Italy", None, ValueKind::Date),
        field("release_UK", "UK", None, ValueKind::Date),
    ],
    Some(Rest::Map {
        name: "elsewhere",
        kind: ValueKind::Date,
    }),
);

const KEPT: AttributeArray = AttributeArray::new(
    SPECS.name,
    SPECS.entry,
    SPECS.fields,
    Some(Rest::Entries { name: "others" }),
);

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn folded(array: AttributeArray, many: &Document) -> Document {
    let stored = fold(&[array], &raw(many)).unwrap();
    Document::try_from(stored).unwrap()
}

fn unfolded(array: AttributeArray, stored: &Document) -> Document {
    let many = unfold(&[array], &raw(stored)).unwrap();
    Document::try_from(many).unwrap()
}

fn fault(array: AttributeArray, stored: &Document) -> (String, AttributeFault) {
    let error = unfold(&[array], &raw(stored)).unwrap_err();
    assert_eq!(error.array, array.name);
    (error.entry, error.fault)
}

#[test]
fn bottles_are_stored_exactly_as_in_the_manual() {
    let many = doc! { "_id": 1, "volume_ml": 500, "volume_ounces": 12, "height_inches": 8.0 };
    let stored = doc! { "_id": 1, "specs": [
        { "k": "volume", "v": "500", "u": "ml" },
        { "k": "volume", "v": "12", "u": "ounces" },
        { "k": "height", "v": "8", "u": "inches" },
    ] };
    assert_eq!(folded(AS_TEXT, &many), stored);
    assert_eq!(unfolded(AS_TEXT, &stored), many);
}

#[test]
fn numbers_are_stored_as_numbers_unless_text_is_requested() {
    let many = doc! { "_id": 1, "volume_ml": 500, "height_inches": 8.5 };
    let stored = doc! { "_id": 1, "specs": [
        { "k": "volume", "v": 500, "u": "ml" },
        { "k": "height", "v": 8.5, "u": "inches" },
    ] };
    assert_eq!(folded(SPECS, &many), stored);
    assert_eq!(unfolded(SPECS, &stored), many);
}

#[test]
fn movies_have_entries_of_other_names_and_a_map_of_other_places() {
    let at = |text: &str| DateTime::parse_rfc3339_str(text).unwrap();
    let many = doc! {
        "_id": 1, "title": "Star Wars", "runtime": 121, "directors": ["George Lucas"],
        "release_US": at("1977-05-20T01:00:00+01:00"),
        "release_Italy": at("1977-10-20T01:00:00+01:00"),
        "elsewhere": { "a.b": at("1977-12-01T00:00:00Z"), "$where": at("1969-12-01T00:00:00Z") },
    };
    let stored = doc! {
        "_id": 1, "title": "Star Wars", "runtime": 121, "directors": ["George Lucas"],
        "releases": [
            { "location": "USA", "date": at("1977-05-20T01:00:00+01:00") },
            { "location": "Italy", "date": at("1977-10-20T01:00:00+01:00") },
            { "location": "a.b", "date": at("1977-12-01T00:00:00Z") },
            { "location": "$where", "date": at("1969-12-01T00:00:00Z") },
        ],
    };
    assert_eq!(folded(RELEASES, &many), stored);
    assert_eq!(unfolded(RELEASES, &stored), many);
}

#[test]
fn null_and_missing_fields_have_no_entry_and_a_missing_array_has_none_at_all() {
    let many = doc! { "_id": 1, "volume_ml": null, "title": null };
    let stored = doc! { "_id": 1, "title": null, "specs": [] };
    assert_eq!(folded(SPECS, &many), stored);
    let many = doc! { "_id": 1, "title": null };
    assert_eq!(unfolded(SPECS, &stored), many);
    assert_eq!(unfolded(SPECS, &many), many);
}

#[test]
fn a_number_of_another_type_is_read_if_it_is_the_same_number() {
    for same in [Bson::Int32(500), Bson::Int64(500), Bson::Double(500.0)] {
        let stored = doc! { "specs": [{ "k": "volume", "v": same, "u": "ml" }] };
        let many = unfolded(SPECS, &stored);
        assert_eq!(many.get("volume_ml").and_then(whole), Some(500));
    }
    for other in [
        Bson::Double(500.5),
        Bson::Int64(i64::MAX),
        Bson::from("500"),
    ] {
        let stored = doc! { "specs": [{ "k": "volume", "v": other, "u": "ml" }] };
        let expected = "a 32-bit integer";
        let fault = fault(SPECS, &stored);
        assert_eq!(fault, ("0".to_owned(), AttributeFault::Type { expected }));
    }
}

fn whole(number: &Bson) -> Option<i64> {
    number.as_i64().or_else(|| number.as_i32().map(i64::from))
}

#[test]
fn damaged_unknown_and_repeated_entries_are_errors_that_name_them() {
    let no_array = doc! { "specs": { "k": "volume" } };
    let expected = "an array";
    let error = fault(SPECS, &no_array);
    assert_eq!(error, (String::new(), AttributeFault::Type { expected }));

    let good = doc! { "k": "volume", "v": 500, "u": "ml" };
    for (bad, error) in [
        (
            Bson::Int32(1),
            AttributeFault::Type {
                expected: "a document",
            },
        ),
        (
            doc! { "v": 1, "u": "ml" }.into(),
            AttributeFault::Type {
                expected: "an entry with a key",
            },
        ),
        (
            doc! { "k": "volume", "u": "ounces" }.into(),
            AttributeFault::Type {
                expected: "an entry with a value",
            },
        ),
        (
            doc! { "k": 1, "v": 1 }.into(),
            AttributeFault::Type {
                expected: "an entry whose key is text",
            },
        ),
        (
            doc! { "k": "volume", "v": 1, "u": 2 }.into(),
            AttributeFault::Type {
                expected: "an entry whose unit is text",
            },
        ),
        (
            doc! { "k": "height", "v": 1, "u": "inches", "note": 1 }.into(),
            AttributeFault::Type {
                expected: "an entry of only key, value and unit",
            },
        ),
        (
            doc! { "k": "width", "v": 1 }.into(),
            AttributeFault::Unknown,
        ),
        (good.clone().into(), AttributeFault::Duplicate),
    ] {
        let bad: Bson = bad;
        let stored = doc! { "specs": [good.clone(), bad.clone()] };
        assert_eq!(fault(SPECS, &stored), ("1".to_owned(), error), "{bad}");

        // The same entry is kept if the struct has a place for it.
        let many = unfolded(KEPT, &stored);
        assert_eq!(many, doc! { "volume_ml": 500, "others": [bad] });
        assert_eq!(folded(KEPT, &many), stored);
    }
}

#[test]
fn a_field_of_another_type_is_not_stored() {
    let error = fold(&[SPECS], &raw(&doc! { "volume_ml": "500" })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry `volume_ml` of `specs` is not a 32-bit integer"
    );
    // A map entry with the name of a field would not come back.
    let usa = doc! { "elsewhere": { "USA": DateTime::MIN } };
    let error = fold(&[RELEASES], &raw(&usa)).unwrap_err();
    assert_eq!(error.to_string(), "entry `USA` of `releases` appears twice");
}

#[test]
fn a_name_that_a_flattened_map_repeats_is_not_lost_silently() {
    let mut many = RawDocumentBuf::new();
    many.append(cstr!("volume_ml"), 1);
    many.append(cstr!("volume_ml"), 2);
    let error = fold(&[SPECS], &many).unwrap_err();
    assert_eq!(
        error.to_string(),
        "entry `volume_ml` of `specs` appears twice"
    );
    let error = fold(&[SPECS], &raw(&doc! { "volume_ml": 1, "specs": [] })).unwrap_err();
    assert_eq!(error.to_string(), "`specs` appears twice");
}

#[test]
fn a_document_that_still_has_its_many_fields_is_read_unchanged() {
    let day = DateTime::from_millis(86_400_000);
    for (array, many) in [
        (SPECS, doc! { "volume_ml": 500, "height_inches": 8.5 }),
        (SPECS, doc! { "volume_ml": null, "title": null }),
        (
            AS_TEXT,
            doc! { "volume_ml": 500, "volume_ounces": Bson::Null },
        ),
        (
            RELEASES,
            doc! { "release_US": day, "elsewhere": { "Japan": day } },
        ),
        (RELEASES, doc! { "elsewhere": {} }),
        (KEPT, doc! { "volume_ml": 500, "others": [1, { "k": "a" }] }),
        (KEPT, doc! { "others": null }),
    ] {
        assert_eq!(unfolded(array, &many), many);
    }
    // Once each, which a `bson` document would not show.
    let many = raw(&doc! { "elsewhere": { "Japan": day } });
    let read = unfold(&[RELEASES], &many).unwrap();
    assert_eq!(read.as_bytes(), many.as_bytes());
}

#[test]
fn fields_and_entries_are_read_together_unless_an_attribute_is_in_both() {
    let specs = |v: i32| doc! { "k": "volume", "v": v, "u": "ml" };
    let both = doc! { "height_inches": 8.5, "volume_ml": null, "specs": [specs(500)] };
    let many = doc! { "height_inches": 8.5, "volume_ml": 500 };
    assert_eq!(unfolded(SPECS, &both), many);
    let read = unfold(&[SPECS], &raw(&both)).unwrap();
    assert_eq!(read.iter().count(), 2);
    let behind = doc! { "specs": [specs(500)], "volume_ml": null, "height_inches": 8.5 };
    assert_eq!(unfolded(SPECS, &behind), many);

    let day = DateTime::from_millis(86_400_000);
    let usa = doc! { "location": "USA", "date": day };
    let japan = doc! { "location": "Japan", "date": day };
    let empty = doc! { "elsewhere": {}, "releases": [japan.clone()] };
    let many = doc! { "elsewhere": { "Japan": day } };
    assert_eq!(unfolded(RELEASES, &empty), many);
    let of_both = doc! { "elsewhere": { "Japan": day }, "releases": [usa] };
    let many = doc! { "release_US": day, "elsewhere": { "Japan": day } };
    assert_eq!(unfolded(RELEASES, &of_both), many);

    for (array, stored, text) in [
        (
            SPECS,
            doc! { "volume_ml": 1, "specs": [specs(500)] },
            "entry 0 of `specs` appears twice",
        ),
        (
            SPECS,
            doc! { "specs": [specs(500)], "volume_ml": 1 },
            "entry `volume_ml` of `specs` appears twice",
        ),
        (
            KEPT,
            doc! { "volume_ml": 1, "specs": [specs(500)] },
            "entry 0 of `specs` appears twice",
        ),
        (
            KEPT,
            doc! { "others": [1], "specs": [2] },
            "entry `others` of `specs` appears twice",
        ),
        (
            RELEASES,
            doc! { "elsewhere": { "Peru": day }, "releases": [japan] },
            "entry `elsewhere` of `releases` appears twice",
        ),
    ] {
        let error = unfold(&[array], &raw(&stored)).unwrap_err();
        assert_eq!(error.fault, AttributeFault::Duplicate);
        assert_eq!(error.to_string(), text);
    }
}

fn number() -> impl Strategy<Value = Option<i32>> {
    prop::option::of(any::<i32>())
}

fn anything() -> impl Strategy<Value = Bson> {
    let leaf = prop_oneof![
        Just(Bson::Null),
        any::<bool>().prop_map(Bson::Boolean),
        any::<i32>().prop_map(Bson::Int32),
        any::<i64>().prop_map(Bson::Int64),
        "[a-z.$]{0,4}".prop_map(Bson::String),
        any::<[u8; 12]>().prop_map(|bytes| ObjectId::from_bytes(bytes).into()),
        any::<i64>().prop_map(|millis| DateTime::from_millis(millis).into()),
        Just(doc! { "k": "volume", "v": 1, "u": "ml" }.into()),
        ("[a-z]{1,2}", any::<i32>()).prop_map(|(k, v)| doc! { "k": k, "v": v }.into()),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Bson::Array),
            prop::collection::vec(("[kvux]", inner), 0..4)
                .prop_map(|fields| Bson::Document(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn many_fields_come_back_as_they_were(
        (ml, ounces) in (number(), number()),
        height in prop::option::of(any::<f64>().prop_filter("equal to itself", |v| !v.is_nan())),
        (before, after) in (anything(), anything()),
    ) {
        let mut many = doc! { "before": before };
        let numbers = [("volume_ml", ml), ("volume_ounces", ounces)];
        for (name, number) in numbers {
            if let Some(number) = number {
                many.insert(name, number);
            }
        }
        if let Some(height) = height {
            many.insert("height_inches", height);
        }
        for array in [SPECS, AS_TEXT] {
            let mut with_end = doc! { "after": after.clone() };
            with_end.extend(many.clone());
            let stored = folded(array, &with_end);
            prop_assert_eq!(unfolded(array, &stored), with_end);
        }
    }

    #[test]
    fn every_stored_entry_comes_back_if_other_entries_are_kept(
        entries in prop::collection::vec(anything(), 0..6),
    ) {
        let stored = doc! { "specs": entries.clone() };
        let many = unfolded(KEPT, &stored);
        let again = folded(KEPT, &many);
        let mut left = again.get_array("specs").unwrap().clone();
        // Entries that have fields come first.
        for entry in entries {
            let at = left.iter().position(|other| *other == entry);
            prop_assert!(at.is_some(), "{} of {}", entry, again);
            left.remove(at.unwrap_or(0));
        }
        prop_assert!(left.is_empty());
    }

    #[test]
    fn damaged_bytes_are_an_error_or_a_document(
        entries in prop::collection::vec(anything(), 0..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = raw(&doc! { "a": 1, "specs": entries }).into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(document) = RawDocumentBuf::from_bytes(bytes) {
            for array in [SPECS, KEPT, RELEASES] {
                let _ = unfold(&[array], &document);
                let _ = fold(&[array], &document);
            }
        }
    }
}
