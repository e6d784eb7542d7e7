//! The README.

use example_kit::testing::Readme;

use crate::app::TRADES;

#[tokio::test]
async fn the_readme_shows_the_real_output() {
    let readme = Readme {
        text: include_str!("../../README.md"),
        program: &TRADES,
        changing: &[],
        changing_from: None,
        file: Some((
            "trades.csv",
            concat!(env!("CARGO_MANIFEST_DIR"), "/data/trades.csv"),
        )),
    };
    readme.check().await;
}
