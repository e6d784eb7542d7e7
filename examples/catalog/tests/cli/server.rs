//! The choice of the server and the database.

use bucket_mongo::bson::Document;
use example_kit::testing::{documents, server, uri};

use crate::app::{CATALOG, products, with_products};

#[tokio::test]
async fn the_path_of_the_uri_names_the_database_and_catalog_is_the_default() {
    let app = with_products("path", "3").await;
    assert_eq!(products(&app).await.len(), 3);
    let ran = CATALOG.run(&["load", "--products", "3"], Some(&uri("")));
    assert_eq!(ran.stdout, "3 products -> `catalog.products`\n", "{ran:?}");
    let client = server().await.client().await.unwrap();
    let stored: Vec<Document> = documents(&client.database("catalog"), "products").await;
    assert_eq!(stored.len(), 3);
}

#[tokio::test]
async fn without_a_server_it_warns_that_nothing_is_kept_and_shows_the_built_in_products() {
    let ran = CATALOG.run(&["load", "--products", "3"], None);
    let note = "MONGODB_URI is not set: the products go away with the development server\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), note), "{ran:?}");
    let ran = CATALOG.run(&["find", "color = teal", "--limit", "2"], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("these are the built-in products"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("\n2 products with color = teal"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_wrong_uri_is_an_error() {
    let ran = CATALOG.run(&["find", "--json"], Some("http://localhost"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("MONGODB_URI"), "{error}");
}
