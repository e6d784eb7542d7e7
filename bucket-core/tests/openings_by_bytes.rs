//! A page is opened with room, so that the index on open buckets sees it: by the number of its records, and by their size.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "common/call.rs"]
mod call;
#[path = "common/collection.rs"]
mod collection;
#[path = "common/sample.rs"]
mod sample;

use bson::{DateTime, Document};
use bucket_core::{
    Record,
    write::{Batch, Call, Dispatch, Terms},
};

use self::{
    collection::Collection,
    sample::{COUNT_BYTES, MAX_BYTES, Sample},
};

/// The size and the number of records with which each page of these records was opened.
fn openings(sizes: &[usize]) -> Vec<(i64, i32)> {
    let collection = Collection::new(Sample::<COUNT_BYTES>::SPEC);
    let mut batch = Batch::of::<Sample<COUNT_BYTES>>();
    for (index, size) in sizes.iter().enumerate() {
        let record = Sample::<COUNT_BYTES> {
            device: "0".to_owned(),
            at: DateTime::from_millis(i64::try_from(index).unwrap()),
            unique: 0,
            value: 1,
            level: None,
            code: "x".repeat(*size),
        };
        batch.push(index, &record).unwrap();
    }
    let mut opened = Vec::new();
    let call = Call::new(batch, Terms::default());
    let report = call::run(
        call,
        &collection,
        |_| {},
        |collection, command: &Dispatch| {
            let body = Document::try_from(&*command.body).unwrap();
            let updates = body.get_array("updates").unwrap();
            for update in updates.iter().filter_map(|of| of.as_document()) {
                let change = update.get_document("u").unwrap();
                let sets_id = change
                    .get_document("$set")
                    .is_ok_and(|set| set.contains_key("_id"));
                // A whole page is placed before one that is reserved, which the index sees.
                let is_placed = update.get_document("q").unwrap().contains_key("$nor");
                let is_opening = sets_id && !is_placed;
                let Some(added) = change.get_document("$inc").ok().filter(|_| is_opening) else {
                    continue;
                };
                let bytes = added.get_i64("bytes").unwrap();
                opened.push((bytes, added.get_i32("count").unwrap()));
            }
            call::answered(collection, command)
        },
    );
    assert_eq!(report.stored, sizes.len(), "{report:?}");
    let count = |of: &Document| of.get_array("items").unwrap().len();
    let stored: usize = collection.documents().iter().map(count).sum();
    assert_eq!(stored, sizes.len());
    opened
}

#[test]
fn a_page_is_opened_with_room_by_bytes_unless_one_record_takes_it_all() {
    let max = i64::from(MAX_BYTES);
    for size in 0..300 {
        let opened = openings(&[size; 9]);
        assert!(!opened.is_empty());
        for (bytes, count) in opened {
            assert!(
                bytes < max || count == 1,
                "{size}: {bytes} bytes, {count} records"
            );
        }
    }
    let all = openings(&[500, 500]);
    assert!(
        all.iter()
            .all(|(bytes, count)| *bytes >= max && *count == 1),
        "{all:?}"
    );
}
