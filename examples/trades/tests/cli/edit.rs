//! `trades amend` and `trades cancel`.

use serde_json::Value;

use crate::app::App;

fn feed(app: &App) -> Vec<Value> {
    let feed = app.run(&["feed", "17968", "--limit", "1000", "--refs", "--json"]);
    feed.json()["records"].as_array().unwrap().clone()
}

/// The trades without their references, which an edit changes.
fn plain(trades: &[Value]) -> Vec<Value> {
    let mut trades = trades.to_vec();
    for trade in &mut trades {
        trade.as_object_mut().unwrap().remove("ref").unwrap();
    }
    trades
}

#[tokio::test]
async fn one_trade_is_amended_and_one_cancelled_and_the_others_stay() {
    let app = App::loaded("edit").await;
    let before = feed(&app);
    assert_eq!(before.len(), 85);
    let reference = |index: usize| before[index]["ref"].as_str().unwrap();

    for dry in [true, false] {
        let mut amend = vec!["amend", "17968", reference(12), "--qty", "7", "--json"];
        let mut cancel = vec!["cancel", "17968", reference(30)];
        if dry {
            amend.push("--dry-run");
            cancel.push("--dry-run");
        }
        let amended = app.run(&amend).json();
        assert_eq!(amended["record"]["qty"], 7);
        assert_eq!(amended["record"]["price"], before[12]["price"]);
        let cancelled = app.run(&cancel);
        let done = if dry {
            "would be cancelled"
        } else {
            "cancelled"
        };
        let expected = format!("customer 17968: 1 trade {done}\n\n");
        assert!(cancelled.stdout.starts_with(&expected), "{cancelled:?}");
        let mut expected = plain(&before);
        if !dry {
            expected[12]["qty"] = 7.into();
            expected.remove(30);
        }
        assert_eq!(plain(&feed(&app)), expected);
    }

    // Neither reference is good for another edit.
    let ran = app.run(&["amend", "17968", reference(12), "--qty", "8"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("was edited"), "{ran:?}");
    let ran = app.run(&["cancel", "17968", reference(30)]);
    assert_eq!(ran.stdout, "customer 17968 no longer has this trade\n");
}

#[tokio::test]
async fn wrong_edits_are_wrong_usage_and_change_nothing() {
    let app = App::loaded("edit_wrong").await;
    let before = feed(&app);
    let reference = before[0]["ref"].as_str().unwrap();
    for arguments in [
        vec!["amend", "17968", reference],
        vec!["amend", "17968", reference, "--qty", "0"],
        vec!["amend", "17968", "nonsense", "--qty", "1"],
        vec!["cancel", "17850", reference],
    ] {
        let ran = app.run(&arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    }
    assert_eq!(feed(&app), before);
}
