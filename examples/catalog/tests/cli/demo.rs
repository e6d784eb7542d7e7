//! The main job.

use example_kit::testing::{server, uri};

use crate::app::CATALOG;

/// The output of the main job, with few products.
async fn told() -> String {
    server().await;
    let ran = CATALOG.run(&["--products", "500"], Some(&uri("")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    ran.stdout
}

/// The text between a line of Rust and the next blank line.
fn query<'a>(text: &'a str, rust: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| *line != rust).skip(1);
    lines
        .take_while(|line| !line.is_empty())
        .map(str::trim)
        .collect()
}

#[tokio::test]
async fn the_manuals_documents_are_those_of_its_page() {
    let text = told().await;
    let bottle = "
{
  _id: 1,
  specs: [
    { k: 'volume', v: '500', u: 'ml' },
    { k: 'volume', v: '12', u: 'ounces' },
    { k: 'height', v: '8', u: 'inches' }
  ]
}
";
    let movie = "
{
  _id: 1,
  title: 'Star Wars',
  runtime: 121,
  directors: [ 'George Lucas' ],
  releases: [
    { location: 'USA', date: ISODate(\"1977-05-20T00:00:00.000Z\") },
    { location: 'France', date: ISODate(\"1977-10-19T00:00:00.000Z\") },
    { location: 'Italy', date: ISODate(\"1977-10-20T00:00:00.000Z\") },
    { location: 'UK', date: ISODate(\"1977-12-27T00:00:00.000Z\") }
  ]
}
";
    for document in [bottle, movie] {
        assert!(text.contains(document), "{text}");
    }
}

#[tokio::test]
async fn a_query_is_shown_as_rust_and_as_filter_with_its_documents_and_its_cost() {
    let text = told().await;
    assert_eq!(
        query(&text, "specs.volume().ml().gte(500)"),
        [
            "{ specs: { $elemMatch: { k: 'volume', u: 'ml', v: { $gte: 500 } } } }",
            "-> { _id: 1, volume_ml: 500, volume_ounces: 12, height_inches: 8 }",
            "-> { _id: 3, volume_ml: 1000, height_inches: 13, weight_g: 640 }",
            "index `attributes_specs`: 2 keys and 2 documents examined",
        ]
    );
    // 25 ounces are 739 ml.
    let converted = query(&text, "specs.volume().in_ml().gte(500)");
    assert!(
        converted.contains(&"-> { _id: 4, volume_ounces: 25, height_inches: 9 }"),
        "{text}"
    );
    let released = query(&text, "releases.location(\"USA\").before(JUNE_1977)");
    assert!(
        released.ends_with(&[
            "-> 2: Jaws",
            "-> 1: Star Wars",
            "index `attributes_releases`: 2 keys and 2 documents examined",
        ]),
        "{text}"
    );
}

#[tokio::test]
async fn what_goes_wrong_by_hand_is_marked() {
    let text = told().await;
    let wrong: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with("<- wrong"))
        .collect();
    let expected = "  -> { _id: 2, volume_ml: 330, height_inches: 7, weight_g: 520 }  <- wrong";
    assert_eq!(wrong, [expected], "{text}");
    // The manual's own index does not help the same query.
    let (_, behind) = text.split_once("the manual's own index").unwrap();
    let released = query(behind, "releases.location(\"USA\").before(JUNE_1977)");
    let last = released.last().copied();
    assert_eq!(
        last,
        Some("no index: 0 keys and 3 documents examined"),
        "{text}"
    );
}

#[tokio::test]
async fn products_are_migrated_and_back() {
    let text = told().await;
    let moved = "500 documents: 500 changed, 0 in the form already, 0 refused; 0 left; ";
    assert_eq!(text.matches(moved).count(), 2, "{text}");
    assert!(
        text.contains("  500 of 500 products are what they were"),
        "{text}"
    );
}

#[tokio::test]
async fn it_leaves_no_database_and_fits_in_its_lines() {
    let client = server().await.client().await.unwrap();
    let text = told().await;
    assert!(text.contains("\n500 products of eight kinds"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 110), "{text}");
    let (_, database) = text.split_once("database `").unwrap();
    let (database, _) = database.split_once('`').unwrap();
    let names = client.list_database_names().await.unwrap();
    assert!(!names.iter().any(|name| name == database), "{names:?}");
}
