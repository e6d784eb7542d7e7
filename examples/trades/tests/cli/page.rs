//! `trades page`.

use serde_json::json;

use crate::app::App;

#[tokio::test]
async fn a_page_is_a_table_of_ten_trades() {
    let app = App::loaded("table").await;
    let ran = app.run(&["page", "17850", "2"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let mut lines = ran.stdout.lines();
    let title = lines.next().unwrap();
    assert!(
        title.starts_with("customer 17850, page 2 of 9: 10 trades (`17850_"),
        "{title}"
    );
    assert_eq!(lines.next(), Some(""));
    let header = lines.next().unwrap();
    assert_eq!(
        header.split_whitespace().collect::<Vec<_>>(),
        ["date", "type", "ticker", "qty", "price"]
    );
    assert_eq!(lines.count(), 11, "a rule and ten trades");
    assert!(
        ran.stdout
            .lines()
            .all(|line| line.len() <= 80 && line.trim_end() == line)
    );
}

#[tokio::test]
async fn pages_follow_the_file() {
    let app = App::loaded("follow").await;
    let page = app.run(&["page", "17850", "1", "--json"]).json();
    assert_eq!(
        (&page["customer"], &page["page"]),
        (&json!(17850), &json!(1))
    );
    assert_eq!(page["records"].as_array().unwrap().len(), 10);
    let first = json!({
        "customerId": 17850, "type": "buy", "ticker": "85123A", "qty": 6, "price": 2.55,
        "date": "2010-12-01T08:26:00.000Z",
    });
    assert_eq!(page["records"][0], first);
    let last = app.run(&["page", "17850", "9", "--json"]).json();
    assert_eq!(last["records"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn a_page_past_the_end_is_empty() {
    let app = App::loaded("past").await;
    for (number, pages) in [("10", "9"), ("18446744073709551615", "9")] {
        let ran = app.run(&["page", "17850", number]);
        let expected = format!("page {number} of customer 17850 is empty: it has {pages} pages\n");
        assert_eq!((ran.code, &ran.stdout), (Some(0), &expected), "{ran:?}");
    }
    let ran = app.run(&["page", "17850", "10", "--json"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(
        ran.json(),
        json!({ "customer": 17850, "page": 10, "records": [] })
    );
}

#[tokio::test]
async fn an_unknown_customer_has_no_trades() {
    let app = App::new("unknown").await;
    for customer in ["5", "-5"] {
        let ran = app.run(&["page", customer, "1"]);
        assert_eq!(
            ran.stdout,
            format!("customer {customer} has no trades\n"),
            "{ran:?}"
        );
        assert_eq!(ran.code, Some(0));
    }
    let ran = app.run(&["page", "5", "1", "--json"]);
    assert_eq!(
        ran.json(),
        json!({ "customer": 5, "page": 1, "records": [] })
    );
    let names = app.database().list_collection_names().await.unwrap();
    assert!(names.is_empty(), "reading creates nothing: {names:?}");
}

#[tokio::test]
async fn page_0_is_an_error() {
    let app = App::new("page_0").await;
    let ran = app.run(&["page", "5", "0"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("pages are counted from 1"), "{ran:?}");
    let ran = app.run(&["page", "5", "0", "--json"]);
    let expected = "invalid value '0' for '<N>': pages are counted from 1";
    assert_eq!(
        (ran.code, ran.error()),
        (Some(2), json!({ "error": expected }))
    );
}
