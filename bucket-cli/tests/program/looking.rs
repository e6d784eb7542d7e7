//! Commands that look at data.

use std::io::{BufRead as _, BufReader};

use bucket_mongo::bson::{DateTime, Document, doc};

use super::{
    models::{Reading, Trade},
    program::{Program, rest},
};

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_database_is_no_error_but_for_status_which_says_what_to_do() {
    let program = Program::new("cli_empty").await;
    let ran = program.run(&["status"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.out.contains("run `ensure`"), "{ran:?}");
    for arguments in [
        &["keys", "-m", "readings"][..],
        &["verify", "-m", "readings"],
        &["expire", "-m", "trades"],
        &["show", "-m", "trades", "1_1"],
        &["repair", "-m", "readings", "--yes"],
    ] {
        let ran = program.run(arguments);
        let is_fine = ran.code == Some(0) || ran.code == Some(1) && !ran.err.is_empty();
        assert!(is_fine, "{arguments:?}: {ran:?}");
    }
    let ran = program.run(&["ensure"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = program.run(&["status", "--fill"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_stored_is_shown_as_text_as_json_and_as_csv() {
    let program = Program::new("cli_shown").await;
    program.fill_trades(2, 25).await;
    program.fill_readings(5).await;

    let keys = program.run(&["keys", "-m", "Trade", "--json"]);
    let mut keys = keys.json();
    keys.sort_by_key(|line| line["key"]["customerId"].as_i64());
    assert_eq!(keys[1]["key"]["customerId"], 1);
    assert_eq!(
        (&keys[1]["buckets"], &keys[1]["records"]),
        (&3.into(), &25.into())
    );

    let page = program.run(&["page", "-m", "trades", "1", "--number", "3", "--json"]);
    let page = &page.json()[0];
    assert_eq!(page["pages"], 3);
    assert!(
        page["records"]
            .as_array()
            .unwrap()
            .iter()
            .all(|record| record["ticker"] == "MDB")
    );

    let first = program.run(&[
        "records",
        "-m",
        "trades",
        "customerId=1",
        "--limit",
        "20",
        "--json",
    ]);
    let lines = first.json();
    assert_eq!(lines.len(), 21);
    let token = lines[20]["next"].as_str().unwrap();
    let second = program.run(&[
        "records",
        "-m",
        "trades",
        r#"{"customerId":1}"#,
        "--after",
        token,
        "--json",
    ]);
    let more = second.json();
    assert_eq!(more.len(), 6);
    assert!(more[5]["next"].is_null());
    let mut qty: Vec<i64> = lines
        .iter()
        .chain(&more)
        .filter_map(|line| line["record"]["qty"].as_i64())
        .collect();
    qty.sort_unstable();
    assert_eq!(qty, (0..25).collect::<Vec<_>>());

    let csv = program.run(&["records", "-m", "trades", "1", "--csv", "--quiet"]);
    assert!(
        csv.out.starts_with("customerId,date,ticker,qty\n1,"),
        "{csv:?}"
    );
    assert_eq!(csv.out.lines().count(), 26);
    assert_eq!(csv.err, "");

    let stats = program.run(&["stats", "-m", "readings", "device=a", "channel=7", "--json"]);
    let stats = &stats.json()[0];
    assert_eq!(stats["records"], 30);
    assert_eq!(stats["stats"]["stats.max"], 12.0);
    let rollup = program.run(&[
        "rollup",
        "-m",
        "readings",
        "device=a",
        "channel=7",
        "--every",
        "1h",
        "--json",
    ]);
    let steps = rollup.json();
    assert_eq!(steps.len(), 5);
    assert_eq!(steps[0]["records"], 6);
    assert_eq!(steps[0]["stats"]["average of value"], 2.5);
    let chart = program.run(&[
        "rollup",
        "-m",
        "readings",
        "device=a",
        "channel=7",
        "--every",
        "1h",
    ]);
    assert!(chart.out.contains("min to max"), "{chart:?}");

    let bucket = program.database().collection::<Document>("trades");
    let bucket = bucket
        .find_one(doc! { "customerId": 0_i64 })
        .await
        .unwrap()
        .unwrap();
    let id = bucket.get_str("_id").unwrap();
    let shown = program.run(&["show", "-m", "trades", id]);
    assert!(shown.out.contains("ticker: 'MDB'"), "{shown:?}");
    assert_eq!(
        program.run(&["show", "-m", "trades", "no such"]).code,
        Some(1)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_typed_is_the_key_that_is_shown() {
    let program = Program::new("cli_keys").await;
    program.readings().ensure().await.unwrap();
    let devices = [
        "plain",
        "a=b",
        "with space",
        "{\"x\":1}",
        "",
        "ü\u{1b}[31m",
        "-dash",
        "123",
    ];
    for device in devices {
        let reading = Reading {
            device: device.to_owned(),
            channel: -5,
            at: DateTime::now(),
            value: 1.0,
        };
        program.readings().insert(&reading).await.unwrap();
    }
    let keys = program
        .run(&["keys", "-m", "readings", "--only", "--json"])
        .json();
    assert_eq!(keys.len(), devices.len());
    for key in keys {
        let json = key["key"].to_string();
        let ran = program.run(&["records", "-m", "readings", "--json", &json]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(
            ran.json()[0]["record"]["device"],
            key["key"]["device"],
            "{ran:?}"
        );
        let device = format!("device={}", key["key"]["device"].as_str().unwrap());
        let ran = program.run(&["stats", "-m", "readings", "--json", &device, "channel=-5"]);
        assert_eq!(ran.json()[0]["records"], 1, "{ran:?}");
    }
    for wrong in [
        &["channel=1"][..],
        &["device=a", "channel=x"],
        &["device=a", "device=b", "channel=1"],
        &["nobody=1"],
        &["{\"device\":[1],\"channel\":1}"],
    ] {
        let ran = program.run(&[&["stats", "-m", "readings"], wrong].concat());
        assert_eq!(ran.code, Some(2), "{wrong:?}: {ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_from_the_database_does_not_control_the_terminal() {
    let program = Program::new("cli_hostile").await;
    program.readings().ensure().await.unwrap();
    let hostile = "x\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r\n\u{202e}evil\u{7f}";
    let reading = Reading {
        device: hostile.to_owned(),
        channel: 1,
        at: DateTime::from_millis(1_704_067_200_000),
        value: 1.0,
    };
    program.readings().insert(&reading).await.unwrap();
    let readings = program.database().collection::<Document>("readings");
    let stored = readings.find_one(doc! {}).await.unwrap().unwrap();
    let id = stored.get_str("_id").unwrap().to_owned();
    let damage = doc! { "$set": { "count": 9 } };
    readings.update_one(doc! {}, damage).await.unwrap();
    let key = serde_json::json!({ "device": hostile, "channel": 1 }).to_string();
    for format in [&[][..], &["--json"], &["--csv"]] {
        for arguments in [
            &["keys", "--only"][..],
            &["verify"],
            &["show", &id],
            &["stats", &key],
            &["repair"],
        ] {
            let arguments = [&["-m", "readings"], arguments, format].concat();
            let ran = program.in_terminal(&arguments, true);
            let obeyed = |c: char| c.is_control() && c != '\n' && c != '\r' || c == '\u{202e}';
            // The terminal makes a line end of its own.
            let shown = ran.out.replace("\r\n", "\n");
            let found = shown.chars().find(|c| obeyed(*c) || *c == '\r');
            // A spinner moves the cursor; it has no text of the database.
            let spinner = shown.contains("\u{1b}[2K") || shown.contains("\r\u{1b}");
            assert!(
                found.is_none() || spinner && !shown.contains("]0;owned\u{7}"),
                "{arguments:?}: {shown:?}"
            );
            assert!(
                !shown.contains("\u{1b}[2J") && !shown.contains("\u{1b}]0"),
                "{shown:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_fit_a_terminal_of_80_columns_and_colours_are_only_there() {
    let program = Program::new("cli_columns").await;
    program.fill_readings(5).await;
    let reading = Reading {
        device: "a rather long name of a device ".repeat(5),
        channel: 1,
        at: DateTime::from_millis(1_704_067_200_000),
        value: 1.0 / 3.0,
    };
    program.readings().insert(&reading).await.unwrap();
    for arguments in [
        &["keys"][..],
        &["page", "device=a", "channel=7"],
        &["stats", "device=a", "channel=7"],
        &["rollup", "device=a", "channel=7", "--every", "1h"],
        &["expire"],
    ] {
        let arguments = [&["-m", "readings"], arguments].concat();
        let ran = program.in_terminal(&arguments, true);
        for line in ran.out.lines().filter(|line| !line.starts_with("note: ")) {
            assert!(
                line.trim_end().chars().count() <= 80,
                "{arguments:?}: {line:?}"
            );
        }
        assert!(!ran.out.contains('\u{1b}'), "{arguments:?}: {ran:?}");
    }
    let colour = "\u{1b}[32m";
    let status = ["status", "-m", "readings"];
    assert!(program.in_terminal(&status, false).out.contains(colour));
    assert!(!program.in_terminal(&status, true).out.contains('\u{1b}'));
    assert!(!program.run(&status).out.contains('\u{1b}'));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_each_change_and_goes_on_by_its_token() {
    let program = Program::new("cli_watch").await;
    program.trades().ensure().await.unwrap();
    let trade = |qty| Trade {
        customer_id: 1,
        date: DateTime::now(),
        ticker: "MDB".to_owned(),
        qty,
    };
    let since = DateTime::now().try_to_rfc3339_string().unwrap();
    let mut watch = program.start(&[
        "watch", "-m", "trades", "--json", "--limit", "1", "--since", &since,
    ]);
    program.trades().insert(&trade(1)).await.unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&event["change"], &event["record"]["qty"]),
        (&"stored".into(), &1.into())
    );
    assert_eq!(rest(watch).code, Some(0));
    program.trades().insert(&trade(2)).await.unwrap();
    let token = event["token"].as_str().unwrap();
    let ran = program.run(&[
        "watch", "-m", "trades", "--json", "--limit", "1", "--after", token,
    ]);
    assert_eq!(ran.json()[0]["record"]["qty"], 2);
}
