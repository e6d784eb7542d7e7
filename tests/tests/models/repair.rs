//! `repair` mends what follows from the rest of a bucket, moves the rest into the quarantine, and loses nothing.

use std::{
    collections::{BTreeSet, HashMap},
    sync::atomic::{AtomicBool, Ordering},
};

use bucket_core::{
    Form,
    repair::{Remedy, move_out, remedy},
};
use bucket_mongo::{
    Buckets, ErrorKind, ProblemKind, RepairReport, Which,
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents, profiled};
use futures_util::TryStreamExt;

use super::verify::{
    Aging, AgingNumbers, AgingWindows, Counted, Event, Hybrid, Numbered, Random, Windowed,
    WindowedObjects, at, buckets_of, by_hand, date, kinds, leaves, other, replaced, set, stored,
    without,
};

macro_rules! forms {
    ($($test:ident $name:ident,)*) => {$(
        mod $test {
            #[tokio::test(flavor = "multi_thread")]
            async fn damages_by_hand_are_mended_or_moved() {
                super::damages_by_hand::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn many_random_damages_together_lose_no_item() {
                super::random_damages::<super::$name>().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn writers_at_work_lose_nothing() {
                super::storm::<super::$name>().await;
            }
        }
    )*};
}

forms! {
    counted Counted,
    aging Aging,
    windows Windowed,
    aging_windows AgingWindows,
    object_windows WindowedObjects,
    hybrid Hybrid,
    numbered Numbered,
    aging_numbers AgingNumbers,
}

const QUARANTINE: &str = "events_quarantine";

/// What another bucket that moved leaves between its neighbours.
fn is_gap(kind: ProblemKind) -> bool {
    kind == ProblemKind::Gap
}

/// Verifies and repairs; the report of the repair, and the kinds that another check finds.
async fn repaired<T: Event>(events: &Buckets<T>) -> (RepairReport, BTreeSet<ProblemKind>) {
    let found = events.verify().await.unwrap();
    let report = events.repair(&found).await.unwrap();
    let left = events.verify().await.unwrap();
    (report, kinds(&left.findings))
}

async fn quarantined(database: &TestDatabase) -> Vec<Document> {
    let copies = documents(database, QUARANTINE).await.into_iter();
    copies
        .map(|copy| copy.get_document("document").unwrap().clone())
        .collect()
}

/// The damages whose document follows from its other fields.
#[allow(clippy::match_same_arms, reason = "an arm for each reason")]
fn follows<T: Event>(name: &str) -> bool {
    let is_hybrid = matches!(T::SPEC.form(), Form::Hybrid { .. });
    let has_text_id = !T::SPEC.object_ids();
    match name {
        "count"
        | "no count"
        | "count is text"
        | "removed"
        | "edits are text"
        | "sum"
        | "an item has another value"
        | "an aggregate is missing"
        | "an aggregate is text"
        | "a longer item"
        | "bytes"
        | "bytes are text"
        | "age is text"
        | "too old"
        | "too young"
        | "no mark"
        | "the mark is text"
        | "is_full"
        | "is_closed" => true,
        // What the items were, no field says. But a full bucket of the manual's form has to stay full.
        "empty items" => {
            !matches!(T::SPEC.form(), Form::Count { .. }) || T::SPEC.max_bytes().is_some()
        }
        "no start" | "a later start" => has_text_id,
        "a later end" | "an earlier end" | "no end" => is_hybrid,
        "number is text" => has_text_id,
        "an item has another time" => {
            !matches!(T::SPEC.form(), Form::Hybrid { .. } | Form::Window { .. })
        }
        // They do no harm.
        "bucket size" | "more room" | "opening is text" => true,
        _ => false,
    }
}

async fn damages_by_hand<T: Event>() {
    let database = database().await;
    let events = stored::<T>(&database).await;
    let bucket = buckets_of(&database, "full").await[1].clone();
    let id = bucket.get("_id").unwrap().clone();
    let mut damages = by_hand::<T>(&bucket);
    // Of the same damage of each aggregate, two are enough here.
    let mut times = HashMap::new();
    damages.retain(|(name, ..)| {
        let times = times.entry(name.clone()).or_insert(0);
        *times += 1;
        *times <= 2
    });
    for mark in ["is_full", "is_closed"] {
        let open = set(&bucket, mark, false.into());
        damages.extend(open.map(|open| (mark.to_owned(), open, vec![ProblemKind::NotMarked])));
    }
    let copies = database.collection::<Document>(QUARANTINE);
    let mut wrong = Vec::new();
    for (name, damaged, expected) in damages {
        assert!(replaced(&database, &id, &damaged).await, "{name}");
        let found = events.verify().await.unwrap();
        if found.is_clean() {
            // The retention may have removed the bucket with the number between.
            let is_hidden = name == "number" && T::SPEC.expire_after().is_some();
            assert!(expected.is_empty() || is_hidden, "{name}");
            replaced(&database, &id, &bucket).await;
            continue;
        }
        let before = documents(&database, "events").await;
        let dry = events.repair(&found).dry_run().await.unwrap();
        assert_eq!(documents(&database, "events").await, before, "{name}");
        assert!(quarantined(&database).await.is_empty(), "{name}");
        let report = events.repair(&found).await.unwrap();
        assert_eq!(
            (dry.mended, dry.quarantined, dry.left, &dry.buckets),
            (
                report.mended,
                report.quarantined,
                report.left,
                &report.buckets
            ),
            "{name}"
        );
        let after = events.verify().await.unwrap();
        let moved = quarantined(&database).await;
        let damaged_id = damaged.get("_id").unwrap();
        let now = documents(&database, "events").await;
        let now = now.iter().find(|it| it.get("_id") == Some(damaged_id));
        let is_right = if follows::<T>(&name) {
            moved.is_empty()
                && after.harmful() == 0
                && now.is_some_and(|now| now.get("items") == damaged.get("items"))
        } else {
            moved == [damaged.clone()]
                && now.is_none()
                && kinds(&after.findings).into_iter().all(is_gap)
        };
        if !is_right {
            wrong.push(format!("{name}: {report}\nthen {after}\n{now:?}"));
        }
        // What is left does no harm, and another repair finds nothing to do.
        let again = events.repair(&after).await.unwrap();
        assert_eq!((again.mended, again.quarantined), (0, 0), "{name}: {again}");
        copies.drop().await.unwrap();
        replaced(&database, damaged_id, &bucket).await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
}

/// The items of documents, as text, sorted.
fn items_of(documents: &[Document]) -> Vec<String> {
    let mut all = Vec::new();
    for document in documents {
        match document.get("items") {
            Some(Bson::Array(items)) => all.extend(items.iter().map(ToString::to_string)),
            other => all.push(format!("{other:?}")),
        }
    }
    all.sort_unstable();
    all
}

async fn random_damages<T: Event>() {
    for seed in 0..3 {
        let database = database().await;
        let events = stored::<T>(&database).await;
        let mut random = Random(seed * 1_000_003 + 11);
        let mut told = Vec::new();
        for bucket in documents(&database, "events").await {
            let mut damaged = bucket.clone();
            for _ in 0..=random.below(3) {
                let mut paths = Vec::new();
                leaves(&Bson::Document(damaged.clone()), "", &mut paths);
                let path = paths.swap_remove(random.below(paths.len()));
                let next = if random.below(4) == 0 {
                    without(&damaged, &path)
                } else {
                    let mut value = Bson::Document(damaged.clone());
                    let value = other(at(&mut value, &path).unwrap(), &mut random);
                    set(&damaged, &path, value)
                };
                // Neither an id nor a collection without one can be stored.
                let next =
                    next.filter(|next| !matches!(next.get("_id"), None | Some(Bson::Array(_))));
                if let Some(next) = next {
                    told.push(path);
                    damaged = next;
                }
            }
            let id = bucket.get("_id").unwrap();
            if !replaced(&database, id, &damaged).await {
                assert!(replaced(&database, &Bson::Null, &bucket).await);
            }
        }
        let before = items_of(&documents(&database, "events").await);
        let found = events.verify().await.unwrap();
        let report = events.repair(&found).await.unwrap();
        let after = events.verify().await.unwrap();
        let context = format!("seed {seed}, {told:?}\n{found}\n{report}\n{after}");
        let is_left = |kind: &ProblemKind| !kind.is_harmful() || is_gap(*kind);
        // What moved leaves gaps, and what was closed may leave two at one place.
        assert!(kinds(&after.findings).iter().all(is_left), "{context}");
        let mut all = documents(&database, "events").await;
        all.extend(quarantined(&database).await);
        assert_eq!(items_of(&all), before, "{context}");
        assert_eq!(report.changed + report.not_kept, 0, "{context}");
    }
}

async fn storm<T: Event>() {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let (done, mut total) = (AtomicBool::new(false), 0);
    let mut lengths = Random(5);
    let rounds: Vec<Vec<i64>> = (0..3)
        .map(|_| (0..25).map(|_| [1, 2, 7, 40][lengths.below(4)]).collect())
        .collect();
    for round in rounds.iter().flatten() {
        total += round;
    }
    let running = AtomicBool::new(false);
    let writer = |writer: usize| {
        let (events, lengths) = (T::buckets(&database), &rounds[writer]);
        let running = &running;
        async move {
            running.store(true, Ordering::Relaxed);
            for (round, length) in (0_i64..).zip(lengths) {
                let first = i64::try_from(writer + 1).unwrap() * 1_000_000 + round * 100;
                let records = (first..first + length).map(|n| {
                    let device = ["a", "b"][usize::try_from(n % 2).unwrap()];
                    T::of(device, date(round + n % 3), n)
                });
                let report = events.insert_many(records.collect::<Vec<T>>()).await;
                report.unwrap().into_result().unwrap();
            }
        }
    };
    let writers = async {
        tokio::join!(writer(0), writer(1), writer(2));
        done.store(true, Ordering::Relaxed);
    };
    let repairer = async {
        let events = T::buckets(&database);
        let collection = database.collection::<Document>("events");
        let mut random = Random(9);
        let mut mended = 0;
        while !done.load(Ordering::Relaxed) {
            let all = documents(&database, "events").await;
            if all.is_empty() {
                continue;
            }
            // The newest ones are those that writers change.
            for _ in 0..8 {
                let id = all[random.below(all.len())].get("_id").unwrap();
                let wrong = doc! { "$set": { "stats.sum": 7_777_777_i64 } };
                let wrong = collection.update_one(doc! { "_id": id }, wrong);
                wrong.await.unwrap();
            }
            let found = events.verify().await.unwrap();
            let report = events.repair(&found).await.unwrap();
            mended += report.mended;
            // No stale aggregates were stored over those of a writer.
            let left = events.verify().await.unwrap();
            assert!(left.is_clean() || report.changed > 0, "{report}\n{left}");
        }
        let found = events.verify().await.unwrap();
        events.repair(&found).await.unwrap();
        mended
    };
    let (mended, ()) = tokio::join!(repairer, writers);
    assert!(mended > 0);
    let report = T::buckets(&database).verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.records, u64::try_from(total).unwrap());
    assert!(quarantined(&database).await.is_empty());
}

#[tokio::test]
async fn a_statement_changes_nothing_if_a_writer_came_first() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let collection = database.collection::<RawDocumentBuf>("events");
    let sum = doc! { "$set": { "stats.sum": 7_777_i64 } };
    let open = doc! { "device": "a", "count": { "$lt": 3 } };
    collection.update_one(open.clone(), sum).await.unwrap();
    let read = collection.find_one(open.clone()).await.unwrap().unwrap();
    let record = Counted::of("a", date(50), 50);
    events.insert(&record).await.unwrap();
    let now = collection.find_one(doc! { "_id": read.get_str("_id").unwrap() });
    let now = now.await.unwrap().unwrap();
    for (stored, changed) in [(&read, 0), (&now, 1)] {
        let remedy = remedy::<Counted>(stored, |_| None, DateTime::now(), None, false);
        let Remedy::Mend { command, .. } = remedy else {
            panic!("{remedy:?}");
        };
        let command = Document::try_from(command).unwrap();
        let reply = database.run_command(command).await.unwrap();
        assert_eq!(reply.get_i32("n").unwrap(), changed, "{reply}");
    }
    let report = events.verify().await.unwrap();
    assert!(report.is_clean(), "{report}");
    for (stored, changed) in [(&read, 0), (&now, 0)] {
        let command = Document::try_from(move_out(events.spec(), stored)).unwrap();
        let reply = database.run_command(command).await.unwrap();
        assert_eq!(reply.get_i32("n").unwrap(), changed, "{reply}");
    }
}

#[tokio::test]
async fn a_copy_of_an_ended_call_is_found_again_and_another_bucket_gets_its_own() {
    let database = database().await;
    let events = stored::<Windowed>(&database).await;
    let bucket = buckets_of(&database, "b").await[2].clone();
    let id = bucket.get("_id").unwrap();
    let damaged = set(&bucket, "items.0.number", "x".into()).unwrap();
    let collection = database.collection::<Document>("events");
    for copies in [1, 1, 2] {
        let damaged = match copies {
            // As if the call had ended before the removal.
            1 => damaged.clone(),
            _ => set(&damaged, "items.0.level", "y".into()).unwrap(),
        };
        collection.delete_one(doc! { "_id": id }).await.unwrap();
        collection.insert_one(&damaged).await.unwrap();
        let (report, _) = repaired(&events).await;
        assert_eq!(report.quarantined, 1, "{report}");
        let moved = quarantined(&database).await;
        assert_eq!(moved.len(), copies);
        assert_eq!(moved.last(), Some(&damaged));
    }
    let copy = &documents(&database, QUARANTINE).await[1];
    let expected = doc! { "collection": "events", "id": id.clone(), "number": 1 };
    assert_eq!(copy.get_document("_id").unwrap(), &expected);
    let reason = copy.get_array("reasons").unwrap()[0].as_document().unwrap();
    assert_eq!(reason.get_str("problem").unwrap(), "item");
    assert!(copy.get_datetime("at").is_ok());
}

#[tokio::test]
async fn a_statement_finds_its_document_by_the_index_on_ids() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let buckets = buckets_of(&database, "b").await;
    let sum = set(&buckets[0], "stats.sum", 1.into()).unwrap();
    let item = set(&buckets[1], "items.0.number", "x".into()).unwrap();
    for damaged in [sum, item] {
        assert!(replaced(&database, damaged.get("_id").unwrap(), &damaged).await);
    }
    let found = events.verify().await.unwrap();
    let (report, commands) = profiled(&database, "events", async {
        events.repair(&found).await.unwrap()
    })
    .await;
    assert_eq!((report.mended, report.quarantined), (1, 1), "{report}");
    let mut written = 0;
    for command in &commands {
        let op = command.get_str("op").unwrap_or_default();
        if op == "query" || op == "update" || op == "remove" {
            written += usize::from(op != "query");
            assert_eq!(command.get_i32("docsExamined").unwrap(), 1, "{command}");
            assert_eq!(command.get_i32("keysExamined").unwrap(), 1, "{command}");
        }
    }
    assert_eq!(written, 2);
}

