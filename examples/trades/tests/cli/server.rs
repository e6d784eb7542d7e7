//! Which server and which database.

use serde_json::json;

use crate::app::{App, documents, file, run, server, uri};

const ONE: &str = "customer_id,ticker,type,qty,price,date\n7,MDB,buy,1,1,2023-10-26T15:47:03Z\n";

#[tokio::test]
async fn the_path_of_the_uri_names_the_database_and_trades_is_the_default() {
    let app = App::new("path").await;
    let path = file("one.csv", ONE);
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    assert_eq!(app.documents().await.len(), 1);

    let ran = run(&["load", &path], Some(&uri("")));
    assert!(ran.stdout.ends_with("in `trades.trades`\n"), "{ran:?}");
    let client = server().await.client().await.unwrap();
    assert_eq!(documents(&client.database("trades")).await.len(), 1);
}

#[tokio::test]
async fn without_a_server_a_load_says_that_nothing_stays() {
    let path = file("gone.csv", ONE);
    let ran = run(&["load", &path], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("1 trade of 1 customer -> 1 new bucket"),
        "{ran:?}"
    );
    let note = "MONGODB_URI is not set: the trades go away with the development server\n";
    assert_eq!(ran.stderr, note);
}

#[tokio::test]
async fn without_a_server_the_built_in_trades_are_shown() {
    let ran = run(&["page", "17850", "9"], None);
    assert!(
        ran.stdout
            .starts_with("customer 17850, page 9 of 9: 4 trades"),
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("these are the built-in trades"),
        "{ran:?}"
    );
    let ran = run(&["show", "17968", "--json"], None);
    assert_eq!(
        (&ran.json()["records"], ran.stderr.as_str()),
        (&json!(85), "")
    );
}

#[tokio::test]
async fn a_uri_of_no_use_is_an_error() {
    let ran = run(&["show", "5", "--json"], Some("http://localhost"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    assert!(
        ran.error()["error"]
            .as_str()
            .unwrap()
            .contains("MONGODB_URI"),
        "{ran:?}"
    );
}
