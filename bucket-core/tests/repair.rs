//! What a repair does about documents that were damaged by hand and by random mutations.
#![allow(clippy::unwrap_used, clippy::panic)]

mod stored_buckets;

use bson::{
    Bson, DateTime, Document, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc,
    oid::ObjectId, raw::CString,
};
use bucket_core::{
    Record,
    bucket::decode,
    check::{Checker, Problem, ProblemKind},
    repair::{BetweenTwo, Remedy, between_two, copied_document, quarantine, remedy},
};

use self::stored_buckets::{
    Aging, Counted, Hybrid, MINUTE, NOW, Numbered, Objects, Scan, Windowed, aging, bucket, hybrids,
    item, numbers, pages, scan, time, windows, with, with_stats,
};

const CALL: ObjectId = ObjectId::from_bytes([9; 12]);

fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

fn asked<T: Record>(stored: &RawDocument) -> Remedy {
    remedy::<T>(stored, |_| None, NOW, None, false)
}

fn problems<T: Record>(stored: &RawDocument) -> Vec<Problem> {
    let mut checker = Checker::<T>::new(NOW);
    checker.take(stored, |_| None);
    let findings = checker.findings().into_iter();
    findings.map(|it| it.problem).collect()
}

/// What is wrong with the buckets of a key together.
fn problems_of<T: Record>(documents: &[Document]) -> Vec<Problem> {
    let mut checker = Checker::<T>::new(NOW);
    for document in documents {
        checker.take(&raw(document), |_| None);
    }
    checker.end();
    let suspicions = checker.suspicions().into_iter();
    suspicions.map(|it| it.into_finding().problem).collect()
}

fn between(kind: ProblemKind, problems: Vec<Problem>) -> Problem {
    let mut problems = problems.into_iter();
    problems.find(|it| it.kind() == kind).unwrap()
}

fn elements(of: &RawDocument) -> Vec<(String, RawBson)> {
    let all = of.into_iter().map_while(Result::ok);
    all.map(|(name, value)| (name.as_str().to_owned(), value.into()))
        .collect()
}

fn document(elements: &[(String, RawBson)]) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    for (name, value) in elements {
        document.append(CString::try_from(name.as_str()).unwrap(), value.clone());
    }
    document
}

/// The document after the command of a mend, as the server changes it.
fn mended(stored: &RawDocument, command: &RawDocument) -> RawDocumentBuf {
    let update = command.get_array("updates").unwrap();
    let update = update.get_document(0).unwrap();
    let filter = update.get_document("q").unwrap();
    assert_eq!(
        filter.get_document("_id").unwrap().get("$eq").unwrap(),
        stored.get("_id").unwrap()
    );
    let whole = filter
        .get_document("$expr")
        .unwrap()
        .get_array("$not")
        .unwrap()
        .get_document(0)
        .unwrap()
        .get_array("$cmp")
        .unwrap();
    assert_eq!(whole.get_str(0).unwrap(), "$$ROOT");
    let whole = whole
        .get_document(1)
        .unwrap()
        .get_document("$literal")
        .unwrap();
    assert_eq!(whole.as_bytes(), stored.as_bytes());
    let mut all = elements(stored);
    let change = update.get_document("u").unwrap();
    let set = change.get_document("$set").map(elements);
    for (name, value) in set.unwrap_or_default() {
        match all.iter_mut().find(|(own, _)| *own == name) {
            Some(own) => own.1 = value,
            None => all.push((name, value)),
        }
    }
    if let Ok(pushed) = change.get_document("$push") {
        for (name, each) in elements(pushed) {
            let each = each.as_document().unwrap().get_array("$each").unwrap();
            let (_, array) = all.iter_mut().find(|(own, _)| *own == name).unwrap();
            let RawBson::Array(array) = array else {
                panic!("{array:?}");
            };
            for item in each {
                array.push(RawBson::from(item.unwrap()));
            }
        }
    }
    if let Ok(unset) = change.get_document("$unset") {
        all.retain(|(name, _)| !matches!(unset.get(name), Ok(Some(_))));
    }
    document(&all)
}

