//! The state of a bucket that an edit matches: another writer's change is never overwritten, and the statement fits.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
#[cfg(feature = "seal")]
use bucket_core::seal::{Due, Sealing, command as seal_command, seal};
use bucket_core::{
    Record, RecordRef, TimeRange, Which,
    edit::{Change, Edit, EditFailure, EditNext},
    read,
};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "visits",
    items = "visits",
    capacity = 2_000,
    max_bytes = "1MB",
    crate = ::bucket_core,
    attributes(array = "attrs", store = "bucket")
)]
struct Visit {
    #[bucket(key)]
    page: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "attrs", k = "country"))]
    country: String,
    seconds: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "files", items = "files", capacity = 2_000, crate = ::bucket_core)]
struct File {
    #[bucket(key)]
    folder: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "files", items = "files", capacity = 1, crate = ::bucket_core)]
struct Large {
    #[bucket(key)]
    folder: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    text: String,
}

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn attributes(country: &str) -> Bson {
    vec![doc! { "k": "country", "v": country }].into()
}

fn item(seconds: i64) -> Document {
    doc! { "at": DateTime::from_millis(seconds), "seconds": seconds }
}

/// A bucket of one key with these items and fields.
fn bucket(items: &str, key: &str, all: Vec<Document>, more: Document) -> Document {
    let mut bucket = doc! { "_id": "1_0000000000", key: 1_i64 };
    bucket.insert("count", i32::try_from(all.len()).unwrap());
    bucket.extend(more);
    bucket.insert(items, all);
    bucket
}

fn visits(more: Document) -> Document {
    bucket("visits", "page", vec![item(5), item(6)], more)
}

fn files(texts: impl IntoIterator<Item = String>) -> Document {
    let items = (0_i64..)
        .zip(texts)
        .map(|(id, text)| doc! { "at": DateTime::from_millis(id), "id": id, "text": text });
    bucket("files", "folder", items.collect(), doc! {})
}

fn references(bucket: &Document) -> Vec<RecordRef> {
    let found = read::references::<Visit>(&raw(bucket), TimeRange::ALL).unwrap();
    found.into_iter().map(|it| it.reference).collect()
}

/// The command that an edit sends for a bucket.
fn command<T: Record>(edit: &mut Edit<'_, T>, bucket: &Document) -> RawDocumentBuf {
    edit.found(&[raw(bucket)], DateTime::from_millis(0));
    match edit.next() {
        EditNext::Send { command, .. } => command,
        _ => panic!("{edit:?}"),
    }
}

/// Its filter and its change.
fn parts(command: &RawDocumentBuf) -> (Document, Document) {
    let command = Document::try_from(command.clone()).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    let part = |name| update.get_document(name).unwrap().clone();
    (part("q"), part("u"))
}

fn update_of(reference: &RecordRef) -> Edit<'static, Visit> {
    let change = Change::Update(Box::new(|visit: &mut Visit| visit.seconds -= 1));
    Edit::update(1.into(), &Which::from(reference), None, change).weak()
}

#[test]
fn an_edit_matches_what_the_bucket_holds_and_its_size_as_they_were_read() {
    let held = doc! { "bytes": 100_i64, "attrs": attributes("de") };
    for (held, bytes, attrs) in [
        (
            held,
            doc! { "$eq": 100_i64 },
            doc! { "$eq": attributes("de") },
        ),
        (
            doc! {},
            doc! { "$exists": false },
            doc! { "$exists": false },
        ),
    ] {
        let mut visits = visits(held.clone());
        if held.is_empty() {
            let items = [5, 6].map(|seconds| {
                let mut item = item(seconds);
                item.insert("attrs", attributes("de"));
                item
            });
            visits.insert("visits", items.to_vec());
        }
        let reference = &references(&visits)[0];
        let mut update = update_of(reference);
        let mut delete = Edit::<Visit>::delete(1.into(), &reference.into());
        for edit in [&mut update, &mut delete] {
            let (filter, _) = parts(&command(edit, &visits));
            assert_eq!(filter.get("attrs"), Some(&attrs.clone().into()));
            assert_eq!(filter.get("bytes"), Some(&bytes.clone().into()));
        }
    }
}

#[test]
fn a_bucket_without_a_size_gets_none_by_an_update() {
    let visits = visits(doc! { "attrs": attributes("de") });
    let mut update = update_of(&references(&visits)[0]);
    let (_, change) = parts(&command(&mut update, &visits));
    // With a size it would take records again, although nobody counted what it has.
    assert!(!change.get_document("$set").unwrap().contains_key("bytes"));
}

