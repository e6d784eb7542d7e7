//! Changes of a document's form: what is planned, that nothing is lost, and what is refused.

#![allow(clippy::unwrap_used)]

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::attribute::{
    AttributeArray, AttributeFault, AttributeField, DocumentFault, DocumentForm, DocumentSpec,
    EntryNames, Migration, Rest, Sampled, ValueKind, fold,
};
use proptest::prelude::*;

const fn field(
    name: &'static str,
    (k, u): (&'static str, Option<&'static str>),
    kind: ValueKind,
    text: bool,
) -> AttributeField {
    AttributeField {
        name,
        k,
        u,
        kind,
        text,
        null: false,
    }
}

const VOLUME: (&str, Option<&str>) = ("volume", Some("ml"));
const HEIGHT: (&str, Option<&str>) = ("height", Some("inches"));

const SPECS: AttributeArray = AttributeArray::new(
    "specs",
    EntryNames::KVU,
    &[
        field("volume_ml", VOLUME, ValueKind::Int32, true),
        field("height_inches", HEIGHT, ValueKind::Double, false),
    ],
    None,
);
const RELEASES: AttributeArray = AttributeArray::new(
    "releases",
    EntryNames {
        k: "location",
        v: "date",
        u: None,
    },
    &[field("release.US", ("USA", None), ValueKind::Date, false)],
    Some(Rest::Map {
        name: "$elsewhere",
        kind: ValueKind::Date,
    }),
);
const KEPT: AttributeArray = AttributeArray::new(
    "kept",
    EntryNames::KVU,
    &[field("width", ("width", None), ValueKind::Any, false)],
    Some(Rest::Entries { name: "others" }),
);

const ALL: DocumentSpec = DocumentSpec::__new("Thing", "things", &[SPECS, RELEASES, KEPT]);