#[track_caller]
fn mends<T: Record>(right: &Document, damaged: &Document) {
    let stored = raw(damaged);
    assert!(!problems::<T>(&stored).is_empty(), "{damaged}");
    let Remedy::Mend {
        command,
        mended: what,
        left,
        ..
    } = asked::<T>(&stored)
    else {
        panic!("{:?}: {damaged}", asked::<T>(&stored));
    };
    assert!(left.is_empty() && !what.is_empty(), "{what:?} {left:?}");
    let after = Document::try_from(mended(&stored, &command)).unwrap();
    assert_eq!(sorted(&after), sorted(right));
}

fn sorted(document: &Document) -> Vec<(String, Bson)> {
    let mut fields: Vec<_> = document.clone().into_iter().collect();
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    fields
}

#[track_caller]
fn moves<T: Record>(damaged: &Document, kind: ProblemKind) {
    let stored = raw(damaged);
    let Remedy::Quarantine { problems, .. } = asked::<T>(&stored) else {
        panic!("{:?}: {damaged}", asked::<T>(&stored));
    };
    assert!(problems.iter().any(|it| it.kind() == kind), "{problems:?}");
    assert!(problems.iter().all(|it| it.kind().is_harmful()));
    let (id, command) = quarantine(T::SPEC, "moved", &stored, &problems, 3, (NOW, CALL));
    let copy = command
        .get_array("documents")
        .unwrap()
        .get_document(0)
        .unwrap();
    assert_eq!(copied_document(copy).unwrap().as_bytes(), stored.as_bytes());
    let of_id = copy.get_document("_id").unwrap();
    assert_eq!(of_id.as_bytes(), id.as_bytes());
    assert_eq!(of_id.get_i32("number").unwrap(), 3);
    assert_eq!(of_id.get("id").unwrap(), stored.get("_id").unwrap());
    assert_eq!(command.get_str("insert").unwrap(), "moved");
    let reasons = copy.get_array("reasons").unwrap().into_iter();
    assert_eq!(reasons.count(), problems.len());
}

fn without(mut bucket: Document, name: &str) -> Document {
    bucket.remove(name).unwrap();
    bucket
}

fn objects() -> Document {
    with(windows().remove(0), "_id", ObjectId::from_bytes([7; 12]))
}

