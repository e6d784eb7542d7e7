//! What a model reads as less than it is stays through edits, in arrays too, and is never counted as what it is read as.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::{BTreeMap, HashMap, HashSet};

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use bucket_core::{
    Which,
    edit::{Change, Edit, EditError, EditFailure, EditNext},
};
use bucket_derive::Bucketed;
use serde::{Deserialize, Deserializer, Serialize};

/// A later version has a double as its share, and more states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "orders", items = "orders", window = "1m", crate = ::bucket_core)]
#[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
struct Order {
    #[bucket(key)]
    shop: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(sum = "shares", min = "smallest", max = "largest")]
    share: f32,
    #[bucket(tally("states", |state| state.name().to_owned()))]
    state: State,
    lines: Vec<Line>,
    states: Vec<State>,
    pair: (State, i64),
    shares: Vec<f32>,
    by_name: Vec<HashMap<String, State>>,
    seen: HashSet<State>,
    #[bucket(attribute(array = "specs", k = "weight", u = "kg"))]
    weight: Option<f32>,
    #[bucket(attribute(array = "origin", k = "height"))]
    height: Option<f32>,
    range: Range,
    #[serde(default)]
    by_state: BTreeMap<State, i64>,
    /// Nothing where this version does not know it.
    #[serde(
        default,
        deserialize_with = "known_state",
        skip_serializing_if = "Option::is_none"
    )]
    #[bucket(count_if("known", Option::is_some))]
    other_state: Option<State>,
    #[serde(default, deserialize_with = "known_states")]
    some: Vec<State>,
}

fn known_states<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<State>, D::Error> {
    let states = Vec::<State>::deserialize(from)?.into_iter();
    Ok(states.filter(|state| *state != State::Other).collect())
}

fn known_state<'de, D: Deserializer<'de>>(from: D) -> Result<Option<State>, D::Error> {
    let state = State::deserialize(from)?;
    Ok(Some(state).filter(|state| *state != State::Other))
}

/// The model reads two values as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "(i64, i64)", into = "(i64, i64)")]
struct Range {
    low: i64,
    high: i64,
}

impl From<(i64, i64)> for Range {
    fn from((one, other): (i64, i64)) -> Self {
        Self {
            low: one.min(other),
            high: one.max(other),
        }
    }
}

