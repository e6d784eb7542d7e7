//! `trades feed`.

use serde_json::{Value, json};

use crate::app::App;

/// All trades of the customer with nine pages, as the pages have them.
fn all(app: &App) -> Vec<Value> {
    let page = |page: u32| {
        app.run(&["page", "17850", &page.to_string(), "--json"])
            .json()
    };
    let records = (1..=9).flat_map(|number| page(number)["records"].as_array().unwrap().clone());
    records.collect()
}

#[tokio::test]
async fn a_feed_returns_all_trades_in_both_directions() {
    let app = App::loaded("feed").await;
    for newest_first in [false, true] {
        let mut expected = all(&app);
        assert_eq!(expected.len(), 84);
        if newest_first {
            expected.reverse();
        }
        let run = |option: &str, token: &str| {
            let mut arguments = vec!["feed", "17850", "--limit", "25", "--json"];
            if newest_first {
                arguments.push("--newest-first");
            }
            if !token.is_empty() {
                arguments.extend([option, token]);
            }
            app.run(&arguments).json()
        };
        let (mut seen, mut token) = (Vec::new(), String::new());
        let last = loop {
            let page = run("--after", &token);
            seen.extend(page["records"].as_array().unwrap().clone());
            match page["next"].as_str() {
                Some(next) => next.clone_into(&mut token),
                None => break page,
            }
        };
        assert_eq!(seen, expected);
        assert_eq!(last["records"].as_array().unwrap().len(), 9);
        let before = run("--before", last["prev"].as_str().unwrap());
        assert_eq!(before["records"], json!(expected[50..75]));
    }
}

#[tokio::test]
async fn a_feed_is_a_table_with_what_to_type_for_more() {
    let app = App::loaded("feed_table").await;
    let ran = app.run(&["feed", "17850", "--limit", "3"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert!(
        ran.stdout.starts_with("customer 17850: 3 trades\n\n"),
        "{ran:?}"
    );
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.starts_with("more: --after "), "{last}");
    assert!(ran.stdout.lines().all(|line| line.len() <= 80));

    let ran = app.run(&["feed", "5"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "customer 5 has no trades there\n")
    );
}

#[tokio::test]
async fn wrong_tokens_and_limits_are_wrong_usage() {
    let app = App::loaded("feed_wrong").await;
    let next = app.run(&["feed", "17850", "--limit", "3", "--json"]).json();
    let next = next["next"].as_str().unwrap().to_owned();
    for (arguments, expected) in [
        (
            vec!["feed", "17850", "--after", "nonsense"],
            "for { customerId: 17850 }: this is not a cursor token",
        ),
        (
            vec!["feed", "12583", "--after", &next],
            "belongs to another query",
        ),
        (
            vec!["feed", "17850", "--newest-first", "--after", &next],
            "belongs to another query",
        ),
        (
            vec!["feed", "17850", "--limit", "10001"],
            "a limit is a whole number from 1 to 10000",
        ),
    ] {
        let ran = app.run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
    for arguments in [
        vec!["feed", "17850", "--limit", "0"],
        vec!["feed", "17850", "--after", &next, "--before", &next],
    ] {
        let ran = app.run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
}
