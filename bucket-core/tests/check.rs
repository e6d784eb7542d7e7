//! Each kind of problem, in documents made by hand: it is found, and nothing else is.
#![allow(clippy::unwrap_used)]

mod stored_buckets;

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, doc, oid::ObjectId};
use bucket_core::{
    Record,
    check::{CheckPosition, Checker, Finding, Problem, ProblemKind, Suspicion},
};

use self::stored_buckets::{
    Aging, Counted, Hybrid, MINUTE, NOW, Numbered, Objects, Scan, Windowed, aging, bucket, hybrids,
    item, numbers, pages, scan, time, windows, with, with_stats,
};

fn findings<T: Record>(documents: &[Document]) -> Vec<Finding> {
    let mut checker = Checker::<T>::new(NOW);
    let documents: Vec<RawDocumentBuf> = documents
        .iter()
        .map(|document| RawDocumentBuf::try_from(document).unwrap())
        .collect();
    for document in &documents {
        checker.take(document, |_| None);
    }
    checker.end();
    let findings = reported(&mut checker, &documents);
    for at in 0..=documents.len() {
        for looks in [false, true] {
            let (first, position) = interrupted::<T>(&documents, at, looks);
            let rest = gone_on::<T>(&documents, position.as_ref());
            let both: BTreeSet<String> =
                first.iter().chain(&rest).map(Finding::to_string).collect();
            let all: BTreeSet<String> = findings.iter().map(Finding::to_string).collect();
            assert_eq!(both, all, "interrupted after {at} buckets, looks: {looks}");
        }
    }
    findings
}

/// What is found, where no other writers are.
fn reported<T: Record>(checker: &mut Checker<T>, documents: &[RawDocumentBuf]) -> Vec<Finding> {
    let mut findings = checker.findings();
    let suspicions = checker.suspicions().into_iter();
    let look = |suspicion: Suspicion| {
        let key = suspicion.clone().into_finding().key;
        let of_key = documents.iter().filter(|document| {
            let stored = Document::try_from(&***document).unwrap();
            key.iter()
                .all(|(name, value)| stored.get(name) == Some(value))
        });
        let found: Vec<RawDocumentBuf> = of_key.cloned().collect();
        suspicion.after_look::<T>(&found, |_| None)
    };
    let looked = suspicions.filter_map(look).filter_map(look);
    findings.extend(looked.map(Suspicion::into_finding));
    checker.looked();
    findings
}

/// What a walk reports that ends after some documents, and where another one goes on.
fn interrupted<T: Record>(
    documents: &[RawDocumentBuf],
    at: usize,
    looks: bool,
) -> (Vec<Finding>, Option<CheckPosition>) {
    let mut checker = Checker::<T>::new(NOW);
    let mut found = Vec::new();
    for document in &documents[..at] {
        checker.take(document, |_| None);
        if looks {
            found.extend(reported(&mut checker, documents));
        }
    }
    found.extend(checker.findings());
    (found, checker.position())
}

/// What a walk finds that goes on from there.
fn gone_on<T: Record>(
    documents: &[RawDocumentBuf],
    position: Option<&CheckPosition>,
) -> Vec<Finding> {
    let mut checker = Checker::<T>::new(NOW);
    let Some(position) = position else {
        for document in documents {
            checker.take(document, |_| None);
        }
        checker.end();
        return reported(&mut checker, documents);
    };
    // What is at each place: the position that a walk has after that document.
    let is_there = |document: &RawDocumentBuf| {
        let mut one = Checker::<T>::new(NOW);
        one.take(document, |_| None);
        one.reopen();
        one.plan(None).min
    };
    checker.after(position).unwrap();
    let earlier = checker.plan(None);
    let at = documents.iter().position(|it| is_there(it) == earlier.max);
    let (before, rest) = documents.split_at(at.unwrap());
    let of_key = |document: &RawDocumentBuf| {
        T::SPEC.keys().iter().all(|key| {
            let stored = document
                .get(key.path)
                .unwrap()
                .map(|it| Bson::try_from(it).unwrap());
            stored.as_ref() == earlier.max.as_ref().unwrap().get(key.path)
        })
    };
    for document in before.iter().filter(|it| of_key(it)) {
        checker.take(document, |_| None);
    }
    assert!(checker.goes_on());
    assert_eq!(checker.plan(None).min, earlier.max);
    assert_eq!(checker.position().as_ref(), Some(position));
    for document in rest {
        checker.take(document, |_| None);
    }
    assert!(!checker.goes_on());
    checker.end();
    reported(&mut checker, documents)
}

