//! Events of a server, and the events of records that they mean.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

use bson::{Bson, DateTime, Document, RawDocumentBuf, Timestamp, doc, oid::ObjectId};
use bucket_core::{
    Record, RecordChange, WatchToken,
    watch::{Follow, Head, HeadLookup, Taken},
};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize};

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", crate = ::bucket_core, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            key: String,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i32,
        }

        impl Event for $name {
            fn number(&self) -> i32 {
                self.id
            }

            fn text_of(key: Self::Key) -> String {
                key.key
            }
        }
    )*};
}

trait Event: Record {
    fn number(&self) -> i32;
    fn text_of(key: Self::Key) -> String;
}

models! {
    Counted: [capacity = 100];
    Objects: [window = "1h", object_ids];
    Expiring: [capacity = 2, expire_after = "1h"];
    Hybrid: [capacity = 9, max_duration = "1h", expire_after = "1h"];
}

const ID: &str = "a_1698335220";

fn object() -> ObjectId {
    ObjectId::from_bytes([7; 12])
}

fn at(second: u32, increment: u32) -> Timestamp {
    Timestamp {
        time: second,
        increment,
    }
}

fn item(id: i32) -> Bson {
    doc! { "at": DateTime::from_millis(1_698_335_220_000), "id": id }.into()
}

fn items(ids: std::ops::Range<i32>) -> Vec<Bson> {
    ids.map(item).collect()
}

/// An event at this time.
fn event(kind: &str, id: impl Into<Bson>, time: Timestamp, more: Document) -> RawDocumentBuf {
    let token = format!("82{:08X}{:08X}2B", time.time, time.increment);
    let mut event = doc! {
        "_id": { "_data": token },
        "operationType": kind,
        "clusterTime": time,
        "documentKey": { "_id": id },
    };
    event.extend(more);
    RawDocumentBuf::try_from(&event).unwrap()
}

fn update(id: impl Into<Bson>, time: Timestamp, fields: Document) -> RawDocumentBuf {
    let none: Vec<Bson> = Vec::new();
    let update =
        doc! { "updatedFields": fields, "removedFields": none.clone(), "truncatedArrays": none };
    event("update", id, time, doc! { "updateDescription": update })
}

fn replace(time: Timestamp, count: i32) -> RawDocumentBuf {
    let stored = doc! { "_id": ID, "key": "a", "count": count, "items": items(0..count) };
    event("replace", ID, time, doc! { "fullDocument": stored })
}

fn head(count: i32) -> RawDocumentBuf {
    RawDocumentBuf::try_from(&doc! { "_id": ID, "key": "a", "count": count }).unwrap()
}

fn follow<T: Record>() -> Follow<T> {
    Follow::from_time(None, at(1, 1))
}

/// What an event means, as text, with the text of the place after each.
fn taken<T: Event>(taken: Taken<T>) -> Vec<(String, WatchToken)> {
    let Taken::Events(events) = taken else {
        panic!("events");
    };
    let each = events.into_iter().map(|placed| {
        let shown = match placed.event.map(|event| event.change) {
            Ok(RecordChange::Stored { record, index, .. }) => {
                format!("+{}@{index}", record.number())
            }
            Ok(RecordChange::Updated { record, index, .. }) => {
                format!("~{}@{index}", record.number())
            }
            Ok(RecordChange::Removed { id, index, .. }) => format!("-{}@{index}", id.unwrap()),
            Ok(RecordChange::BucketRemoved { key, .. }) => {
                format!("bucket {}", key.map_or("?".to_owned(), T::text_of))
            }
            Ok(RecordChange::Rewritten { key, .. }) => {
                format!("rewritten {}", key.map_or("?".to_owned(), T::text_of))
            }
            Ok(_) => panic!("another event"),
            Err(damaged) => format!("{damaged}"),
        };
        (shown, placed.position.token())
    });
    each.collect()
}

fn shown<T: Event>(of: Taken<T>) -> Vec<String> {
    taken(of).into_iter().map(|(shown, _)| shown).collect()
}

fn asked<T: Record>(taken: Taken<T>) -> HeadLookup {
    match taken {
        Taken::Ask(lookup) => lookup,
        other => panic!("no question: {}", matches!(other, Taken::Ended)),
    }
}