fn migration(to: DocumentForm) -> Migration {
    Migration::new(&ALL, to).unwrap()
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

/// The document after the move; `None` if nothing must change.
fn moved(to: DocumentForm, stored: &Document) -> Option<Document> {
    let change = migration(to).plan(&raw(stored)).unwrap()?;
    Some(change.after().try_into().unwrap())
}

fn refused(to: DocumentForm, stored: &Document) -> String {
    let error = migration(to).plan(&raw(stored)).unwrap_err();
    assert_eq!(error.id(), Some("7"));
    error.to_string()
}

use DocumentForm::{Attributes, Fields};

#[test]
fn the_statement_requires_each_field_as_it_was_read_and_changes_no_other() {
    let stored = doc! { "_id": 7, "title": "a", "volume_ml": 500, "release.US": DateTime::MIN };
    let change = migration(Attributes).plan(&raw(&stored)).unwrap().unwrap();
    let statement = Document::try_from(change.statement().unwrap()).unwrap();
    let odd =
        |name: &str| doc! { "$getField": { "field": { "$literal": name }, "input": "$$ROOT" } };
    let entry = doc! { "k": "volume", "v": "500", "u": "ml" };
    let release = doc! { "location": "USA", "date": DateTime::MIN };
    let expected = doc! {
        "q": { "_id": { "$eq": 7 }, "$expr": { "$and": [
            { "$eq": [{ "$type": "$specs" }, "missing"] },
            { "$eq": ["$volume_ml", { "$literal": 500 }] },
            { "$eq": [{ "$type": "$height_inches" }, "missing"] },
            { "$eq": [{ "$type": "$releases" }, "missing"] },
            { "$eq": [odd("release.US"), { "$literal": DateTime::MIN }] },
            { "$eq": [{ "$type": odd("$elsewhere") }, "missing"] },
        ] } },
        "u": [
            { "$unset": ["volume_ml"] },
            { "$replaceWith": { "$unsetField": {
                "field": { "$literal": "release.US" }, "input": "$$ROOT",
            } } },
            { "$set": {
                "specs": { "$literal": [entry] }, "releases": { "$literal": [release] },
            } },
        ],
        "collation": { "locale": "simple" },
    };
    assert_eq!(statement, expected);
    assert_eq!(change.id(), Bson::Int32(7));
}

#[test]
fn only_parts_in_the_other_form_are_changed() {
    for (to, stored) in [
        (Attributes, doc! { "_id": 7 }),
        (Attributes, doc! { "_id": 7, "specs": "damaged" }),
        (Fields, doc! { "_id": 7, "volume_ml": "damaged" }),
    ] {
        assert_eq!(moved(to, &stored), None);
    }
    let nulls = doc! { "_id": 7, "volume_ml": null, "releases": "damaged" };
    let after = doc! { "_id": 7, "releases": "damaged", "specs": [] };
    assert_eq!(moved(Attributes, &nulls), Some(after));
}

#[test]
fn a_document_of_both_forms_is_merged_unless_an_attribute_is_in_both() {
    let entry = |v: &str| doc! { "k": "volume", "v": v, "u": "ml" };
    let height = doc! { "k": "height", "v": 8.5, "u": "inches" };
    let both = doc! { "_id": 7, "specs": [height.clone()], "a": 1, "volume_ml": 500 };
    let after = doc! { "_id": 7, "specs": [entry("500"), height], "a": 1 };
    assert_eq!(moved(Attributes, &both), Some(after.clone()));
    let names: Vec<String> = moved(Attributes, &both).unwrap().keys().cloned().collect();
    assert_eq!(names, ["_id", "specs", "a"]);
    let fields = doc! { "_id": 7, "a": 1, "volume_ml": 500, "height_inches": 8.5 };
    assert_eq!(moved(Fields, &both), Some(fields));

    let twice = doc! { "_id": 7, "specs": [entry("500")], "volume_ml": 500 };
    for to in [Attributes, Fields] {
        let text = refused(to, &twice);
        assert!(text.ends_with("of `specs` appears twice"), "{text}");
    }
}

#[test]
fn a_document_that_cannot_be_moved_is_refused_with_the_reason() {
    for (to, stored, why) in [
        (
            Attributes,
            doc! { "volume_ml": "500" },
            "document 7: entry `volume_ml` of `specs` is not a 32-bit integer",
        ),
        (
            Attributes,
            doc! { "volume_ml": 1, "specs": null },
            "document 7: `specs` is not an array",
        ),
        (
            Fields,
            doc! { "specs": [{ "k": "weight", "v": 1 }] },
            "document 7: entry 0 of `specs` has no field in the model, which does not keep other entries",
        ),
        (
            Fields,
            doc! { "specs": [{ "k": "volume", "v": "much", "u": "ml" }] },
            "document 7: entry 0 of `specs` is not the text of its value",
        ),
        // It would be read as the field from then on.
        (
            Attributes,
            doc! { "others": [{ "k": "width", "v": 1 }] },
            "document 7: its record would differ in the other form",
        ),
    ] {
        let mut with_id = doc! { "_id": 7 };
        with_id.extend(stored);
        assert_eq!(refused(to, &with_id), why);
    }
    let bytes = "a".repeat(6 * 1024 * 1024);
    let large = doc! { "_id": 7, "width": bytes.clone(), "others": [bytes] };
    let change = migration(Attributes).plan(&raw(&large)).unwrap().unwrap();
    let error = change.statement().unwrap_err();
    assert!(
        matches!(error.fault(), DocumentFault::TooLarge { .. }),
        "{error}"
    );
}

#[test]
fn a_field_named_like_an_array_is_refused_before_anything_is_read() {
    const SAME: AttributeArray = AttributeArray::new(
        "releases",
        EntryNames::KVU,
        &[],
        Some(Rest::Entries { name: "specs" }),
    );
    const SPEC: DocumentSpec = DocumentSpec::__new("Thing", "things", &[SPECS, SAME]);
    let error = Migration::new(&SPEC, Attributes).unwrap_err();
    assert_eq!(error.fault, AttributeFault::NamedAsArray);
    assert_eq!((error.array, error.entry.as_str()), ("releases", "`specs`"));
}

#[test]
fn a_sample_distinguishes_writes_of_others_from_faults() {
    let before = doc! { "_id": 7, "title": "a", "volume_ml": 500_i64, "height_inches": null };
    let change = migration(Attributes).plan(&raw(&before)).unwrap().unwrap();
    let entry = |v: &str| doc! { "k": "volume", "v": v, "u": "ml" };
    let sampled = |now: &Document| change.compare(Some(&raw(now)));
    let after = doc! { "specs": [entry("500")], "title": "a", "_id": 7 };
    assert_eq!(sampled(&after), Sampled::Same);
    // Moved back by another run.
    assert_eq!(sampled(&before), Sampled::Same);
    let renamed = doc! { "_id": 7, "title": "b", "specs": [entry("500")] };
    assert_eq!(sampled(&renamed), Sampled::Rewritten);
    let other = doc! { "_id": 7, "title": "a", "specs": [entry("501")] };
    assert_eq!(sampled(&other), Sampled::Differs);
    let lost = doc! { "_id": 7, "title": "a", "specs": [] };
    assert_eq!(sampled(&lost), Sampled::Differs);
    assert_eq!(change.compare(None), Sampled::Gone);
}

fn whole() -> impl Strategy<Value = Bson> {
    prop_oneof![
        any::<i32>().prop_map(Bson::Int32),
        any::<i32>().prop_map(|number| Bson::Int64(number.into())),
        any::<i32>().prop_map(|number| Bson::Double(number.into())),
        Just(Bson::Null),
    ]
}

fn date() -> impl Strategy<Value = Bson> {
    prop_oneof![
        4 => any::<i64>().prop_map(|millis| DateTime::from_millis(millis).into()),
        1 => Just(Bson::Null),
    ]
}

fn any_value() -> impl Strategy<Value = Bson> {
    prop_oneof![whole(), date(), "[a-z.$]{0,4}".prop_map(Bson::String)]
}

/// An entry without a field in `KEPT`.
fn other() -> impl Strategy<Value = Bson> {
    prop_oneof![
        any_value(),
        ("[a-c]", any_value()).prop_map(|(k, v)| doc! { "k": k, "v": v }.into()),
        Just(doc! { "k": "width", "v": 1, "note": 1 }.into()),
    ]
}

fn field_of(name: &'static str, value: BoxedStrategy<Bson>) -> BoxedStrategy<Vec<(String, Bson)>> {
    prop_oneof![
        3 => value.prop_map(move |value| vec![(name.to_owned(), value)]),
        1 => Just(Vec::new()),
    ]
    .boxed()
}

/// A document of many fields, in any order.
fn many() -> impl Strategy<Value = Document> {
    let elsewhere = prop::collection::btree_map("[a-z.$]{1,3}", date(), 0..3);
    let elsewhere = elsewhere.prop_map(|map| map.into_iter().collect::<Document>().into());
    let fields = vec![
        field_of("volume_ml", whole().boxed()),
        field_of("height_inches", whole().boxed()),
        field_of("release.US", date().boxed()),
        field_of("$elsewhere", elsewhere.boxed()),
        field_of("width", any_value().boxed()),
        field_of(
            "others",
            prop::collection::vec(other(), 0..3)
                .prop_map(Bson::Array)
                .boxed(),
        ),
        field_of("title", any_value().boxed()),
        field_of("a.b", any_value().boxed()),
    ];
    let all = fields.prop_map(|fields| fields.concat()).prop_shuffle();
    all.prop_map(|fields| {
        let mut document = doc! { "_id": 7 };
        document.extend(fields);
        document
    })
}

fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some((*number).into()),
        #[allow(clippy::cast_precision_loss)]
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        _ => None,
    }
}