#[track_caller]
fn finds<T: Record>(documents: &[Document], expected: &[ProblemKind]) {
    let found = findings::<T>(documents);
    let kinds: BTreeSet<ProblemKind> = found.iter().map(|it| it.problem.kind()).collect();
    assert_eq!(kinds, expected.iter().copied().collect(), "{found:#?}");
    for finding in &found {
        assert_eq!(finding.is_harmful(), finding.problem.kind().is_harmful());
        let text = finding.to_string();
        assert!(text.starts_with("bucket ") && text.contains("; "), "{text}");
        assert!(
            bson::serialize_to_document(finding)
                .unwrap()
                .contains_key("problem")
        );
    }
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    finds::<Counted>(&pages(), &[]);
    finds::<Aging>(&[aging()], &[]);
    finds::<Windowed>(&windows(), &[]);
    finds::<Hybrid>(&hybrids(), &[]);
    finds::<Numbered>(&numbers(), &[]);
    finds::<Scan>(&[scan()], &[]);
    let objects = windows().into_iter().enumerate().map(|(part, document)| {
        let document = with(document, "_id", ObjectId::new());
        if part == 0 {
            document
        } else {
            with(document, "bucket_part", i32::try_from(part).unwrap())
        }
    });
    finds::<Objects>(&objects.collect::<Vec<_>>(), &[]);
    // Reserved, or taken over.
    for zero in [Bson::Int64(0), Bson::Int32(0)] {
        let empty = doc! { "_id": "a_0000000009", "key": "a", "count": zero, "items": [] };
        finds::<Counted>(&[pages().remove(0), empty], &[]);
    }
    // Another key follows.
    let other = with(with(pages().remove(0), "_id", "b_0000000001"), "key", "b");
    finds::<Counted>(&[pages(), vec![other]].concat(), &[]);
}

#[test]
fn a_wrong_number_of_removed_records_hides_no_other_problem() {
    use ProblemKind as Kind;
    let one = || pages().remove(0);
    let edits = doc! { "number": 1_i64, "removed": 1_i64 };
    let removed = |bucket| with(bucket, "_edits", edits.clone());
    finds::<Counted>(&[removed(one())], &[Kind::Removed]);
    let wrong = removed(with_stats(one(), 0.5, 0.15));
    finds::<Counted>(&[wrong], &[Kind::Removed, Kind::Aggregate]);
}

#[test]
fn ids_that_the_index_takes_for_one_are_repeated_whatever_their_types() {
    let items = [(1_000, 1, 0.1), (2_000, 1, 0.2)];
    let mut mixed = bucket("a_0000000001", Document::new(), &items);
    let of_mixed = mixed.get_array_mut("items").unwrap();
    let first = of_mixed[0].as_document_mut().unwrap();
    let id = first.get_i32("id").unwrap();
    first.insert("id", i64::from(id));
    finds::<Counted>(&[mixed], &[ProblemKind::RepeatedId]);
}