#[test]
fn of_a_whole_array_the_items_after_the_count_before_it_are_new() {
    let whole = update(ID, at(5, 1), doc! { "count": 5, "items": items(0..5) });
    for event in [whole, replace(at(5, 1), 5)] {
        let mut of = follow::<Counted>();
        asked(of.take(&event, None));
        let before = of.take(&event, Some(Head::Before(head(3))));
        assert_eq!(shown(before), ["+3@3", "+4@4"]);
        // The state of now may have more, and a count that is not known decides nothing.
        for head in [Head::Now(head(3)), Head::Nothing, Head::Before(head(5))] {
            let mut of = follow::<Counted>();
            assert_eq!(shown(of.take(&event, Some(head))), ["rewritten a"]);
        }
        // An earlier event has the count.
        let mut of = follow::<Counted>();
        let append = update(ID, at(4, 1), doc! { "count": 3, "items.2": item(2) });
        assert_eq!(shown(of.take(&append, None)), ["+2@2"]);
        assert_eq!(shown(of.take(&event, None)), ["+3@3", "+4@4"]);
        // A removed bucket is a new one when it comes again.
        let removed = deleted(ID, at(6, 1));
        assert_eq!(shown(of.take(&removed, None)), ["bucket a"]);
        asked(of.take(&event, None));
    }
}

fn deleted(id: impl Into<Bson>, time: Timestamp) -> RawDocumentBuf {
    event("delete", id, time, doc! {})
}

#[test]
fn the_question_is_for_the_moment_before_the_event() {
    let whole = |time| update(ID, time, doc! { "count": 5, "items": items(0..5) });
    for (time, before) in [
        (at(5, 3), at(5, 2)),
        (at(5, 1), at(5, 0)),
        (at(5, 0), at(4, u32::MAX)),
    ] {
        let lookup = asked(follow::<Counted>().take(&whole(time), None));
        let command = lookup.before(<Counted as Record>::SPEC);
        let concern = command.get_document("readConcern").unwrap();
        assert_eq!(concern.get_timestamp("atClusterTime").ok(), Some(before));
        assert_eq!(
            command.get_document("filter").unwrap(),
            &doc! { "_id": { "$eq": ID } }
        );
        let projection = command.get_document("projection").unwrap();
        assert!(!projection.contains_key("items"), "{projection}");
    }
}

#[test]
fn in_the_transaction_where_a_watch_goes_on_no_earlier_count_is_believed() {
    // The first two statements of a transaction on a bucket have one time.
    let mut of = follow::<Counted>();
    let first = update(ID, at(5, 1), doc! { "count": 3, "items.2": item(2) });
    let (_, token) = taken(of.take(&first, None)).remove(0);
    let second = update(ID, at(5, 1), doc! { "count": 5, "items": items(0..5) });
    let mut later = Follow::<Counted>::after(None, &token).unwrap();
    asked(later.take(&second, None));
    // Before the transaction there were two items.
    let of_second = later.take(&second, Some(Head::Before(head(2))));
    assert_eq!(shown(of_second), ["rewritten a"]);
}

#[test]
fn a_bucket_with_an_object_id_is_asked_for_its_key_once() {
    let fields = || doc! { "count": 3, "items.1": item(1), "items.2": item(2) };
    let mut of = follow::<Objects>();
    let first = update(object(), at(5, 1), fields());
    asked(of.take(&first, None));
    let of_first = of.take(&first, Some(Head::Now(head(9))));
    assert_eq!(shown(of_first), ["+1@1", "+2@2"]);
    let next = update(object(), at(6, 1), doc! { "count": 4, "items.3": item(3) });
    assert_eq!(shown(of.take(&next, None)), ["+3@3"]);
    assert_eq!(
        shown(of.take(&deleted(object(), at(7, 1)), None)),
        ["bucket a"]
    );
    assert_eq!(
        shown(of.take(&deleted(object(), at(8, 1)), None)),
        ["bucket ?"]
    );
    let gone = of.take(&first, Some(Head::Nothing));
    assert_eq!(shown(gone), ["rewritten ?"]);

    // A watch of another key leaves out what it knows to be of this one.
    let mut other = Follow::<Objects>::from_time(Some("b".into()), at(1, 1));
    asked(other.take(&first, None));
    assert!(shown(other.take(&first, Some(Head::Now(head(9))))).is_empty());
    assert!(shown(other.take(&next, None)).is_empty());
    assert!(shown(other.take(&deleted(object(), at(7, 1)), None)).is_empty());
}

