//! Types inside of themselves, variants without data, and values that have another form than the samples.

use std::collections::{BTreeMap, HashMap};

use bucket_arrow::{Error, Layout, arrow_array::RecordBatch};
use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

use super::cell::{Cell, rows};

#[derive(Debug, Clone, Serialize, Deserialize)]
struct List(Vec<List>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Map(BTreeMap<String, Map>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Node(i32, Vec<Node>);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Nest {
    inner: Vec<Nest>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct NestOfMaps {
    inner: BTreeMap<String, Option<NestOfMaps>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
struct Chain {
    next: Option<Box<Chain>>,
}

/// Not inside of itself: the two only share a name.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Name(other::Name);

mod other {
    #[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
    pub struct Name(pub String);
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "inside", items = "items", window = "1h")]
struct Inside {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    list: List,
    map: Map,
    node: Node,
    nest: Nest,
    nest_of_maps: NestOfMaps,
    chain: Chain,
    name: Name,
}

fn inside() -> Inside {
    let list = List(vec![List(vec![List(Vec::new())])]);
    let node = Node(1, vec![Node(2, Vec::new())]);
    let empty = NestOfMaps {
        inner: BTreeMap::new(),
    };
    let nest = |inner| Nest { inner };
    Inside {
        key: 1,
        at: DateTime::from_millis(0),
        list,
        map: Map(BTreeMap::from([("a".into(), Map(BTreeMap::new()))])),
        node,
        nest: nest(vec![nest(vec![nest(Vec::new())])]),
        nest_of_maps: NestOfMaps {
            inner: BTreeMap::from([("a".into(), Some(empty)), ("b".into(), None)]),
        },
        chain: Chain {
            next: Some(Box::new(Chain { next: None })),
        },
        name: Name(other::Name("x".into())),
    }
}

fn fields(batch: RecordBatch) -> Vec<BTreeMap<String, Cell>> {
    let of_row = |row| {
        let Cell::Struct(fields) = row else { panic!() };
        fields.into_iter().collect()
    };
    rows(&[batch]).into_iter().map(of_row).collect()
}

#[test]
fn types_inside_of_themselves_have_columns_of_any_form() {
    let layout = Layout::<Inside>::new().unwrap();
    let mut batch = layout.batch();
    batch.push(&inside()).unwrap();
    let row = fields(batch.finish().unwrap()).remove(0);
    let json = |text: &str| Cell::text(text);
    assert_eq!(row["list"], Cell::List(vec![json("[[]]")]));
    assert_eq!(row["map"], Cell::Map(vec![("a".into(), json("{}"))]));
    let inner = json(r#"[{"$numberInt":"2"},[]]"#);
    assert_eq!(
        row["node"],
        Cell::fields([("0", 1_i32.into()), ("1", Cell::List(vec![inner]))])
    );
    // Nothing says where they begin again.
    assert_eq!(row["nest"], json("[[[]]]"));
    assert_eq!(row["nest_of_maps"], json(r#"{"a":{},"b":null}"#));
    assert_eq!(row["chain"], Cell::Null);
    assert_eq!(row["name"], Cell::text("x"));
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Expression {
    Number(i32),
    Not(Box<Expression>),
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "rules", items = "rules", window = "1h")]
struct Rule {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    of: Expression,
}

#[test]
fn an_enum_inside_of_itself_asks_for_a_column_of_json_and_has_one() {
    let rule = Rule {
        key: 1,
        at: DateTime::from_millis(0),
        of: Expression::Not(Box::new(Expression::Number(1))),
    };
    let mut batch = Layout::<Rule>::new().unwrap().batch();
    let error = batch.push(&rule).unwrap_err();
    let Error::Record { field, message, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(field, "of");
    assert!(message.contains("`json(path)`"), "{message}");

    let layout = Layout::<Rule>::builder().json("of").build().unwrap();
    let mut batch = layout.batch();
    batch.push(&rule).unwrap();
    let row = fields(batch.finish().unwrap()).remove(0);
    assert_eq!(
        row["of"],
        Cell::text(r#"{"Not":{"Number":{"$numberInt":"1"}}}"#)
    );
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Mixed {
    Plain,
    Braces {},
    Parentheses(),
    Data { x: i32 },
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Bare {
    Braces {},
    Parentheses(),
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "variants", items = "variants", window = "1h")]
struct Variants {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    mixed: Mixed,
    bare: Bare,
}

#[test]
fn variants_with_nothing_in_braces_are_those_without_data() {
    let layout = Layout::<Variants>::new().unwrap();
    let mut batch = layout.batch();
    let values = [
        (Mixed::Plain, Bare::Braces {}),
        (Mixed::Braces {}, Bare::Parentheses()),
        (Mixed::Parentheses(), Bare::Braces {}),
        (Mixed::Data { x: 1 }, Bare::Braces {}),
    ];
    for (mixed, bare) in values {
        let at = DateTime::from_millis(0);
        let key = 1;
        batch
            .push(&Variants {
                key,
                at,
                mixed,
                bare,
            })
            .unwrap();
    }
    let rows = fields(batch.finish().unwrap());
    let mixed =
        |name: &str, data: Cell| Cell::fields([("variant", Cell::text(name)), ("Data", data)]);
    assert_eq!(rows[0]["mixed"], mixed("Plain", Cell::Null));
    assert_eq!(rows[1]["mixed"], mixed("Braces", Cell::Null));
    assert_eq!(rows[2]["mixed"], mixed("Parentheses", Cell::Null));
    let data = Cell::fields([("x", 1_i32.into())]);
    assert_eq!(rows[3]["mixed"], mixed("Data", data));
    assert_eq!(rows[1]["bare"], Cell::text("Parentheses"));
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Position {
    Named { latitude: f64, longitude: f64 },
    Pair(f64, f64),
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "positions", items = "positions", window = "1h")]
struct Positioned {
    #[bucket(key)]
    key: i32,
    #[bucket(time)]
    at: DateTime,
    position: Position,
}

#[test]
fn a_tuple_does_not_fit_a_struct_with_names() {
    let of = |position| Positioned {
        key: 1,
        at: DateTime::from_millis(0),
        position,
    };
    let named = of(Position::Named {
        latitude: 48.4,
        longitude: 10.0,
    });
    let pair = of(Position::Pair(10.0, 48.4));
    let layout = Layout::builder().sample(&named).build().unwrap();
    let error = layout.batch().push(&pair).unwrap_err();
    assert!(
        matches!(&error, Error::Record { field, .. } if field == "position"),
        "{error}"
    );
    let layout = Layout::builder().sample(&pair).build().unwrap();
    layout.batch().push(&pair).unwrap();
}

#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "open", items = "open", window = "1h")]
struct Open {
    #[bucket(key)]
    zone: i32,
    #[bucket(time)]
    at: DateTime,
    #[serde(flatten)]
    more: HashMap<String, i64>,
    last: bool,
}

#[test]
fn fields_that_only_a_flattened_map_has_shown_are_in_the_order_of_their_names() {
    let names: Vec<String> = (10..40).map(|number| format!("m{number}")).collect();
    let open = Open {
        zone: 1,
        at: DateTime::from_millis(0),
        more: names.iter().map(|name| (name.clone(), 1)).collect(),
        last: true,
    };
    let layout = Layout::builder().sample(&open).build().unwrap();
    let schema = layout.schema();
    let found: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    let declared = ["zone", "at", "last"];
    assert_eq!(found[..3], declared);
    assert_eq!(
        found[3..],
        names.iter().map(String::as_str).collect::<Vec<_>>()
    );
    layout.batch().push(&open).unwrap();
}