#[tokio::test]
async fn buckets_that_are_in_each_others_way_are_closed_or_moved() {
    // Two open buckets: the earlier one is closed.
    let database = database().await;
    let events = stored::<Numbered>(&database).await;
    let collection = database.collection::<Document>("events");
    let open = Numbered::SPEC.open_index_name().unwrap();
    collection.drop_index(open).await.unwrap();
    let second = buckets_of(&database, "a").await[1].clone();
    let damaged = set(&second, "is_full", false.into()).unwrap();
    assert!(replaced(&database, second.get("_id").unwrap(), &damaged).await);
    let (report, left) = repaired(&events).await;
    assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(buckets_of(&database, "a").await[1], second);

    // Two of one number: one moves, and the other one stays.
    let numbered = stored_number_twice(&database).await;
    let (report, left) = repaired(&events).await;
    assert_eq!(report.quarantined, 1, "{report}");
    assert!(left.is_empty(), "{left:?}");
    let moved = quarantined(&database).await;
    assert!(moved.len() == 1 && moved[0].get("bucket_number") == Some(&numbered));
}

/// A second bucket with a number, which an index forbids.
async fn stored_number_twice(database: &TestDatabase) -> Bson {
    let collection = database.collection::<Document>("events");
    let bucket = buckets_of(database, "b").await[1].clone();
    let mut indexes = collection.list_indexes().await.unwrap();
    let mut plain = Vec::new();
    while let Some(index) = indexes.try_next().await.unwrap() {
        if index.keys.contains_key("bucket_number") {
            plain.push(index);
        }
    }
    for mut index in plain {
        let options = index.options.as_mut().unwrap();
        let name = options.name.clone().unwrap();
        collection.drop_index(name).await.unwrap();
        options.unique = None;
        collection.create_index(index).await.unwrap();
    }
    let id = bucket.get_str("_id").unwrap();
    let mut copy = set(&bucket, "_id", format!("{id}_1").into()).unwrap();
    for index in 0..3 {
        let name = format!("copy {index}").into();
        copy = set(&copy, &format!("items.{index}.name"), name).unwrap();
    }
    collection.insert_one(copy).await.unwrap();
    bucket.get("bucket_number").unwrap().clone()
}