#[test]
fn a_reference_is_to_the_record_with_what_its_bucket_holds_for_it() {
    let holds = |country: &str| visits(doc! { "bytes": 100_i64, "attrs": attributes(country) });
    let reference = &references(&holds("de"))[0];
    command(&mut update_of(reference), &holds("de"));
    let mut update = update_of(reference);
    update.found(&[raw(&holds("fr"))], DateTime::from_millis(0));
    assert!(matches!(update.end(), Err(EditFailure::Changed)));
    // An item with its own attributes does not rely on the bucket.
    let mut own = holds("de");
    let mut with_own = item(5);
    with_own.insert("attrs", attributes("it"));
    own.insert("visits", vec![with_own, item(6)]);
    let reference = &references(&own)[0];
    own.insert("attrs", attributes("fr"));
    command(&mut update_of(reference), &own);
}

#[test]
fn a_reference_from_before_it_had_what_the_bucket_holds_is_still_taken() {
    let stored = visits(doc! { "bytes": 100_i64, "attrs": attributes("de") });
    // To the first of the two items, by itself.
    let reference = RecordRef::from("AXLNklIoygAAAAf2RHhEbfgfxew");
    assert_ne!(references(&stored)[0], reference);
    command(&mut update_of(&reference), &stored);
}

#[test]
fn the_command_of_an_update_of_ten_megabytes_is_one_that_servers_take() {
    const RECORD: usize = 10_000_000;
    const MAX_COMMAND: usize = 16 * 1024 * 1024;
    let long = |letter: &str| letter.repeat(RECORD);
    let stored = files([long("a")]);
    let change = Change::Update(Box::new(|file: &mut Large| file.text = long("b")));
    let mut update = Edit::update(1.into(), &Which::id(&0_i64), None, change);
    let sent = command(&mut update, &stored);
    assert!(
        sent.as_bytes().len() < MAX_COMMAND,
        "{}",
        sent.as_bytes().len()
    );
    let (filter, change) = parts(&sent);
    assert_eq!(
        filter.get("files.0.id"),
        Some(&doc! { "$eq": 0_i64 }.into())
    );
    assert!(change.get_document("$set").unwrap().contains_key("files.0"));
    // All of a large bucket goes.
    let stored = files((0..159).map(|_| "a".repeat(100_000)));
    let which = Which::id(&0_i64);
    let mut removal = Edit::<File>::delete_some(1.into(), &which, TimeRange::ALL, None);
    let sent = command(&mut removal, &stored);
    assert!(
        sent.as_bytes().len() < MAX_COMMAND,
        "{}",
        sent.as_bytes().len()
    );
}

#[cfg(feature = "seal")]
#[test]
fn an_edit_of_large_columns_matches_the_mark_that_was_read() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "files", items = "files", capacity = 7, seal_after = "1h", crate = ::bucket_core)]
    struct Sealed {
        #[bucket(key)]
        folder: i64,
        #[bucket(time)]
        at: DateTime,
        id: i64,
        text: String,
    }
    // Texts that look random: columns of them are about as large.
    let mut number = 88_172_645_463_325_252_u64;
    let mut letter = || {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        char::from(b' ' + u8::try_from(number % 95).unwrap())
    };
    let stored = files((0..7).map(|_| (0..1_000_000).map(|_| letter()).collect()));
    let due = Due::after(0, DateTime::now());
    let Ok(Sealing::Statement(statement)) = seal::<Sealed>(&raw(&stored), |_| None, due) else {
        panic!("it is not sealed");
    };
    let (_, change) = parts(&seal_command(&Sealed::SPEC, [&statement]));
    let mut sealed = stored;
    sealed.extend(change.get_document("$set").unwrap().clone());
    let found = read::references::<Sealed>(&raw(&sealed), TimeRange::ALL).unwrap();
    let change = Change::Update(Box::new(|file: &mut Sealed| file.id += 10));
    let mut update = Edit::update(1.into(), &Which::from(&found[0].reference), None, change);
    let (filter, _) = parts(&command(&mut update, &sealed));
    assert_eq!(
        filter.get("files"),
        Some(&doc! { "$type": "binData" }.into())
    );
    let mark = doc! { "$eq": sealed.get_document("_sealed").unwrap().clone() };
    assert_eq!(filter.get("_sealed"), Some(&mark.into()));
}

#[test]
fn a_removal_of_many_records_has_one_condition_for_all_items() {
    let conditions = |number: usize| {
        let stored = files((0..number).map(|id| id.to_string()));
        let which = Which::id(&0_i64);
        let mut removal = Edit::<File>::delete_some(1.into(), &which, TimeRange::ALL, None);
        let (filter, _) = parts(&command(&mut removal, &stored));
        let names = filter.keys().filter(|name| name.starts_with("files"));
        names.cloned().collect::<Vec<String>>()
    };
    assert_eq!(conditions(16).len(), 16);
    for number in [17, 1_500] {
        assert_eq!(conditions(number), ["files"]);
    }
}
