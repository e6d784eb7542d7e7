//! `catalog find`.

use bucket_mongo::bson::{Bson, Document, doc};
use example_kit::testing::Ran;
use serde_json::{Value, json};

use crate::app::{CATALOG, products, spec, with_products};

/// The products of each line.
fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn number(value: Option<&Bson>) -> Option<f64> {
    let value = value?;
    value.as_f64().or(value.as_i32().map(f64::from))
}

/// Conditions, and a check whether a product meets them.
type Case = (&'static [&'static str], fn(&Document) -> bool);

#[tokio::test]
async fn each_condition_finds_what_a_scan_of_all_products_finds() {
    let app = with_products("find", "1500").await;
    let stored = products(&app).await;
    let cases: [Case; 8] = [
        (&["color = teal"], |one| {
            spec(one, "color", None) == Some(&"teal".into())
        }),
        (&["weight_g >= 9000"], |one| {
            number(spec(one, "weight", Some("g"))) >= Some(9_000.0)
        }),
        (&["weight_g < 100"], |one| {
            number(spec(one, "weight", Some("g"))).is_some_and(|it| it < 100.0)
        }),
        (&["screen_inches <= 6.1"], |one| {
            number(spec(one, "screen", Some("inches"))).is_some_and(|it| it <= 6.1)
        }),
        (&["memory_gb > 32", "color=black"], |one| {
            number(spec(one, "memory", Some("GB"))) > Some(32.0)
                && spec(one, "color", None) == Some(&"black".into())
        }),
        (&["size = extra small"], |one| {
            spec(one, "size", None) == Some(&"extra small".into())
        }),
        (&["warranty_months >= 6"], |one| {
            spec(one, "warranty", Some("months")).is_some()
        }),
        (&[], |_| true),
    ];
    for (conditions, is) in cases {
        let found = lines(&app.run(&[&["find", "--json", "--limit", "9999"], conditions].concat()));
        let mut found: Vec<i64> = found
            .iter()
            .map(|one| one["_id"].as_i64().unwrap())
            .collect();
        found.sort_unstable();
        let expected = stored.iter().filter(|one| is(one));
        let expected: Vec<i64> = expected
            .map(|one| one.get_i32("_id").unwrap().into())
            .collect();
        assert!(!expected.is_empty(), "{conditions:?}");
        assert_eq!(found, expected, "{conditions:?}");
    }
}

#[tokio::test]
async fn a_product_is_shown_with_all_its_attributes_the_filter_and_the_cost() {
    let app = CATALOG.app("find_shown").await;
    let stored = app.database().collection::<Document>("products");
    assert_eq!(app.run(&["load", "--products", "1"]).code, Some(0));
    let specs = [
        doc! { "k": "pages", "v": 7 },
        doc! { "k": "weight", "v": 80, "u": "g" },
    ];
    let booklet = doc! { "_id": 2, "name": "booklet", "specs": specs };
    stored.insert_one(booklet).await.unwrap();

    let ran = app.run(&["find", "pages<10"]);
    let expected = "\
{ specs: { $elemMatch: { k: 'pages', u: null, v: { $lt: 10 } } } }

_id  name     attributes
------------------------------------------
  2  booklet  { weight_g: 80, pages: 7 }

1 product with pages < 10
index `attributes_specs`: 2 keys and 1 document examined
";
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), expected, "")
    );
    let ran = app.run(&["find", "pages < 10", "--json"]);
    let expected = json!({ "_id": 2, "name": "booklet", "weight_g": 80, "pages": 7 });
    assert_eq!((ran.code, ran.json()), (Some(0), expected));
}

#[tokio::test]
async fn a_limit_is_kept_and_reported() {
    let app = with_products("find_limit", "100").await;
    let ran = app.run(&["find", "--limit", "3"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("\n3 products, stopped at the limit\n"),
        "{ran:?}"
    );
    assert_eq!(
        lines(&app.run(&["find", "--limit", "3", "--json"])).len(),
        3
    );
}

#[tokio::test]
async fn no_matches_are_no_error_and_create_nothing() {
    let app = CATALOG.app("find_nothing").await;
    let ran = app.run(&["find", "color = teal", "pages > 5"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let expected = "\nno products with color = teal and pages > 5\n";
    assert!(ran.stdout.contains(expected), "{ran:?}");
    let ran = app.run(&["find", "--json"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
    let names = app.database().list_collection_names().await.unwrap();
    assert!(names.is_empty(), "reading creates nothing: {names:?}");
}

#[tokio::test]
async fn a_document_that_is_not_a_product_is_named() {
    let app = with_products("find_damaged", "3").await;
    let stored = app.database().collection::<Document>("products");
    let odd = doc! { "_id": 7, "name": "odd", "specs": [{ "k": "pages", "v": "many" }] };
    stored.insert_one(odd).await.unwrap();
    let ran = app.run(&["find", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("document 7") && error.contains("`specs`"),
        "{error}"
    );
}