#[test]
fn a_document_that_is_damaged_is_found() {
    use ProblemKind as Kind;
    let one = || pages().remove(0);
    let changed = |name: &str, value: Bson| [with(one(), name, value)];
    finds::<Counted>(&changed("count", "2".into()), &[Kind::Field]);
    finds::<Counted>(&changed("key", 7.into()), &[Kind::Key]);
    finds::<Counted>(&changed("_id", "b_0000000001".into()), &[Kind::Id]);
    finds::<Counted>(&changed("count", 1.into()), &[Kind::Count]);
    finds::<Counted>(&[with_stats(one(), 0.5, 0.15)], &[Kind::Aggregate]);
    let mut less = one();
    less.get_document_mut("stats").unwrap().remove("avg");
    finds::<Counted>(&[less], &[Kind::MissingAggregate]);
    let items = [(1_000, 1, 0.1), (2_000, 1, 0.2)];
    finds::<Counted>(
        &[bucket("a_0000000001", Document::new(), &items)],
        &[Kind::RepeatedId],
    );
    let items = [(1_000, 1, 0.1), (2_000, 2, 0.2), (2_000, 3, 0.2)];
    finds::<Counted>(
        &[bucket("a_0000000001", Document::new(), &items)],
        &[Kind::OverCapacity],
    );
    let text = doc! { "at": time(1_000), "id": 1, "v": "x" };
    finds::<Counted>(
        &changed(
            "items",
            Bson::Array(vec![text.into(), item(2_000, 2, 0.2).into()]),
        ),
        &[Kind::Item],
    );

    finds::<Aging>(&[with(aging(), "bytes", 7_i64)], &[Kind::Bytes]);
    finds::<Aging>(&[with(aging(), "created_at", 7)], &[Kind::OtherType]);
    finds::<Aging>(
        &[with(aging(), "expire_from", time(2_001))],
        &[Kind::RemovedLate],
    );
    finds::<Aging>(
        &[with(aging(), "expire_from", time(-100_000_000))],
        &[Kind::RemovedEarly],
    );
    finds::<Aging>(&[with(aging(), "expire_from", 7)], &[Kind::Field]);

    let window = |name: &str, value: Bson| [with(windows().remove(0), name, value)];
    finds::<Windowed>(
        &window("bucket_end", time(MINUTE + 1).into()),
        &[Kind::Window],
    );
    finds::<Windowed>(
        &window("bucket_start", time(MINUTE).into()),
        &[Kind::Id, Kind::Window, Kind::Outside],
    );
    finds::<Windowed>(&window("bucket_end", time(2_000).into()), &[Kind::Outside]);
    finds::<Windowed>(&window("bucket_end", time(2 * MINUTE).into()), &[]);
    let own = doc! { "bucket_start": time(0), "bucket_end": time(MINUTE) };
    let mut empty = bucket("a_0000000000", own, &[]);
    empty.remove("stats");
    finds::<Windowed>(&[empty], &[Kind::Empty]);

    let hybrid = |name: &str, value: Bson| [with(hybrids().remove(0), name, value)];
    finds::<Hybrid>(&hybrid("bucket_end", time(2_001).into()), &[Kind::LongSpan]);
    finds::<Hybrid>(&hybrid("bucket_end", time(1_999).into()), &[Kind::Outside]);
    finds::<Hybrid>(&hybrid("is_closed", false.into()), &[Kind::NotMarked]);
    finds::<Hybrid>(&hybrid("is_late", false.into()), &[Kind::Field]);
    let late = with(hybrids().remove(0), "is_late", true);
    finds::<Hybrid>(&[with(late, "is_closed", false)], &[Kind::OpenLate]);

    let full = with(numbers().remove(2), "bucket_size", 3);
    finds::<Numbered>(&[full], &[Kind::MarkedWithRoom]);
    let open = with(numbers().remove(2), "is_full", false);
    finds::<Numbered>(&[open], &[Kind::NotMarked]);
}

#[test]
fn attributes_that_cannot_be_read_or_are_not_as_they_were_written_are_found() {
    let specs = |scan: &mut Document, of: usize, change: &dyn Fn(&mut Vec<Bson>)| {
        let item = scan.get_array_mut("items").unwrap()[of]
            .as_document_mut()
            .unwrap();
        change(item.get_array_mut("specs").unwrap());
    };
    let mut turned = scan();
    specs(&mut turned, 1, &|specs| specs.reverse());
    finds::<Scan>(&[turned], &[ProblemKind::AttributeForm]);
    let mut double = scan();
    let heat = doc! { "k": "heat", "v": 8.0 };
    double.insert("state", vec![heat]);
    finds::<Scan>(&[double], &[ProblemKind::AttributeForm]);
    let mut twice = scan();
    specs(&mut twice, 0, &|specs| specs.push(specs[0].clone()));
    finds::<Scan>(&[twice], &[ProblemKind::Attribute]);
    let wrong = with(scan(), "state", 7);
    let found = findings::<Scan>(&[wrong]);
    assert!(
        matches!(
            found[..],
            [Finding {
                problem: Problem::Attribute { index: None, .. },
                ..
            }]
        ),
        "{found:?}"
    );
}

/// Windows of which one that is not the last has room.
fn with_room_before_a_later_one() -> Vec<Document> {
    let mut room = windows();
    room.swap(1, 2);
    let own = room[1].get("_id").cloned().unwrap();
    let other = room[2].insert("_id", own).unwrap();
    room[1].insert("_id", other);
    room
}

