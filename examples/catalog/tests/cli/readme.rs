//! The README.

use example_kit::testing::Readme;

use crate::app::CATALOG;

#[tokio::test]
async fn the_readme_shows_the_real_output() {
    let readme = Readme {
        text: include_str!("../../README.md"),
        program: &CATALOG,
        changing: &[
            "the same products as",
            "many fields ",
            "many fields, sparse ",
            "attributes ",
            "The index on attributes replaces",
            "that of the sparse ones",
            "name both as well",
            "products.migrate_to_",
        ],
        changing_from: None,
        file: None,
    };
    readme.check().await;
}