#[tokio::test]
async fn removed_records_stay_removed() {
    let database = database().await;
    let events = stored::<Windowed>(&database).await;
    let id = buckets_of(&database, "b").await[0].get("_id").cloned();
    let bucket = async || {
        let all = documents(&database, "events").await;
        all.into_iter()
            .find(|it| it.get("_id") == id.as_ref())
            .unwrap()
    };
    for number in [0, 1] {
        let which = Which::id(&format!("b {number}"));
        let removed = events.delete(Windowed::key_of("b"), which).await;
        assert!(removed.unwrap().is_some());
    }
    let right = bucket().await;
    let one = set(&right, "_edits.removed", 0.into()).unwrap();
    let two = set(
        &set(&one, "stats.sum", 5.into()).unwrap(),
        "count",
        1.into(),
    )
    .unwrap();
    for damaged in [one, two] {
        assert!(replaced(&database, right.get("_id").unwrap(), &damaged).await);
        let (report, left) = repaired(&events).await;
        assert_eq!((report.mended, report.quarantined), (1, 0), "{report}");
        assert!(left.is_empty(), "{left:?}");
        let mended = bucket().await;
        assert_eq!(mended.get("stats"), right.get("stats"));
        assert_eq!(mended.get("items"), right.get("items"));
        let edits = mended.get_document("_edits").unwrap();
        assert_eq!(edits.get_i64("removed").unwrap(), 2);
        assert_eq!(events.count(Windowed::key_of("b")).await.unwrap(), 8);
    }
}