#[test]
fn what_is_between_two_buckets_of_a_key_is_found() {
    use ProblemKind as Kind;
    let mut room = pages();
    room[0] = bucket("a_0000000001", Document::new(), &[(1_000, 1, 0.1)]);
    finds::<Counted>(&room, &[Kind::OpenBefore, Kind::TwoOpen]);
    room[1] = bucket(
        "a_0000000003",
        Document::new(),
        &[(3_000, 2, 0.1), (3_000, 3, 0.1)],
    );
    finds::<Counted>(&room, &[Kind::OpenBefore]);

    let mut gap = windows();
    gap.remove(1);
    finds::<Windowed>(&gap, &[Kind::Gap]);
    finds::<Windowed>(&windows()[1..], &[Kind::Gap]);
    let room = with_room_before_a_later_one();
    finds::<Windowed>(&room, &[Kind::RoomBefore]);
    let objects: Vec<Document> = windows()[..2]
        .iter()
        .map(|it| with(it.clone(), "_id", ObjectId::new()))
        .collect();
    finds::<Objects>(&objects, &[Kind::SamePlace]);

    let mut open = hybrids();
    open[0] = with(
        bucket(
            "a_0000000001000",
            doc! { "bucket_start": time(1_000), "bucket_end": time(1_000) },
            &[(1_000, 1, 0.1)],
        ),
        "is_closed",
        false,
    );
    finds::<Hybrid>(&open, &[Kind::TwoOpen]);

    for missing in [1, 2] {
        let mut numbers = numbers();
        numbers.remove(missing);
        finds::<Numbered>(&numbers, &[Kind::Gap]);
    }
    let mut open = numbers();
    open[1].insert("is_full", false);
    finds::<Numbered>(&open, &[Kind::NotMarked, Kind::OpenBefore]);

    // Nobody knows whose the last one is. It is the first that comes after those of the key.
    let mut foreign = numbers();
    foreign[2].insert("key", true);
    finds::<Numbered>(&foreign, &[Kind::Key, Kind::Gap]);
}

#[test]
fn what_is_missing_of_one_key_waits_while_the_next_key_is_read() {
    let mut both = numbers();
    both.remove(1);
    for document in numbers() {
        let number = document.get_i32("bucket_number").unwrap();
        let id = format!("b_{number:010}");
        both.push(with(with(document, "_id", id), "key", "b"));
    }
    finds::<Numbered>(&both, &[ProblemKind::Gap]);
}

#[test]
fn a_wrong_count_says_nothing_about_the_room() {
    let full = [(1_000, 1, 0.1), (1_000, 2, 0.1)];
    let mut miscounted = pages();
    miscounted[0] = with(bucket("a_0000000001", Document::new(), &full), "count", 1);
    finds::<Counted>(&miscounted, &[ProblemKind::Count]);
}

#[test]
fn positions_that_do_not_rise_are_found() {
    let queue =
        |document: Document, position: i64| with(document, "sources", doc! { "queue": position });
    let of = |first, second| {
        let [one, two] = pages().try_into().unwrap();
        [queue(one, first), queue(two, second)]
    };
    finds::<Counted>(&of(1, 2), &[]);
    finds::<Counted>(&of(2, 2), &[ProblemKind::Position]);
    let [three, two, one] = numbers().try_into().unwrap();
    finds::<Numbered>(
        &[queue(three.clone(), 9), two.clone(), queue(one.clone(), 8)],
        &[],
    );
    let wrong = [queue(three, 7), two, queue(one, 8)];
    finds::<Numbered>(&wrong, &[ProblemKind::Position]);
    assert_eq!(
        findings::<Numbered>(&wrong)[0].id,
        Bson::from("a_0000000003")
    );
    // Windows have positions of their own.
    let mut next = windows().remove(0);
    next = with(next, "_id", "a_0000000060");
    next = with(
        with(next, "bucket_start", time(MINUTE)),
        "bucket_end",
        time(2 * MINUTE),
    );
    let items = [item(MINUTE, 6, 0.1), item(MINUTE, 7, 0.2)]
        .map(Bson::from)
        .to_vec();
    let all = [
        queue(windows().remove(0), 5),
        queue(with(next, "items", items), 3),
    ];
    finds::<Windowed>(&all, &[]);
}

#[test]
fn sums_of_floats_may_differ_by_rounding_and_no_more() {
    let items: Vec<(i64, i32, f64)> = [1e16, 1.0, -1e16, 0.1]
        .iter()
        .zip(0..)
        .map(|(v, id)| (1_000, id, *v))
        .collect();
    let all = bucket("a_0000000001", Document::new(), &items);
    // In another order.
    for sum in [1.1, 0.1, 0.0, 2.0] {
        let avg = sum / 4.0;
        finds::<Counted>(
            &[with_stats(all.clone(), sum, avg)],
            &[ProblemKind::OverCapacity],
        );
    }
    let far = with_stats(all, 100.0, 25.0);
    finds::<Counted>(&[far], &[ProblemKind::OverCapacity, ProblemKind::Aggregate]);
    let near = with_stats(pages().remove(0), 0.300_000_000_001, 0.15);
    finds::<Counted>(&[near], &[ProblemKind::Aggregate]);
}