impl From<Range> for (i64, i64) {
    fn from(range: Range) -> Self {
        (range.low, range.high)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Paid,
    #[serde(other)]
    Other,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paid => "paid",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    state: State,
    number: i64,
}

fn stored(id: i64) -> Document {
    doc! {
        "at": DateTime::from_millis(id), "id": id, "share": 0.1, "state": "refunded",
        "lines": [
            { "state": "refunded", "number": 1_i64, "note": "first" },
            { "state": "refunded", "number": 2_i64 },
            { "state": "open", "number": 3_i64 },
        ],
        "states": ["refunded", "paid", "lost", "paid"],
        "pair": ["refunded", 1_i64],
        "shares": [0.1, 0.2],
        "by_name": [{ "a": "refunded", "b": "paid", "c": "lost", "d": "open" }],
        "seen": ["refunded", "paid", "open"],
        "specs": [{ "k": "weight", "v": 0.1, "u": "kg" }],
        "range": [5_i64, 3_i64],
        "by_state": { "open": 7_i64, "refunded": 7_i64, "lost": 7_i64 },
        "other_state": "refunded",
        "some": ["open", "refunded", "paid"],
    }
}

/// One that this version reads as it is, except for fields without aggregates.
fn exact(id: i64, share: f64) -> Document {
    let mut item = stored(id);
    item.extend(doc! { "share": share, "state": "paid", "other_state": "open" });
    item
}

/// A bucket of two orders, as the later version stores it, with other aggregates.
fn bucket_of(aggregates: Document) -> RawDocumentBuf {
    let mut bucket = doc! {
        "_id": "7_0", "shop": 7_i64, "bucket_start": DateTime::from_millis(0),
        "bucket_end": DateTime::from_millis(60_000), "count": 2,
        "stats": { "shares": 0.2, "smallest": 0.1, "largest": 0.1, "known": 2, "states": { "refunded": 2 } },
        "origin": [{ "what": "height", "is": 0.2 }],
        "orders": [stored(1), stored(2)],
    };
    bucket.extend(aggregates);
    RawDocumentBuf::try_from(&bucket).unwrap()
}

/// What the statement of an edit sets.
fn made(aggregates: Document, change: Option<fn(&mut Order)>) -> Result<Document, EditFailure> {
    let which = Which::id(&1_i64);
    let mut edit = match change {
        Some(change) => Edit::update(7.into(), &which, None, Change::Update(Box::new(change))),
        None => Edit::<Order>::delete(7.into(), &which),
    }
    .weak();
    let bucket = bucket_of(aggregates);
    edit.found(std::slice::from_ref(&bucket), DateTime::from_millis(0));
    let EditNext::Send { command, .. } = edit.next() else {
        edit.end()?;
        panic!("nothing is sent");
    };
    let command = Document::try_from(command).unwrap();
    let statement = command.get_array("updates").unwrap()[0].as_document();
    let change = statement.unwrap().get_document("u").unwrap();
    Ok(change.get_document("$set").unwrap().clone())
}

/// A field of the order after an update of it.
fn after(name: &str, change: fn(&mut Order)) -> Bson {
    let set = made(Document::new(), Some(change)).unwrap();
    let item = set.get_document("orders.0").unwrap();
    for (other, value) in &stored(1) {
        let is = item.get(other);
        let is_set = other == "seen"
            && is.and_then(Bson::as_array).is_some_and(|seen| {
                let before = value.as_array().unwrap();
                seen.len() == before.len() && before.iter().all(|value| seen.contains(value))
            });
        assert!(
            other == name || is == Some(value) || is_set,
            "{other}: {is:?}"
        );
    }
    assert_eq!(item.get("origin"), None, "the bucket holds it");
    item.get(name).unwrap().clone()
}

fn array(values: impl IntoIterator<Item = impl Into<Bson>>) -> Bson {
    values
        .into_iter()
        .map(Into::into)
        .collect::<Vec<Bson>>()
        .into()
}

#[test]
fn elements_that_an_edit_leaves_as_they_are_stay() {
    let states = |change| after("states", change);
    let set = states(|order| order.states[1] = State::Open);
    assert_eq!(set, array(["refunded", "open", "lost", "paid"]));
    let pushed = states(|order| order.states.push(State::Open));
    assert_eq!(pushed, array(["refunded", "paid", "lost", "paid", "open"]));
    let pair = after("pair", |order| order.pair.1 = 2);
    assert_eq!(pair, Bson::from(vec![Bson::from("refunded"), 2_i64.into()]));
    let shares = after("shares", |order| order.shares.push(0.5));
    assert_eq!(shares, array([0.1, 0.2, 0.5]));
}

#[test]
fn values_next_to_what_an_edit_changes_in_an_element_stay() {
    let first = doc! { "state": "refunded", "number": 1_i64, "note": "first" };
    let second = doc! { "state": "refunded", "number": 2_i64 };
    let third = doc! { "state": "open", "number": 3_i64 };
    let lines = |change| after("lines", change);
    let changed = lines(|order| order.lines[0].number = 9);
    let number = doc! { "state": "refunded", "number": 9_i64, "note": "first" };
    assert_eq!(changed, array([number, second.clone(), third.clone()]));
    let open = lines(|order| order.lines[0].state = State::Open);
    let opened = doc! { "state": "open", "number": 1_i64, "note": "first" };
    assert_eq!(open, array([opened, second.clone(), third.clone()]));
    let removed = lines(|order| order.lines = order.lines.split_off(1));
    assert_eq!(removed, array([second.clone(), third.clone()]));
    let swapped = lines(|order| order.lines.swap(0, 2));
    assert_eq!(
        swapped,
        array([third.clone(), second.clone(), first.clone()])
    );
    let popped = lines(|order| order.lines.truncate(2));
    assert_eq!(popped, array([first, second]));
}

#[test]
fn whatever_the_order_of_maps_and_sets_all_else_stays() {
    // Each of them has another order in each run of `change`.
    for _ in 0..20 {
        let pair = after("pair", |order| order.pair.1 = 2);
        assert_eq!(pair, Bson::from(vec![Bson::from("refunded"), 2_i64.into()]));
    }
}

#[test]
fn what_the_model_reads_as_one_value_gives_up_no_other_one() {
    let range = after("range", |order| order.range.low = 1);
    assert_eq!(range, array([1_i64, 5]));
}

#[test]
fn an_edit_that_leaves_the_place_of_such_a_value_open_is_refused() {
    let unclear: [fn(&mut Order); 2] = [
        // Either of the two that are read as `Other`.
        |order| order.states = order.states.split_off(1),
        |order| order.states = vec![State::Paid, State::Other, State::Open],
    ];
    for change in unclear {
        match made(Document::new(), Some(change)) {
            Err(EditFailure::Edit(EditError::UnclearField { path, .. })) => {
                assert!(path.starts_with("states."), "{path}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn aggregates_that_an_edit_does_not_change_stay_as_a_later_version_has_counted_them() {
    let set = made(Document::new(), Some(|order| order.pair.1 = 2)).unwrap();
    let of = |name: &str| set.get(format!("stats.{name}")).cloned().unwrap();
    assert_eq!(of("shares"), 0.2.into());
    assert_eq!(
        [of("smallest"), of("largest")],
        [Bson::from(0.1), 0.1.into()]
    );
    assert_eq!(of("states"), doc! { "refunded": 2 }.into());
    assert_eq!(of("known"), 2.into());
}

#[test]
fn an_edit_that_would_count_such_values_wrong_is_refused() {
    let removal = made(Document::new(), None);
    let share = made(Document::new(), Some(|order| order.share = 0.5));
    let state = made(Document::new(), Some(|order| order.state = State::Open));
    for refused in [removal, share, state] {
        let Err(EditFailure::Edit(error @ EditError::ReadsLess { .. })) = refused else {
            panic!("{refused:?}");
        };
        assert!(error.to_string().contains("`orders.0."), "{error}");
    }
}

#[test]
fn an_edit_mends_aggregates_that_were_wrong() {
    let plain = |id: i64| {
        let pair: Bson = vec![Bson::from("paid"), 1_i64.into()].into();
        let none = Bson::Array(Vec::new());
        let mut item = stored(id);
        for name in ["lines", "states", "shares", "by_name", "seen", "specs"] {
            item.insert(name, none.clone());
        }
        item.extend(doc! { "share": 0.5, "state": "paid", "pair": pair, "range": [1_i64, 2_i64] });
        item.extend(doc! { "by_state": {}, "other_state": "open" });
        item
    };
    let stats = doc! { "shares": 7.0, "states": {}, "smallest": 3.0 };
    let wrong = doc! { "stats": stats, "origin": [], "orders": [plain(1), plain(2)] };
    let set = made(wrong, Some(|order| order.pair.1 = 2)).unwrap();
    assert_eq!(set.get("stats.shares"), Some(&1.0.into()));
    assert_eq!(set.get("stats.smallest"), Some(&0.5.into()));
    assert_eq!(set.get("stats.states"), Some(&doc! { "paid": 2 }.into()));
}

#[test]
fn values_that_an_edit_leaves_are_never_counted_as_what_they_are_read_as() {
    // What is stored is what this version counts, too: only the other record is read as less.
    let of =
        |stats: Document, first: Document| doc! { "stats": stats, "orders": [first, stored(2)] };
    let stats = doc! { "shares": 0.1, "smallest": 0.0, "largest": 0.1, "known": 2, "states": {} };
    let removal = made(of(stats, exact(1, 0.0)), None);
    assert!(matches!(
        removal,
        Err(EditFailure::Edit(EditError::ReadsLess { .. }))
    ));
}

#[test]
fn records_are_removed_whatever_else_is_read_as_less() {
    let stats = doc! { "shares": 0.75, "smallest": 0.25, "known": 2, "states": { "paid": 2 } };
    let two = doc! { "stats": stats, "orders": [exact(1, 0.25), exact(2, 0.5)] };
    let set = made(two, None).unwrap();
    assert_eq!(set.get("stats.smallest"), Some(&0.5.into()));
    assert_eq!(set.get("stats.known"), Some(&1.into()));
    assert_eq!(set.get("stats.states"), Some(&doc! { "paid": 1 }.into()));
}

#[test]
fn keys_of_maps_that_are_read_as_another_stay() {
    let by_state = after("by_state", |order| {
        order.by_state.insert(State::Open, 5);
    });
    let expected = doc! { "open": 5_i64, "refunded": 7_i64, "lost": 7_i64 };
    assert_eq!(by_state, expected.into());
}

#[test]
fn a_long_array_with_such_values_is_not_changed() {
    let long = |last: &str| -> Vec<Bson> {
        let states = (0..1_500).map(|number| if number % 3 == 0 { "refunded" } else { "paid" });
        states.chain([last]).map(Bson::from).collect()
    };
    let mut first = stored(1);
    first.insert("states", long("open"));
    let of = |change| made(doc! { "orders": [first.clone(), stored(2)] }, Some(change));
    let refused = of(|order| order.states.push(State::Open));
    assert!(matches!(
        refused,
        Err(EditFailure::Edit(EditError::UnclearField { .. }))
    ));
    let set = of(|order| order.pair.1 = 2).unwrap();
    let item = set.get_document("orders.0").unwrap();
    assert_eq!(item.get_array("states").unwrap(), &long("open"));
}

#[test]
fn a_list_of_which_the_model_leaves_something_out_is_not_put_in_another_order() {
    let refused: [fn(&mut Order); 2] = [
        |order| order.some.reverse(),
        |order| {
            order.some.reverse();
            order.pair.1 = 2;
        },
    ];
    for change in refused {
        match made(Document::new(), Some(change)) {
            Err(EditFailure::Edit(EditError::UnclearField { path, .. })) => {
                assert_eq!(path, "some");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(after("pair", |order| order.pair.1 = 2), {
        Bson::from(vec![Bson::from("refunded"), 2_i64.into()])
    });
}

#[test]
fn the_time_of_a_record_changes_whatever_its_values_are_read_as() {
    let later = |order: &mut Order| order.at = DateTime::from_millis(5);
    let set = made(Document::new(), Some(later)).unwrap();
    assert_eq!(set.get("stats.shares"), Some(&0.2.into()));
}