#[tokio::test]
async fn findings_that_a_report_did_not_keep_are_found_again() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    for bucket in documents(&database, "events").await {
        let damaged = set(&bucket, "count", 77.into()).unwrap();
        assert!(replaced(&database, bucket.get("_id").unwrap(), &damaged).await);
    }
    let found = events.verify().keep(2).await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!(report.mended, 2, "{report}");
    assert_eq!(report.not_kept, found.total() - 2);
    assert!(report.to_string().contains("verify_again"), "{report}");
    let report = events.repair(&found).verify_again().await.unwrap();
    assert_eq!((report.fine, report.not_kept), (0, 0), "{report}");
    let left = events.verify().await.unwrap();
    assert!(left.is_clean(), "{left}");
}

#[tokio::test]
async fn nothing_is_done_about_a_bucket_that_is_gone_or_fine() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let buckets = buckets_of(&database, "b").await;
    for bucket in &buckets[..2] {
        let damaged = set(bucket, "count", 77.into()).unwrap();
        assert!(replaced(&database, bucket.get("_id").unwrap(), &damaged).await);
    }
    let found = events.verify().await.unwrap();
    assert!(replaced(&database, buckets[0].get("_id").unwrap(), &buckets[0]).await);
    let collection = database.collection::<Document>("events");
    let id = buckets[1].get("_id");
    collection.delete_one(doc! { "_id": id }).await.unwrap();
    let report = events.repair(&found).await.unwrap();
    assert_eq!((report.fine, report.mended, report.quarantined), (2, 0, 0));
    assert!(report.buckets.is_empty());
}