#[test]
fn a_position_goes_on_after_its_document_and_reads_back() {
    let mut checker = Checker::<Numbered>::new(NOW);
    let raw = |document: &Document| RawDocumentBuf::try_from(document).unwrap();
    checker.take(&raw(&numbers()[0]), |_| None);
    let position = checker.position().unwrap();
    assert_eq!(
        position.to_string().parse::<CheckPosition>(),
        Ok(position.clone())
    );
    let mut next = Checker::<Numbered>::new(NOW);
    next.after(&position).unwrap();
    let of_key = next.plan(None);
    assert_eq!(
        (of_key.min, of_key.max),
        (
            Some(doc! { "key": "a", "bucket_number": Bson::MaxKey }),
            Some(doc! { "key": "a", "bucket_number": 3 })
        )
    );
    assert!(next.goes_on());
    assert_eq!(
        next.plan(None).min,
        Some(doc! { "key": "a", "bucket_number": 3 })
    );
    // The document itself comes first, and is compared with the next.
    let mut open = numbers();
    open[1].insert("is_full", false);
    for document in &open {
        next.take(&raw(document), |_| None);
    }
    next.end();
    assert_eq!((next.buckets(), next.suspected()), (2, 1));
    assert!(Checker::<Counted>::new(NOW).after(&position).is_err());
}

#[test]
fn a_bucket_that_was_sealed_between_two_looks_has_no_room() {
    let room = with_room_before_a_later_one();
    let suspicion = || {
        let mut checker = Checker::<Windowed>::new(NOW);
        for document in &room {
            checker.take(&RawDocumentBuf::try_from(document).unwrap(), |_| None);
        }
        checker.end();
        checker.suspicions().remove(0)
    };
    let projection = suspicion().plan(&Windowed::SPEC).projection;
    let looked = |seal: &dyn Fn(Document) -> Document| {
        let found = room.iter().cloned().map(seal).map(|document| {
            let shown = document
                .into_iter()
                .filter(|(name, _)| projection.contains_key(name));
            RawDocumentBuf::try_from(&shown.collect::<Document>()).unwrap()
        });
        let found: Vec<RawDocumentBuf> = found.collect();
        suspicion().after_look::<Windowed>(&found, |_| None)
    };
    assert!(looked(&|document| document).is_some());
    let sealed = doc! { "first": NOW, "last": NOW };
    assert!(looked(&|document| with(document, "_sealed", sealed.clone())).is_none());
}

#[test]
fn a_record_id_in_two_buckets_is_found_where_it_is_looked_for() {
    let windows = windows();
    let ids = |documents: &[Document]| {
        let mut checker = Checker::<Windowed>::new(NOW);
        checker.compare_record_ids();
        for document in documents {
            checker.take(&RawDocumentBuf::try_from(document).unwrap(), |_| None);
        }
        checker.end();
        assert_eq!(checker.parts_of_ids(), 0);
        let suspicions = checker.suspicions().into_iter();
        let mut findings = checker.findings();
        findings.extend(suspicions.map(Suspicion::into_finding));
        findings
    };
    assert_eq!(ids(&windows), []);
    let mut twice = windows.clone();
    let first = twice[0].get_array("items").unwrap()[0].clone();
    let id = first.as_document().unwrap().get_i32("id").unwrap();
    let last = twice.last_mut().unwrap();
    let items = last.get_array_mut("items").unwrap();
    // Equal numbers are one id, whatever their type.
    items[0]
        .as_document_mut()
        .unwrap()
        .insert("id", i64::from(id));
    finds::<Windowed>(&twice, &[]);
    let found = ids(&twice);
    let [Finding { id, problem, .. }] = &found[..] else {
        panic!("{found:?}");
    };
    let Problem::SharedId {
        other, index, ids, ..
    } = problem
    else {
        panic!("{problem:?}");
    };
    assert_eq!(
        (Some(id), Some(other)),
        (twice.last().unwrap().get("_id"), twice[0].get("_id"))
    );
    assert_eq!((*index, *ids), (0, 1));
    assert!(found[0].is_harmful());
}
