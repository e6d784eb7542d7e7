//! Records that arrive late, and spans that follow the clock.

use bucket_mongo::bson::DateTime;

use super::{models::Trade, program::Program};

#[tokio::test(flavor = "multi_thread")]
async fn a_rollup_without_sides_has_all_records_whatever_their_order() {
    let program = Program::new("cli_late").await;
    let buckets = program.trades();
    buckets.ensure().await.unwrap();
    // The first and the last record are in the middle of the arrivals, and in different buckets.
    let days = [5, 1, 9, 3, 6, 0, 7, 2, 4, 8, 12, 10, 6, 5];
    for (qty, day) in (0..).zip(days) {
        let trade = Trade {
            customer_id: 1,
            date: DateTime::from_millis(1_700_000_000_000 + day * 86_400_000),
            ticker: "MDB".to_owned(),
            qty,
        };
        buckets.insert(&trade).await.unwrap();
    }
    let rollup = ["rollup", "-m", "trades", "1", "--every", "day", "--json"];
    for more in [
        &[][..],
        &["--from", "2000-01-01"],
        &["--to", "2100-01-01"],
        &["--from", "2000-01-01", "--to", "2100-01-01"],
    ] {
        let ran = program.run(&[&rollup[..], more].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let steps = ran.json();
        assert_eq!(steps.len(), 12, "{more:?}: {ran:?}");
        let records = steps.iter().filter_map(|step| step["records"].as_u64());
        assert_eq!(records.sum::<u64>(), 14, "{more:?}: {ran:?}");
    }
    let ran = program.run(&["rollup", "-m", "trades", "2", "--every", "day"]);
    assert!(ran.err.contains("no records"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_that_goes_on_has_the_times_of_the_first_one() {
    let program = Program::new("cli_ages").await;
    let buckets = program.trades();
    buckets.ensure().await.unwrap();
    for minutes in 0..3 {
        let trade = Trade {
            customer_id: 1,
            date: DateTime::from_millis(DateTime::now().timestamp_millis() - minutes * 60_000),
            ticker: "MDB".to_owned(),
            qty: 1,
        };
        buckets.insert(&trade).await.unwrap();
    }
    let first = [
        "records", "-m", "trades", "--from", "7d", "--limit", "2", "1",
    ];
    let ran = program.run(&first);
    let line = ran
        .err
        .lines()
        .find_map(|line| line.split_once("go on with: "));
    let (_, line) = line.unwrap_or_else(|| panic!("{ran:?}"));
    let mut words = line.split(' ').skip(1).collect::<Vec<_>>();
    words.push("--json");
    let ran = program.run(&words);
    assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
    assert_eq!(ran.json().len(), 2, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_key_has_no_blank_line_but_a_remark() {
    let program = Program::new("cli_unknown").await;
    program.fill_trades(1, 3).await;
    for command in ["records", "page"] {
        for format in [&[][..], &["--csv"]] {
            let ran = program.run(&[&[command, "-m", "trades", "77"], format].concat());
            assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{ran:?}");
            assert!(ran.err.contains("no records"), "{ran:?}");
        }
    }
    let ran = program.run(&["page", "--help"]);
    assert!(ran.out.contains("oldest bucket"), "{ran:?}");
}