#[test]
fn what_follows_from_the_rest_of_the_document_is_as_it_was() {
    let one = || pages().remove(0);
    mends::<Counted>(&one(), &with(one(), "count", 9));
    mends::<Counted>(&one(), &with(one(), "count", "x"));
    mends::<Counted>(&one(), &without(one(), "count"));
    mends::<Counted>(&one(), &with_stats(one(), 9.0, 0.15));
    mends::<Counted>(
        &one(),
        &with(
            one(),
            "stats",
            doc! { "sum": one().get_document("stats").unwrap().get_f64("sum").unwrap() },
        ),
    );
    mends::<Counted>(&one(), &without(one(), "stats"));
    mends::<Counted>(&one(), &with(one(), "stats", 7));
    mends::<Counted>(
        &one(),
        &with(with(one(), "stats", "x"), "count", Bson::Null),
    );

    mends::<Aging>(&aging(), &with(aging(), "bytes", 7_i64));
    mends::<Aging>(&aging(), &with(aging(), "bytes", "x"));
    mends::<Aging>(&aging(), &with(aging(), "expire_from", "x"));
    mends::<Aging>(&aging(), &with(aging(), "expire_from", time(2_001)));
    mends::<Aging>(&aging(), &with(aging(), "expire_from", time(-100_000_000)));

    let window = || windows().remove(0);
    mends::<Windowed>(&window(), &without(window(), "bucket_start"));
    mends::<Windowed>(&window(), &with(window(), "bucket_start", time(7)));
    mends::<Windowed>(&window(), &with(window(), "bucket_start", time(MINUTE)));

    let hybrid = || hybrids().remove(0);
    mends::<Hybrid>(&hybrid(), &with(hybrid(), "bucket_end", time(2_001)));
    mends::<Hybrid>(&hybrid(), &with(hybrid(), "bucket_end", time(1_001)));
    mends::<Hybrid>(&hybrid(), &without(hybrid(), "bucket_end"));
    mends::<Hybrid>(&hybrid(), &without(hybrid(), "bucket_start"));
    mends::<Hybrid>(&hybrid(), &with(hybrid(), "bucket_start", time(1_500)));
    mends::<Hybrid>(&hybrid(), &with(hybrid(), "is_closed", false));
    mends::<Hybrid>(&hybrid(), &with(hybrid(), "is_closed", 1));

    let number = || numbers().remove(1);
    mends::<Numbered>(&number(), &with(number(), "is_full", false));
    mends::<Numbered>(&number(), &without(number(), "is_full"));
    // The field has the type of the id's number.
    let long = with(number(), "bucket_number", 2_i64);
    mends::<Numbered>(&long, &with(number(), "bucket_number", "2"));

    let mut turned = scan();
    let specs = turned.get_array_mut("items").unwrap()[1]
        .as_document_mut()
        .unwrap();
    specs.get_array_mut("specs").unwrap().reverse();
    mends::<Scan>(&scan(), &turned);
    mends::<Scan>(
        &scan(),
        &with(scan(), "state", vec![doc! { "k": "heat", "v": 8.0 }]),
    );
    mends::<Scan>(&scan(), &with(turned, "count", 3));
}

#[test]
fn marks_of_removed_records_are_counted_and_their_values_left_out() {
    let mut right = pages().remove(0);
    right.get_array_mut("items").unwrap()[0] =
        doc! { "at": time(1_000), "id": 1, "_removed": true }.into();
    right = with_stats(right, 0.2, 0.2);
    let edits = |number: i64, removed: i64| doc! { "number": number, "removed": removed };
    let stored = |number, removed| with(right.clone(), "_edits", edits(number, removed));
    assert!(problems::<Counted>(&raw(&stored(4, 1))).is_empty());
    // An edit that has read the old state finds another number.
    mends::<Counted>(&stored(5, 1), &stored(4, 2));
    mends::<Counted>(&stored(5, 1), &stored(4, 0));
    mends::<Counted>(&stored(5, 1), &with_stats(stored(4, 0), 7.0, 7.0));
    mends::<Counted>(&stored(1, 1), &with(right.clone(), "_edits", "x"));
    mends::<Counted>(&stored(1, 1), &right);
}

#[test]
fn what_would_be_a_guess_moves() {
    use ProblemKind as Kind;
    let one = || pages().remove(0);
    moves::<Counted>(&with(one(), "key", 7), Kind::Key);
    moves::<Counted>(&with(one(), "_id", "b_0000000001"), Kind::Id);
    moves::<Counted>(&without(one(), "items"), Kind::Field);
    let items = [(1_000, 1, 0.1), (2_000, 1, 0.2)];
    moves::<Counted>(
        &bucket("a_0000000001", Document::new(), &items),
        Kind::RepeatedId,
    );
    let text = doc! { "at": time(1_000), "id": 1, "v": "x" };
    let items = vec![text, item(2_000, 2, 0.2)];
    // By itself, the count could be mended.
    moves::<Counted>(&with(with(one(), "items", items), "count", 7), Kind::Item);
    moves::<Counted>(&with(one(), "sources", doc! { "queue": "x" }), Kind::Field);

    moves::<Windowed>(
        &with(windows().remove(0), "bucket_end", time(MINUTE + 1)),
        Kind::Window,
    );
    moves::<Windowed>(
        &with(windows().remove(0), "bucket_end", time(2_000)),
        Kind::Outside,
    );
    moves::<Objects>(&without(objects(), "bucket_start"), Kind::Field);
    // The first record is not at the start that the id names.
    let mut other = hybrids().remove(0);
    other.get_array_mut("items").unwrap()[0] = item(1_500, 1, 0.1).into();
    moves::<Hybrid>(&with(other, "bucket_start", time(1_600)), Kind::Id);
    // A bucket may not cover that much.
    let mut other = hybrids().remove(0);
    other.get_array_mut("items").unwrap()[1] = item(9 * MINUTE, 2, 0.2).into();
    moves::<Hybrid>(&other, Kind::Outside);
    moves::<Hybrid>(&with(hybrids().remove(0), "is_late", false), Kind::Field);
    moves::<Numbered>(&with(numbers().remove(1), "bucket_number", 9), Kind::Id);
    moves::<Numbered>(&without(numbers().remove(1), "bucket_size"), Kind::Field);
    moves::<Scan>(&with(scan(), "state", 7), Kind::Attribute);
}

