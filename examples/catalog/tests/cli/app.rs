//! The app and its stored products.

use bucket_mongo::bson::{Bson, Document};
use example_kit::testing::{App, Program, documents};

pub(crate) static CATALOG: Program = Program {
    binary: env!("CARGO_BIN_EXE_catalog"),
    folder: env!("CARGO_TARGET_TMPDIR"),
};

/// The app with this number of products in its database.
pub(crate) async fn with_products(test: &str, number: &str) -> App {
    let app = CATALOG.app(test).await;
    let ran = app.run(&["load", "--products", number]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    app
}

/// The stored products, in the order of their ids.
pub(crate) async fn products(app: &App) -> Vec<Document> {
    documents(app.database(), "products").await
}

/// The value of an attribute of a stored product.
pub(crate) fn spec<'a>(product: &'a Document, k: &str, u: Option<&str>) -> Option<&'a Bson> {
    let specs = product.get_array("specs").unwrap();
    let mut specs = specs.iter().map(|entry| entry.as_document().unwrap());
    let entry =
        specs.find(|entry| entry.get_str("k").unwrap() == k && entry.get_str("u").ok() == u);
    entry.and_then(|entry| entry.get("v"))
}
