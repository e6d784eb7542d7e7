//! `catalog migrate`.

use bucket_mongo::bson::{Document, doc};
use serde_json::json;

use crate::app::{CATALOG, products};

#[tokio::test]
async fn products_migrate_to_the_other_form_and_back_unchanged() {
    let app = CATALOG.app("migrate").await;
    let arguments = ["load", "--products", "300", "--form"];
    let ran = app.run(&[&arguments[..], &["fields"]].concat());
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let fields = products(&app).await;
    assert!(fields.iter().all(|product| !product.contains_key("specs")));

    let ran = app.run(&["migrate", "--to", "attributes"]);
    let expected = "300 documents: 300 changed, 0 in the form already, 0 refused; 0 left";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stdout.starts_with(expected), "{ran:?}");
    // Equal to products that were stored in this form.
    let attributes = CATALOG.app("migrate_attributes").await;
    let ran = attributes.run(&[&arguments[..], &["attributes"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(products(&app).await, products(&attributes).await);
    let stored = app.database().collection::<Document>("products");
    let names = stored.list_index_names().await.unwrap();
    assert_eq!(names, ["_id_", "attributes_specs"]);

    let ran = app.run(&["migrate", "--to", "fields", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["changed"], 300);
    assert_eq!(products(&app).await, fields);
}

#[tokio::test]
async fn a_dry_run_reports_what_would_be_changed_and_changes_nothing() {
    let app = CATALOG.app("migrate_dry").await;
    assert_eq!(app.run(&["load", "--products", "40"]).code, Some(0));
    let before = products(&app).await;
    let ran = app.run(&["migrate", "--to", "fields", "--dry-run", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(
        (&report["dry_run"], &report["changed"]),
        (&json!(true), &json!(40))
    );
    assert_eq!(products(&app).await, before);
}

#[tokio::test]
async fn a_product_that_cannot_be_migrated_is_named_and_the_others_are_migrated() {
    let app = CATALOG.app("migrate_refused").await;
    assert_eq!(app.run(&["load", "--products", "40"]).code, Some(0));
    let stored = app.database().collection::<Document>("products");
    let odd = doc! { "_id": 77, "name": "odd", "specs": [{ "k": "smell", "v": 1 }] };
    stored.insert_one(odd.clone()).await.unwrap();
    let ran = app.run(&["migrate", "--to", "fields"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("41 documents: 40 changed, 0 in the form already, 1 refused; 1 left"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("document 77") && ran.stderr.contains("`specs`"),
        "{ran:?}"
    );
    let found = stored.find_one(doc! { "_id": 77 }).await.unwrap();
    assert_eq!(found, Some(odd));
}