#[test]
fn harmless_problems_that_no_field_mends_are_left() {
    let leaves =
        |remedy: Remedy| matches!(remedy, Remedy::Leave { problems, .. } if problems.len() == 1);
    assert!(leaves(asked::<Aging>(&raw(&with(
        aging(),
        "created_at",
        7
    )))));
    let full = with(numbers().remove(2), "bucket_size", 3);
    assert!(leaves(asked::<Numbered>(&raw(&full))));
    assert!(matches!(
        asked::<Counted>(&raw(&pages()[0])),
        Remedy::Nothing
    ));
    // What is wrong besides is mended.
    let both = raw(&with(full, "count", 7));
    let Remedy::Mend { left, mended, .. } = asked::<Numbered>(&both) else {
        panic!("not mended");
    };
    assert_eq!((left.len(), mended.len()), (1, 1), "{left:?} {mended:?}");
}

#[test]
fn a_bucket_that_is_in_the_way_of_a_later_one_is_closed() {
    let mut open = numbers();
    open[1].insert("is_full", false);
    let later = between(ProblemKind::OpenBefore, problems_of::<Numbered>(&open));
    let (one, other) = (raw(&open[1]), raw(&open[0]));
    let ask = |one: &RawDocument, other: &RawDocument| {
        between_two::<Numbered>(&later, one, other, |_| None)
    };
    assert_eq!(ask(&one, &other), BetweenTwo::Close);
    assert_eq!(ask(&raw(&numbers()[1]), &other), BetweenTwo::Gone);
    assert_eq!(ask(&other, &one), BetweenTwo::Gone);
    let closed = remedy::<Numbered>(&one, |_| None, NOW, Some(later.clone()), false);
    let Remedy::Mend { command, .. } = closed else {
        panic!("{closed:?}");
    };
    assert_eq!(mended(&one, &command), raw(&numbers()[1]));

    let two = [
        bucket("a_0000000001", Document::new(), &[(1_000, 1, 0.1)]),
        pages().remove(1),
    ];
    let later = between(ProblemKind::TwoOpen, problems_of::<Counted>(&two));
    let two = two.map(|it| raw(&it));
    let ask = |one: &RawDocument, other: &RawDocument| {
        between_two::<Counted>(&later, one, other, |_| None)
    };
    assert_eq!(ask(&two[0], &two[1]), BetweenTwo::Close);
    assert_eq!(ask(&two[0], &raw(&pages()[0])), BetweenTwo::Gone);
    assert_eq!(ask(&two[0], &two[0]), BetweenTwo::Gone);
    // A mark takes the free place.
    let closed = remedy::<Counted>(&two[0], |_| None, NOW, Some(later.clone()), true);
    let Remedy::Mend { command, .. } = closed else {
        panic!("{closed:?}");
    };
    let closed = mended(&two[0], &command);
    assert_eq!(closed.get_array("items").unwrap().into_iter().count(), 2);
    assert_eq!(ask(&closed, &two[1]), BetweenTwo::Gone);
    // None can have the time of an item if there is none, so the bucket moves.
    let empty = raw(&bucket("a_0000000001", Document::new(), &[]));
    let moved = remedy::<Counted>(&empty, |_| None, NOW, Some(later), true);
    assert!(matches!(moved, Remedy::Quarantine { .. }), "{moved:?}");
}