#[test]
fn from_each_place_in_an_event_the_rest_of_it_follows() {
    let fields = || {
        doc! { "count": 13, "items.11": item(11), "items.12": item(12), "items.9": item(9), "items.10": item(10) }
    };
    let nothing = update(ID, at(5, 1), doc! { "note": 1 });
    let many = update(ID, at(6, 1), fields());
    let mut of = follow::<Counted>();
    assert!(shown(of.take(&nothing, None)).is_empty());
    let all = taken(of.take(&many, None));
    let expected = ["+9@9", "+10@10", "+11@11", "+12@12"];
    assert_eq!(
        all.iter()
            .map(|(shown, _)| shown.as_str())
            .collect::<Vec<_>>(),
        expected
    );
    for (index, (_, token)) in all.iter().enumerate() {
        let mut later = Follow::<Counted>::after(None, token).unwrap();
        if index + 1 == all.len() {
            // The place is after the event.
            let next = update(ID, at(7, 1), doc! { "count": 14, "items.13": item(13) });
            assert_eq!(shown(later.take(&next, None)), ["+13@13"]);
            continue;
        }
        // What is no event of records does not count.
        assert!(shown(later.take(&nothing, None)).is_empty());
        let rest = taken(later.take(&many, None));
        let shown: Vec<&str> = rest.iter().map(|(shown, _)| shown.as_str()).collect();
        assert_eq!(shown, expected[index + 1..]);
        // The last place is the same from everywhere.
        assert_eq!(rest.last(), all.last());
    }
}