#[tokio::test]
async fn a_quarantine_that_removes_or_hides_buckets_is_refused() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let bucket = buckets_of(&database, "b").await[1].clone();
    let damaged = bucket
        .clone()
        .into_iter()
        .filter(|(name, _)| name != "device");
    let damaged: Document = damaged.collect();
    assert!(replaced(&database, bucket.get("_id").unwrap(), &damaged).await);
    let found = events.verify().await.unwrap();
    database
        .create_collection("capped")
        .capped(true)
        .size(4_096)
        .await
        .unwrap();
    database
        .create_collection("view")
        .view_on("events")
        .await
        .unwrap();
    let before = documents(&database, "events").await;
    for name in ["capped", "view"] {
        let error = events.repair(&found).quarantine(name).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(name), "{error}");
        let error = events
            .repair(&found)
            .quarantine(name)
            .dry_run()
            .await
            .unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
    }
    assert_eq!(documents(&database, "events").await, before);
    let report = events.repair(&found).await.unwrap();
    assert_eq!(report.quarantined, 1, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_collection_is_no_quarantine_of_its_own() {
    let database = database().await;
    let events = stored::<Counted>(&database).await;
    let found = events.verify().await.unwrap();
    for name in ["events", ""] {
        let error = events.repair(&found).quarantine(name).await.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidArgument { .. }),
            "{error}"
        );
    }
}