/// The document without nulls of attributes, and with numbers as one type.
fn normal(document: Document) -> Document {
    let told = document.into_iter().filter_map(|(name, value)| {
        let value = match value {
            // Written by the naive reading of the model, not by the code under test.
            Bson::Null if name != "title" && name != "a.b" => return None,
            Bson::Array(entries) if entries.is_empty() => return None,
            Bson::Document(map) => {
                let map = map.into_iter().filter(|(_, value)| *value != Bson::Null);
                let map: Document = map.collect();
                if map.is_empty() {
                    return None;
                }
                map.into()
            }
            value if name == "title" || name == "a.b" => value,
            value => number(&value).map_or(value, Bson::Double),
        };
        Some((name, value))
    });
    told.collect()
}

proptest! {
    #[test]
    fn a_document_comes_back_unchanged_and_needs_no_second_change(many in many()) {
        let there = moved(Attributes, &many).unwrap_or_else(|| many.clone());
        for name in ["volume_ml", "height_inches", "release.US", "$elsewhere", "width", "others"] {
            prop_assert!(!there.contains_key(name), "{}", there);
        }
        prop_assert_eq!(moved(Attributes, &there), None);
        let back = moved(Fields, &there).unwrap_or_else(|| there.clone());
        prop_assert_eq!(moved(Fields, &back), None);
        prop_assert_eq!(normal(back.clone()), normal(many));
        // Once more, exactly.
        let again = moved(Attributes, &back).unwrap_or_else(|| back.clone());
        prop_assert_eq!(moved(Fields, &again).unwrap_or(again), back);
    }

    #[test]
    fn a_document_is_moved_to_the_stored_form_of_its_fields(many in many()) {
        let stored = fold(ALL.arrays(), &raw(&many)).unwrap();
        let mut stored = Document::try_from(stored).unwrap();
        let there = moved(Attributes, &many).unwrap_or_else(|| many.clone());
        for array in ALL.arrays() {
            // If it has no field of an array, it gets no array.
            if !there.contains_key(array.name) {
                prop_assert_eq!(stored.remove(array.name), Some(Bson::Array(Vec::new())));
            }
        }
        prop_assert_eq!(there, stored);
    }

    #[test]
    fn a_half_moved_document_is_read_and_moved_like_any_other(many in many(), stop in 0..3_usize) {
        // As a process would leave it that moves one array after the other.
        let there = moved(Attributes, &many).unwrap_or_else(|| many.clone());
        let part = &ALL.arrays()[..stop];
        let folded = fold(part, &raw(&many)).unwrap();
        let half = Document::try_from(folded).unwrap();
        let all = moved(Attributes, &half).unwrap_or_else(|| half.clone());
        for (name, value) in &there {
            prop_assert_eq!(all.get(name), Some(value), "{}", all);
        }
    }
}
