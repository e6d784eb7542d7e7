//! `catalog load`.

use bucket_mongo::bson::{Document, doc};
use example_kit::testing::{server, uri};
use serde_json::json;

use crate::app::{CATALOG, products, with_products};

#[tokio::test]
async fn new_products_follow_the_stored_ones_under_one_index() {
    let app = CATALOG.app("load").await;
    let place = format!("{}.products", app.database().name());
    let ran = app.run(&["load", "--products", "150"]);
    let expected = format!("150 products -> `{place}`\n");
    assert_eq!(
        (ran.code, ran.stdout, ran.stderr.as_str()),
        (Some(0), expected, "")
    );
    let ran = app.run(&["load", "--products", "50", "--json"]);
    let expected = json!({ "stored": 50, "collection": place });
    assert_eq!((ran.code, ran.json()), (Some(0), expected));

    let stored = products(&app).await;
    let ids: Vec<i32> = stored
        .iter()
        .map(|one| one.get_i32("_id").unwrap())
        .collect();
    assert_eq!(ids, (1..=200).collect::<Vec<_>>());
    for product in &stored {
        assert_eq!(product.keys().collect::<Vec<_>>(), ["_id", "name", "specs"]);
        let specs = product.get_array("specs").unwrap();
        assert!((4..=6).contains(&specs.len()), "{product}");
    }
    let indexes = app.database().collection::<Document>("products");
    let names = indexes.list_index_names().await.unwrap();
    assert_eq!(names, ["_id_", "attributes_specs"]);
}

#[tokio::test]
async fn equal_numbers_give_equal_products() {
    let whole = with_products("load_whole", "60").await;
    let parts = with_products("load_parts", "20").await;
    assert_eq!(parts.run(&["load", "--products", "40"]).code, Some(0));
    assert_eq!(products(&whole).await, products(&parts).await);
}

#[tokio::test]
async fn numbers_that_are_used_up_are_an_error_and_nothing_is_stored() {
    let app = CATALOG.app("load_used_up").await;
    let stored = app.database().collection::<Document>("products");
    let last = doc! { "_id": i32::MAX - 5, "name": "last", "specs": [] };
    stored.insert_one(last).await.unwrap();
    let ran = app.run(&["load", "--products", "6", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert_eq!(error, "there are numbers for 5 more products, not for 6");
    assert_eq!(products(&app).await.len(), 1);
}

#[tokio::test]
async fn concurrent_loads_get_different_numbers() {
    let app = CATALOG.app("load_together").await;
    let uri = uri(app.database().name());
    let form = |number: u32| {
        if number.is_multiple_of(2) {
            "fields"
        } else {
            "attributes"
        }
    };
    let loads = (0..4).map(|number| {
        let arguments = ["load", "--products", "6000", "--form", form(number)];
        CATALOG.start(&arguments, &uri)
    });
    for load in loads.collect::<Vec<_>>() {
        let ran = load.end();
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    }
    let stored = products(&app).await;
    let ids = stored.iter().map(|one| one.get_i32("_id").unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), (1..=24_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_stopped_load_reports_what_is_stored_and_what_to_type_for_the_rest() {
    server().await;
    let app = CATALOG.app("load_stopped").await;
    let arguments = ["load", "--products", "500000", "--form", "fields"];
    let mut load = CATALOG.start(&arguments, &uri(app.database().name()));
    let stored = app.database().collection::<Document>("products");
    let stored = async || stored.estimated_document_count().await.unwrap();
    load.until(async || stored().await > 5_000).await;
    load.signal("TERM");
    let ran = load.end();
    assert_eq!(ran.code, Some(143), "{ran:?}");
    let number = stored().await;
    let place = format!("{}.products", app.database().name());
    assert_eq!(ran.stdout, format!("{number} products -> `{place}`\n"));
    let left = 500_000 - number;
    let expected = format!(
        "to store the rest:\n  catalog load --products {left} --form fields\n\
         error: interrupted (SIGTERM)\n"
    );
    assert_eq!(ran.stderr, expected);
}