#[test]
fn the_fields_of_an_update_distinguish_appends_edits_and_other_changes() {
    let edits = |removed: i32| doc! { "number": 3, "removed": removed };
    let mark = doc! { "at": DateTime::MIN, "id": 1, "_removed": true };
    let cases = [
        (
            doc! { "_edits": edits(0), "items.1": item(1) },
            vec!["~1@1"],
        ),
        (
            doc! { "_edits": edits(1), "items.1": mark.clone(), "items.2": item(2) },
            vec!["-1@1", "~2@2"],
        ),
        // No record was removed: a mark was one before, and has another id now.
        (
            doc! { "_edits.number": 4, "items.1": mark.clone(), "items.2": item(2) },
            vec!["~2@2"],
        ),
        (
            doc! { "_edits.number": 4, "_edits.removed": 2, "items.1": mark.clone() },
            vec!["-1@1"],
        ),
        (
            doc! { "count": 2, "items.1": item(1), "stats.sum": 1 },
            vec!["+1@1"],
        ),
        // Not at the end, without a count, with a gap, and a part of an item.
        (doc! { "count": 3, "items.1": item(1) }, vec!["rewritten a"]),
        (doc! { "items.1": item(1) }, vec!["rewritten a"]),
        (
            doc! { "count": 4, "items.1": item(1), "items.3": item(3) },
            vec!["rewritten a"],
        ),
        (doc! { "items.1.id": 7 }, vec!["rewritten a"]),
        (doc! { "is_closed": true }, vec![]),
        (doc! { "items2": 1, "count": 0 }, vec![]),
    ];
    for (fields, expected) in cases {
        let event = update(ID, at(5, 1), fields.clone());
        assert_eq!(
            shown(follow::<Counted>().take(&event, None)),
            expected,
            "{fields}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_an_error_in_its_place_and_the_next_event_follows() {
    let mut of = follow::<Counted>();
    let wrong = doc! { "at": 1, "id": 1 };
    let append = update(
        ID,
        at(5, 1),
        doc! { "count": 3, "items.1": wrong, "items.2": item(2) },
    );
    let events = taken(of.take(&append, None));
    assert!(events[0].0.contains("item 1"), "{events:?}");
    assert_eq!(events[1].0, "+2@2");
    // Of the whole event too.
    let broken = event("insert", ID, at(6, 1), doc! {});
    let broken = taken(of.take(&broken, None)).remove(0);
    let mut later = Follow::<Counted>::after(None, &broken.1).unwrap();
    let next = update(ID, at(7, 1), doc! { "count": 4, "items.3": item(3) });
    assert_eq!(shown(later.take(&next, None)), ["+3@3"]);
    assert!(matches!(
        of.take(&event("invalidate", ID, at(8, 1), doc! {}), None),
        Taken::Ended
    ));
}

/// The records before an edit of these items.
fn before(taken: Taken<Counted>) -> Vec<Option<i32>> {
    let Taken::Events(events) = taken else {
        panic!("events");
    };
    let each = events
        .into_iter()
        .map(|placed| match placed.event.unwrap().change {
            RecordChange::Updated { before, .. } | RecordChange::Removed { before, .. } => {
                before.map(|before| before.id)
            }
            other => panic!("{other:?}"),
        });
    each.collect()
}

/// An edit that sets these items to these ids.
fn edit(time: Timestamp, items: &[(u32, i32)]) -> RawDocumentBuf {
    let mut fields = doc! { "_edits": { "number": 1_i64, "removed": 0 } };
    for (index, id) in items {
        fields.insert(format!("items.{index}"), item(*id));
    }
    update(ID, time, fields)
}

/// The bucket before, with the items that were asked for.
fn part_of_head(ids: std::ops::Range<i32>) -> Head {
    let head = doc! { "_id": ID, "key": "a", "count": 9, "items": items(ids) };
    Head::Before(RawDocumentBuf::try_from(&head).unwrap())
}

#[test]
fn an_edit_asks_for_the_items_that_it_sets_as_they_were() {
    let mut of = follow::<Counted>().with_before();
    let event = edit(at(5, 1), &[(3, 33), (5, 55)]);
    let lookup = asked(of.take(&event, None));
    let command = lookup.before(<Counted as Record>::SPEC);
    let projection = command.get_document("projection").unwrap();
    let part = doc! { "$slice": [3_i64, 3_i64] };
    assert_eq!(projection.get_document("items").unwrap(), &part);
    let taken = of.take(&event, Some(part_of_head(3..6)));
    assert_eq!(before(taken), [Some(3), Some(5)]);
    // What the server does not remember is missing, and nothing else takes its place.
    for head in [Head::Now(head(9)), Head::Nothing] {
        let mut of = follow::<Counted>().with_before();
        asked(of.take(&event, None));
        assert_eq!(before(of.take(&event, Some(head))), [None, None]);
    }
    // Without it nobody is asked.
    let mut of = follow::<Counted>();
    assert_eq!(before(of.take(&event, None)), [None, None]);
}

#[test]
fn in_a_transaction_the_record_before_is_what_the_last_statement_left() {
    let mut of = follow::<Counted>().with_before();
    let append = update(ID, at(5, 1), doc! { "count": 10, "items.9": item(9) });
    shown(of.take(&append, None));
    let first = edit(at(5, 1), &[(3, 33), (9, 99)]);
    asked(of.take(&first, None));
    let taken = of.take(&first, Some(part_of_head(3..9)));
    assert_eq!(before(taken), [Some(3), Some(9)]);
    let second = edit(at(5, 1), &[(3, 333), (4, 44)]);
    asked(of.take(&second, None));
    let taken = of.take(&second, Some(part_of_head(3..5)));
    assert_eq!(before(taken), [Some(33), Some(4)]);
    // At the next moment the server shows it.
    let later = edit(at(5, 2), &[(3, 3_333)]);
    asked(of.take(&later, None));
    let taken = of.take(&later, Some(part_of_head(3..4)));
    assert_eq!(before(taken), [Some(3)]);
}

#[test]
fn where_a_watch_goes_on_in_a_transaction_no_record_before_is_believed() {
    let mut of = follow::<Counted>().with_before();
    let first = edit(at(5, 1), &[(3, 33)]);
    asked(of.take(&first, None));
    let (_, token) = taken(of.take(&first, Some(part_of_head(3..4)))).remove(0);
    let second = edit(at(5, 1), &[(3, 333)]);
    let mut later = Follow::<Counted>::after(None, &token)
        .unwrap()
        .with_before();
    asked(later.take(&second, None));
    assert_eq!(
        before(later.take(&second, Some(part_of_head(3..4)))),
        [None]
    );
    // A statement of another tool in it may have set anything.
    let mut of = follow::<Counted>().with_before();
    let other = update(ID, at(5, 1), doc! { "items.3.id": 4 });
    assert_eq!(shown(of.take(&other, None)), ["rewritten a"]);
    asked(of.take(&second, None));
    assert_eq!(before(of.take(&second, Some(part_of_head(3..4)))), [None]);
}

#[test]
fn a_removed_bucket_asks_for_its_key_and_the_number_of_its_records() {
    let mut of = follow::<Objects>().with_before();
    let event = deleted(object(), at(5, 1));
    let lookup = asked(of.take(&event, None));
    let command = lookup.before(<Objects as Record>::SPEC);
    let projection = command.get_document("projection").unwrap();
    assert!(!projection.contains_key("items"), "{projection}");
    let edits = doc! { "number": 2_i64, "removed": 2 };
    let stored = doc! { "_id": object(), "key": "a", "count": 9, "_edits": edits };
    let head = Head::Before(RawDocumentBuf::try_from(&stored).unwrap());
    let Taken::Events(mut events) = of.take(&event, Some(head)) else {
        panic!("events");
    };
    let event = events.pop_front().unwrap().event.unwrap();
    let RecordChange::BucketRemoved { key, records, .. } = event.change else {
        panic!("a removed bucket");
    };
    assert_eq!(
        (key.map(|key| key.key), records),
        (Some("a".to_owned()), Some(7))
    );
}

/// The span of a removed bucket in milliseconds, and whether it had expired.
fn gone<T: Event>(
    of: &mut Follow<T>,
    id: &str,
    time: Timestamp,
) -> (Option<[i64; 2]>, Option<bool>) {
    let Taken::Events(mut events) = of.take(&deleted(id, time), None) else {
        panic!("events");
    };
    let event = events.pop_front().unwrap().event.unwrap();
    let RecordChange::BucketRemoved { span, expired, .. } = event.change else {
        panic!("a removed bucket");
    };
    let millis = |side: Option<DateTime>| side.map_or(-1, DateTime::timestamp_millis);
    (
        span.map(|span| [millis(span.start()), millis(span.end())]),
        expired,
    )
}

#[test]
fn a_removed_bucket_had_expired_if_the_second_of_the_event_has_its_limit() {
    let end_of_second = 3_605_999;
    for (late, expired) in [(0, true), (1, false)] {
        let date = DateTime::from_millis(end_of_second - 3_600_000 + late);
        let stored =
            doc! { "_id": ID, "key": "a", "count": 1, "items": [item(1)], "expire_from": date };
        let inserted = event("insert", ID, at(5, 1), doc! { "fullDocument": stored });
        let mut of = follow::<Expiring>();
        shown(of.take(&inserted, None));
        assert_eq!(gone(&mut of, ID, at(3_605, 1)), (None, Some(expired)));
        // Of another bucket under this id nothing is known.
        assert_eq!(gone(&mut of, ID, at(3_605, 2)), (None, None));
    }
}

#[test]
fn a_removed_bucket_has_what_the_events_of_it_had_of_its_span() {
    let end = |millis: i64| DateTime::from_millis(millis);
    let append = update(
        ID,
        at(5, 1),
        doc! { "count": 2, "items.1": item(1), "bucket_end": end(800) },
    );
    // Its start is not known.
    let mut of = follow::<Hybrid>();
    shown(of.take(&append, None));
    assert_eq!(gone(&mut of, ID, at(6, 1)), (Some([-1, 801]), Some(false)));
    let stored = doc! {
        "_id": ID, "key": "a", "count": 1, "items": [item(0)],
        "bucket_start": end(300), "bucket_end": end(700),
    };
    let inserted = event("insert", ID, at(4, 1), doc! { "fullDocument": stored });
    let mut of = follow::<Hybrid>();
    shown(of.take(&inserted, None));
    shown(of.take(&append, None));
    assert_eq!(
        gone(&mut of, ID, at(3_601, 1)),
        (Some([300, 801]), Some(true))
    );
}

#[test]
fn at_the_place_where_a_watch_began_nothing_of_a_transaction_is_given() {
    // The first event can have the time from which the watch starts.
    let whole = update(ID, at(5, 1), doc! { "count": 5, "items": items(0..5) });
    let began = Follow::<Counted>::from_time(None, at(5, 1));
    let mut idle = Follow::<Counted>::from_time(None, at(5, 1));
    // As the server names a place where no event was.
    let mark = doc! { "_data": "8200000005000000012B0229296E04" };
    idle.idle(&RawDocumentBuf::try_from(&mark).unwrap());
    for token in [began.position().token(), idle.position().token()] {
        let mut later = Follow::<Counted>::after(None, &token).unwrap();
        asked(later.take(&whole, None));
        let of_whole = later.take(&whole, Some(Head::Before(head(3))));
        assert_eq!(shown(of_whole), ["+3@3", "+4@4"]);
    }
    // After an event it may be a transaction.
    let mut idle = Follow::<Counted>::from_time(None, at(5, 1));
    let event = doc! { "_data": "8200000005000000012B022C0100296E5A1004" };
    idle.idle(&RawDocumentBuf::try_from(&event).unwrap());
    let mut later = Follow::<Counted>::after(None, &idle.position().token()).unwrap();
    asked(later.take(&whole, None));
    let of_whole = later.take(&whole, Some(Head::Before(head(3))));
    assert_eq!(shown(of_whole), ["rewritten a"]);
}
