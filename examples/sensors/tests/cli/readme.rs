//! The README.

use example_kit::testing::Readme;

use crate::app::SENSORS;

#[tokio::test]
async fn the_readme_shows_the_real_output() {
    let readme = Readme {
        text: include_str!("../../README.md"),
        program: &SENSORS,
        changing: &[
            "53060 readings of 10 sensors -> 11558 buckets in ",
            "the same readings as",
            "buckets  ",
            "a flat collection",
            "a time series collection",
            "the flat collection takes",
        ],
        changing_from: None,
        file: Some((
            "sensors.csv",
            concat!(env!("CARGO_MANIFEST_DIR"), "/data/sensors.csv"),
        )),
    };
    readme.check().await;
}
