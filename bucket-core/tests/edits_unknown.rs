//! What an item has and the model does not know stays through edits, wherever it is.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeSet;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    Which, bucket,
    edit::{Change, Edit, EditError, EditFailure, EditNext},
};
use bucket_derive::Bucketed;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "orders", window = "1m", crate = ::bucket_core)]
struct Order {
    #[bucket(key)]
    shop: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[serde(alias = "colour", default, skip_serializing_if = "String::is_empty")]
    color: String,
    #[serde(default)]
    address: Address,
    #[serde(default)]
    lines: Vec<Line>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payment: Option<Payment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Payment {
    status: Status,
    #[serde(default)]
    share: f32,
    #[serde(default)]
    note: String,
}

/// A later version of the model has more of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Address {
    street: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    geo: Option<Geo>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Geo {
    x: i64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Line {
    #[serde(alias = "article")]
    sku: String,
    #[serde(alias = "price", default, skip_serializing_if = "is_zero")]
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Tag {
    name: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

fn line(sku: &str, cents: i64) -> Line {
    Line {
        sku: sku.to_owned(),
        cents,
    }
}

/// An order as it is stored, with more fields.
fn stored(more: Document) -> Document {
    let mut item = doc! { "at": DateTime::from_millis(0), "id": 7_i64 };
    item.extend(more);
    item
}

fn bucket_of(item: &Document) -> RawDocumentBuf {
    let bucket = doc! {
        "_id": "7_0", "shop": 7_i64, "bucket_start": DateTime::from_millis(0),
        "bucket_end": DateTime::from_millis(60_000), "count": 1, "orders": [item],
    };
    RawDocumentBuf::try_from(&bucket).unwrap()
}

/// The item after an update: as it is stored.
fn updated(more: Document, change: impl FnMut(&mut Order) + Send) -> Result<Document, EditFailure> {
    let item = stored(more);
    let mut edit = Edit::update(
        7.into(),
        &Which::id(&7_i64),
        None,
        Change::Update(Box::new(change)),
    )
    .weak();
    let bucket = bucket_of(&item);
    edit.found(std::slice::from_ref(&bucket), DateTime::from_millis(0));
    let EditNext::Send { command, .. } = edit.next() else {
        edit.end()?;
        return Ok(item);
    };
    let command = Document::try_from(command).unwrap();
    let statement = command.get_array("updates").unwrap()[0].as_document();
    let change = statement.unwrap().get_document("u").unwrap();
    let set = change.get_document("$set").unwrap();
    Ok(set.get_document("orders.0").unwrap().clone())
}

fn read(item: &Document) -> Order {
    let bucket = bucket_of(item);
    let bucket = bucket::decode::<Order>(&bucket).unwrap();
    bucket.into_records().pop().unwrap()
}

fn unclear(more: Document, change: impl FnMut(&mut Order) + Send) -> String {
    match updated(more, change) {
        Err(EditFailure::Edit(EditError::UnclearField { path, .. })) => path,
        other => panic!("{other:?}"),
    }
}

fn lines() -> Document {
    doc! { "lines": [
        { "sku": "a", "cents": 1_i64, "note": "first" },
        { "sku": "b", "cents": 2_i64, "inner": { "deep": [1, 2] } },
        { "sku": "c", "cents": 3_i64 },
    ] }
}

#[test]
fn unknown_fields_of_nested_documents_stay() {
    let address = doc! { "street": "x", "floor": 3, "geo": { "x": 1_i64, "z": [{ "y": 2 }] } };
    let found = updated(doc! { "address": address, "more": true }, |order| {
        order.address.street = "y".to_owned();
        order.address.geo = Some(Geo { x: 5 });
    });
    let found = found.unwrap();
    let expected = doc! { "street": "y", "geo": { "x": 5_i64, "z": [{ "y": 2 }] }, "floor": 3 };
    assert_eq!(found.get_document("address").unwrap(), &expected);
    assert!(found.get_bool("more").unwrap());
    assert_eq!(read(&found).address.street, "y");
}

#[test]
fn a_document_that_the_edit_removes_takes_its_unknown_fields_with_it() {
    let address = doc! { "street": "x", "geo": { "x": 1_i64, "z": 2 } };
    let found = updated(doc! { "address": address }, |order| {
        order.address.geo = None;
    });
    let expected = doc! { "street": "x" };
    assert_eq!(found.unwrap().get_document("address").unwrap(), &expected);
}

#[test]
fn unknown_fields_of_elements_stay_with_their_elements() {
    // In their places.
    let found = updated(lines(), |order| {
        for line in &mut order.lines {
            line.cents += 10;
        }
    });
    let expected: Vec<Bson> = vec![
        doc! { "sku": "a", "cents": 11_i64, "note": "first" }.into(),
        doc! { "sku": "b", "cents": 12_i64, "inner": { "deep": [1, 2] } }.into(),
        doc! { "sku": "c", "cents": 13_i64 }.into(),
    ];
    assert_eq!(found.unwrap().get_array("lines").unwrap(), &expected);
    // In another order, with new ones, and without some.
    let found = updated(lines(), |order| {
        order.lines.reverse();
        order.lines.insert(1, line("new", 4));
        order.lines.remove(0);
    });
    let expected: Vec<Bson> = vec![
        doc! { "sku": "new", "cents": 4_i64 }.into(),
        doc! { "sku": "b", "cents": 2_i64, "inner": { "deep": [1, 2] } }.into(),
        doc! { "sku": "a", "cents": 1_i64, "note": "first" }.into(),
    ];
    assert_eq!(found.unwrap().get_array("lines").unwrap(), &expected);
    let found = updated(lines(), |order| drop(order.lines.remove(0)));
    let expected: Vec<Bson> = vec![
        doc! { "sku": "b", "cents": 2_i64, "inner": { "deep": [1, 2] } }.into(),
        doc! { "sku": "c", "cents": 3_i64 }.into(),
    ];
    assert_eq!(found.unwrap().get_array("lines").unwrap(), &expected);
    let found = updated(lines(), |order| order.color = "red".to_owned());
    assert_eq!(found.unwrap().get("lines"), lines().get("lines"));
}

#[test]
fn an_edit_that_leaves_the_place_of_an_unknown_field_open_is_refused() {
    let path = unclear(lines(), |order| {
        order.lines[1].cents = 9;
        order.lines.remove(0);
    });
    assert_eq!(path, "lines.0.note");
    let path = unclear(lines(), |order| {
        order.lines.remove(2);
        order.lines[1].cents = 9;
    });
    assert_eq!(path, "lines.1.inner");
    let path = unclear(lines(), |order| {
        order.lines.swap(0, 1);
        order.lines[0].cents = 9;
    });
    assert_eq!(path, "lines.1.inner");
    // One of two that the model cannot tell apart.
    let twins = doc! { "lines": [{ "sku": "a", "note": 1 }, { "sku": "a", "note": 2 }] };
    let path = unclear(twins, |order| drop(order.lines.remove(0)));
    assert_eq!(path, "lines.0.note");
}

#[test]
fn a_set_with_unknown_fields_stays_as_long_as_it_is_not_changed() {
    let tags = |names: [&str; 2]| names.map(|name| doc! { "name": name, "since": 5 });
    let more = doc! { "tags": tags(["z", "a"]).to_vec() };
    let found = updated(more.clone(), |order| order.color = "red".to_owned()).unwrap();
    let of_found = read(&found).tags.into_iter().map(|tag| tag.name);
    assert_eq!(of_found.collect::<Vec<String>>(), ["a", "z"]);
    let mut all = found.get_array("tags").unwrap().clone();
    all.sort_by_key(ToString::to_string);
    assert_eq!(all, tags(["a", "z"]).map(Bson::from).to_vec());
    let known = doc! { "tags": [{ "name": "z" }, { "name": "a" }] };
    let found = updated(known, |order| drop(order.tags.pop_first())).unwrap();
    assert_eq!(found.get_array("tags").unwrap().len(), 1);
}

#[test]
fn an_old_name_of_a_field_never_stays_beside_the_new_one() {
    // The model skips what the old name has, so its own form of the item has neither name.
    for old in ["", "red"] {
        let found = updated(doc! { "colour": old }, |order| {
            order.color = "blue".to_owned();
        });
        let found = found.unwrap();
        assert!(found.get("colour").is_none(), "{found}");
        assert_eq!(read(&found).color, "blue");
        let found = updated(doc! { "colour": old, "more": 1 }, |order| {
            order.color = String::new();
            order.address.street = "y".to_owned();
        });
        let found = found.unwrap();
        assert_eq!(read(&found).color, "");
        assert_eq!(found.get_i32("more").unwrap(), 1);
    }
}

#[test]
fn an_old_name_in_elements_is_no_unknown_field() {
    for price in [0_i64, 5] {
        let lines: Vec<Document> = (0..100)
            .map(|at| doc! { "article": at.to_string(), "price": price, "note": at })
            .collect();
        let found = updated(doc! { "lines": lines.clone() }, |order| {
            for line in &mut order.lines {
                line.cents = 8;
            }
        });
        let found = found.unwrap();
        let (stored, order) = (found.get_array("lines").unwrap(), read(&found));
        for (at, (stored, line)) in stored.iter().zip(&order.lines).enumerate() {
            let expected =
                doc! { "sku": at.to_string(), "cents": 8_i64, "note": lines[at].get("note") };
            assert_eq!(stored.as_document(), Some(&expected));
            assert_eq!(line.cents, 8);
        }
        // It does not make the place of anything unclear.
        let lines: Vec<Document> = vec![doc! { "article": "a", "price": 5_i64 }; 2];
        let found = updated(doc! { "lines": lines }, |order| {
            order.lines.truncate(1);
            order.lines[0].cents = 1;
        });
        assert_eq!(read(&found.unwrap()).lines, [line("a", 1)]);
    }
}

#[test]
fn a_record_with_unknown_fields_in_it_does_not_move() {
    let moved = |more: Document| {
        let change = Change::Update(Box::new(|order: &mut Order| order.shop = 8));
        let mut edit = Edit::update(7.into(), &Which::id(&7_i64), None, change).may_move();
        let bucket = bucket_of(&stored(more));
        edit.found(std::slice::from_ref(&bucket), DateTime::from_millis(0));
        match edit.end() {
            Err(EditFailure::Edit(EditError::UnknownField { name, .. })) => Some(name),
            Ok(_) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(moved(lines()), Some("lines.0.note".to_owned()));
    let address = doc! { "address": { "street": "x", "floor": 3 } };
    assert_eq!(moved(address), Some("address.floor".to_owned()));
    let old_names = doc! { "colour": "red", "lines": [{ "article": "a", "price": 5_i64 }] };
    assert_eq!(moved(old_names), None);
}

#[test]
fn an_update_of_a_record_with_unknown_fields_that_changes_nothing_sends_nothing() {
    let mut more = doc! { "address": { "street": "x", "floor": 3 } };
    more.extend(lines());
    let item = stored(more.clone());
    assert_eq!(updated(more, |_| ()).unwrap(), item);
}

#[test]
fn a_value_that_is_read_as_less_than_it_is_stays_if_the_edit_does_not_change_it() {
    let payment = doc! { "status": "refunded", "share": 0.1, "note": "", "later": 1 };
    let more =
        doc! { "color": "red", "address": { "street": "" }, "lines": [], "payment": payment };
    let color = |color: &str| color.to_owned();
    let item = updated(more.clone(), |it| it.color = color("blue")).unwrap();
    assert_eq!(item.get("payment"), more.get("payment"));
    assert_eq!(item.get_str("color").unwrap(), "blue");
    // Next to what it changes.
    let note = |it: &mut Order| it.payment.as_mut().unwrap().note = "late".to_owned();
    let item = updated(more.clone(), note).unwrap();
    let expected = doc! { "status": "refunded", "share": 0.1, "note": "late", "later": 1 };
    assert_eq!(item.get_document("payment").unwrap(), &expected);
    // Unless it is what the edit changes.
    let open = |it: &mut Order| it.payment.as_mut().unwrap().status = Status::Open;
    let item = updated(more, open).unwrap();
    let expected = doc! { "status": "open", "share": 0.1, "note": "", "later": 1 };
    assert_eq!(item.get_document("payment").unwrap(), &expected);
}

#[test]
fn an_edit_that_changes_nothing_rewrites_nothing() {
    let payment = doc! { "status": "refunded", "share": 0.1, "note": "" };
    let more =
        doc! { "color": "red", "address": { "street": "" }, "lines": [], "payment": payment };
    let item = updated(more.clone(), |_| {}).unwrap();
    assert_eq!(item, stored(more));
}