#[test]
fn a_large_document_is_matched_by_its_fields_and_the_number_of_its_items() {
    let long = "x".repeat(9_000_000);
    let stored = raw(&with(with(pages().remove(0), "note", long), "count", 7));
    let Remedy::Mend { command, .. } = asked::<Counted>(&stored) else {
        panic!("not mended");
    };
    assert!(command.as_bytes().len() < 16_000_000);
    let command = Document::try_from(command).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    let filter = update.get_document("q").unwrap();
    assert_eq!(filter.get_document("items").unwrap(), &doc! { "$size": 2 });
    assert_eq!(filter.get_document("count").unwrap(), &doc! { "$eq": 7 });
    assert!(!filter.contains_key("$expr"));
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit.max(1)
    }
}

fn value(random: &mut Random) -> RawBson {
    match random.below(12) {
        0 => RawBson::Null,
        1 => RawBson::String("x".to_owned()),
        2 => RawBson::Int32(i32::try_from(random.below(9)).unwrap()),
        3 => RawBson::Int64(-7),
        4 => RawBson::Double(f64::NAN),
        5 => RawBson::Double(1e300),
        6 => RawBson::Boolean(random.below(2) == 0),
        7 => RawBson::DateTime(DateTime::from_millis(900_000_000)),
        8 => RawBson::Document(raw(&doc! { "a": 1 })),
        9 => RawBson::Array(RawArrayBuf::new()),
        10 => RawBson::MaxKey,
        _ => RawBson::Undefined,
    }
}

/// A structural mutation somewhere inside.
fn mutated(of: &RawDocument, random: &mut Random) -> RawDocumentBuf {
    let mut all = elements(of);
    if all.is_empty() {
        return of.to_owned();
    }
    let at = random.below(all.len());
    if random.below(3) > 0 {
        let inner = match &all[at].1 {
            RawBson::Document(inner) => Some(RawBson::Document(mutated(inner, random))),
            RawBson::Array(inner) => Some(RawBson::Array(mutated_array(inner, random))),
            _ => None,
        };
        if let Some(inner) = inner {
            all[at].1 = inner;
            return document(&all);
        }
    }
    match random.below(6) {
        0 => drop(all.remove(at)),
        1 => {
            let other = (all[at].0.clone(), value(random));
            all.insert(random.below(all.len()), other);
        }
        2 => all.insert(at, all[at].clone()),
        3 => all.push((
            ["_removed", "_edits", "sources"][random.below(3)].to_owned(),
            value(random),
        )),
        _ => all[at].1 = value(random),
    }
    document(&all)
}

fn mutated_array(of: &bson::RawArray, random: &mut Random) -> RawArrayBuf {
    let mut all: Vec<RawBson> = of.into_iter().map(|it| it.unwrap().into()).collect();
    if all.is_empty() {
        all.push(value(random));
        return RawArrayBuf::from_iter(all);
    }
    let at = random.below(all.len());
    match (random.below(6), &all[at]) {
        (0, _) => drop(all.remove(at)),
        (1, _) => all.push(all[at].clone()),
        (2, _) => all.truncate(at),
        (3, _) => all[at] = value(random),
        (_, RawBson::Document(inner)) => all[at] = RawBson::Document(mutated(inner, random)),
        _ => all[at] = value(random),
    }
    RawArrayBuf::from_iter(all)
}

/// The values of the records, or why they cannot be read.
fn read<T: Record>(stored: &RawDocument) -> Option<usize> {
    let bucket = decode::<T>(stored).ok()?;
    Some(bucket_core::bucket::assemble_records::<T::Bucket>(bucket).len())
}

