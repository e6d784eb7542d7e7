//! From a flat collection into buckets, and the proof that all is there.

use bucket_mongo::bson::{DateTime, Document, doc};

use super::{models::Trade, program::Program};

/// Flat trades; the last one is none.
async fn fill(program: &Program, collection: &str) {
    let trades = (0..500_i64).map(|number| Trade {
        customer_id: number % 7,
        date: DateTime::from_millis(1_700_000_000_000 + number * 1_000),
        ticker: "MDB".to_owned(),
        qty: i32::try_from(number).unwrap(),
    });
    let trades: Vec<Trade> = trades.collect();
    let flat = program.database().collection::<Trade>(collection);
    flat.insert_many(&trades).await.unwrap();
    let none = doc! { "_id": "none", "customerId": 1_i64 };
    let flat = program.database().collection::<Document>(collection);
    flat.insert_one(none).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_shows_its_plan_stores_with_yes_and_compares_as_the_same() {
    let program = Program::new("cli_backfill").await;
    program.trades().ensure().await.unwrap();
    fill(&program, "flat_trades").await;
    let backfill = ["backfill", "-m", "trades", "flat_trades"];
    let before = program.everything().await;
    let ran = program.run(&backfill);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.out.contains("none") && ran.err.contains("--yes"),
        "{ran:?}"
    );
    let ran = program.run(&[&backfill[..], &["--json"]].concat());
    assert_eq!(ran.json()[0]["plan"]["expected"], 501, "{ran:?}");
    assert_eq!(program.everything().await, before);

    let compare = ["compare", "-m", "trades", "flat_trades", "--json"];
    let ran = program.run(&compare);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.json()[0]["missing"], 500, "{ran:?}");

    // A reject is exit code 3, and named.
    let ran = program.run(&[&backfill[..], &["--yes", "--json"]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let done = &ran.json()[0]["done"];
    assert_eq!(
        (&done["stored"], &done["rejected"]),
        (&500.into(), &1.into()),
        "{ran:?}"
    );
    assert_eq!(done["rejects"][0]["id"], "none", "{ran:?}");
    assert!(ran.err.contains("trades_rejects"), "{ran:?}");

    let ran = program.run(&compare);
    let found = &ran.json()[0];
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(
        (&found["missing"], &found["extra"], &found["rejected"]),
        (&0.into(), &0.into(), &1.into())
    );
    let flat = program.database().collection::<Document>("flat_trades");
    flat.delete_one(doc! { "_id": "none" }).await.unwrap();
    let ran = program.run(&["compare", "-m", "trades", "flat_trades"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out.trim(), "500 documents and 500 records: the same");

    // A job that is done stays done, and goes on to say that it has rejects.
    let after = program.everything().await;
    for words in [&backfill[..], &[&backfill[..], &["--yes"]].concat()] {
        let ran = program.run(words);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(
            ran.out.contains("501 documents: 500 stored, 1 rejected"),
            "{ran:?}"
        );
        assert_eq!(program.everything().await, after);
    }

    // Each difference is named, in each format.
    flat.delete_one(doc! { "qty": 17 }).await.unwrap();
    flat.update_one(doc! { "qty": 18 }, doc! { "$set": { "ticker": "X  Y" } })
        .await
        .unwrap();
    let ran = program.run(&["compare", "-m", "trades", "flat_trades"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let named = |side: &str| {
        ran.out
            .lines()
            .filter(|line| line.starts_with(side))
            .count()
    };
    assert_eq!(
        (
            named("only in the buckets: "),
            named("only in the source, ")
        ),
        (2, 1),
        "{ran:?}"
    );
    assert!(ran.out.contains("'X  Y'"), "{ran:?}");
    let ran = program.run(&["compare", "-m", "trades", "flat_trades", "--csv"]);
    assert_eq!(ran.out.lines().count(), 4, "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_may_be_in_another_database_and_no_output_has_its_password() {
    let program = Program::new("cli_source").await;
    program.trades().ensure().await.unwrap();
    let other = Program::new("cli_source_other").await;
    fill(&other, "old").await;
    let name = other.database.name();
    let compare = ["compare", "-m", "trades", "old"];
    let ran = program.run(&[&compare[..], &["--source-database", name, "--json"]].concat());
    assert_eq!(ran.json()[0]["missing"], 500, "{ran:?}");
    let ran = program.run(&[&compare[..], &["--source-uri", &other.uri, "--json"]].concat());
    assert_eq!(ran.json()[0]["missing"], 500, "{ran:?}");

    let ran = program.run(&compare);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("there is no collection"), "{ran:?}");
    let unreachable = "mongodb://somebody:correct-horse@127.0.0.1:1/?serverSelectionTimeoutMS=100";
    let malformed = "mongodb://somebody:correct-horse@127.0.0.1:x";
    let one_word = format!("--source-uri={malformed}");
    for option in [
        &["--source-uri", unreachable][..],
        &["--source-uri", malformed],
        &[&one_word],
    ] {
        let ran = program.run(&[&compare[..], option].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!format!("{ran:?}").contains("horse"), "{ran:?}");
    }
}