/// Whether a mended bucket has the items of the damaged one, and only marks after them.
fn has_items_of(after: &RawDocument, stored: &RawDocument) -> bool {
    let (Some(RawBsonRef::Array(after)), Some(RawBsonRef::Array(stored))) =
        (after.get("items").unwrap(), stored.get("items").unwrap())
    else {
        return after.get("items").unwrap() == stored.get("items").unwrap();
    };
    let mut after = after.into_iter().map(Result::unwrap);
    let are_same = stored
        .into_iter()
        .all(|item| after.next() == Some(item.unwrap()));
    let is_mark = |item: RawBsonRef<'_>| {
        let item = item.as_document();
        item.is_some_and(|item| item.get_bool("_removed").unwrap_or_default())
    };
    are_same && after.all(is_mark)
}

fn random_damages<T: Record>(right: &Document) {
    let right = raw(right);
    let (mut mends, mut moves, mut silent) = (0, 0, 0);
    for seed in 0..1_500 {
        let mut random = Random(seed * 7_919 + 3);
        let times = 1 + random.below(3);
        let mut stored = right.clone();
        if random.below(8) == 0 {
            let mut bytes = stored.into_bytes();
            let at = 4 + random.below(bytes.len() - 5);
            bytes[at] = u8::try_from(random.below(256)).unwrap();
            let Ok(flipped) = RawDocumentBuf::from_bytes(bytes) else {
                stored = right.clone();
                continue;
            };
            stored = flipped;
        } else {
            for _ in 0..times {
                stored = mutated(&stored, &mut random);
            }
        }
        let found = problems::<T>(&stored);
        let harmful = found.iter().any(|it| it.kind().is_harmful());
        match asked::<T>(&stored) {
            Remedy::Nothing => {
                silent += 1;
                assert!(found.is_empty(), "seed {seed}: {found:?}");
                // What is not found can be read, and no record is missing without a trace.
                let records = read::<T>(&stored);
                let removed = stored.get_document("_edits").is_ok();
                assert!(
                    records == read::<T>(&right) || (removed && records.is_some()),
                    "seed {seed}: {stored:?}"
                );
            }
            Remedy::Leave { problems, .. } => {
                assert!(!harmful, "seed {seed}: {found:?}");
                assert_eq!(problems, found, "seed {seed}");
            }
            Remedy::Mend { command, left, .. } => {
                mends += 1;
                let after = mended(&stored, &command);
                assert_eq!(problems::<T>(&after), left, "seed {seed}: {stored:?}");
                assert!(left.iter().all(|it| !it.kind().is_harmful()), "seed {seed}");
                let has_arrays = !T::SPEC.arrays().is_empty();
                if !has_arrays {
                    assert!(has_items_of(&after, &stored), "seed {seed}: {after:?}");
                }
                assert!(read::<T>(&after).is_some(), "seed {seed}: {after:?}");
                let again = asked::<T>(&after);
                assert!(
                    matches!(again, Remedy::Nothing | Remedy::Leave { .. }),
                    "seed {seed}: {again:?}"
                );
            }
            Remedy::Quarantine { problems, .. } => {
                moves += 1;
                assert!(harmful && !problems.is_empty(), "seed {seed}: {found:?}");
                let (_, command) = quarantine(T::SPEC, "moved", &stored, &problems, 0, (NOW, CALL));
                let copy = command
                    .get_array("documents")
                    .unwrap()
                    .get_document(0)
                    .unwrap();
                assert_eq!(copied_document(copy).unwrap().as_bytes(), stored.as_bytes());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(
        mends > 100 && moves > 100 && silent > 10,
        "{mends} {moves} {silent}"
    );
}

#[test]
fn random_mutations_are_mended_or_moved_and_change_no_item() {
    random_damages::<Counted>(&pages()[0]);
    random_damages::<Aging>(&aging());
    random_damages::<Windowed>(&windows()[0]);
    random_damages::<Objects>(&objects());
    random_damages::<Hybrid>(&hybrids()[0]);
    random_damages::<Numbered>(&numbers()[1]);
    random_damages::<Scan>(&scan());
}
