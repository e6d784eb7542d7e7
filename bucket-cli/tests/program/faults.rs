//! Signals, and a server that dies.

use std::io::{BufRead as _, BufReader};

use bucket_mongo::testing::DevServer;

use super::program::{Program, rest, signal};

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_verify_says_how_to_go_on_and_the_rest_has_the_rest() {
    let program = Program::new("cli_interrupt").await;
    program.fill_readings(400).await;
    // The first key has 400 buckets: the damage of the second one is found after the position of 400.
    program.damage_readings(150).await;
    program.damage_readings(390).await;
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let mut verify = program.start(&["verify", "-m", "readings", "--json", "--pause", "1s"]);
        let mut out = BufReader::new(verify.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert!(line.contains("aggregate"), "{line}");
        signal(&verify, name);
        let mut last = String::new();
        while out.read_line(&mut last).unwrap() > 0 {}
        let summary: serde_json::Value =
            serde_json::from_str(last.lines().last().unwrap()).unwrap();
        assert_eq!(summary["summary"]["complete"], false);
        let ran = rest(verify);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains("--after "), "{ran:?}");
        let position = summary["summary"]["position"].as_str().unwrap();
        assert!(ran.err.contains(position), "{ran:?}");
        let ran = program.run(&["verify", "-m", "readings", "--json", "--after", position]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let found = ran.json();
        let found: Vec<_> = found
            .iter()
            .filter(|line| line["finding"].is_object())
            .collect();
        assert!(!found.is_empty() && found.len() <= 2, "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_at_once() {
    let program = Program::new("cli_twice").await;
    program.trades().ensure().await.unwrap();
    let mut watch = program.start(&["watch", "-m", "trades"]);
    let mut line = String::new();
    BufReader::new(watch.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("watching"), "{line}");
    signal(&watch, "INT");
    // It may have ended by the first one.
    let _ = std::process::Command::new("sh")
        .args(["-c", &format!("kill -INT {} 2>&-", watch.id())])
        .status();
    assert_eq!(rest(watch).code, Some(130));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_in_the_middle_is_exit_code_1_and_a_position() {
    let server = DevServer::builder().own().await.unwrap();
    let mut program = Program::on(&server, "cli_dies").await;
    program.uri += "&serverSelectionTimeoutMS=500";
    program.fill_readings(400).await;
    program.damage_readings(10).await;
    let mut verify = program.start(&["verify", "-m", "readings", "--pause", "1s"]);
    let mut out = BufReader::new(verify.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    server.kill().await.unwrap();
    while out.read_line(&mut line).unwrap() > 0 {}
    let ran = rest(verify);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("error: ") && ran.err.contains("--after "),
        "{ran:?}"
    );
    assert!(ran.err.contains("check that the server"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_has_enough_ends_a_long_output_quietly() {
    let program = Program::new("cli_pipe").await;
    program.fill_trades(1, 20_000).await;
    let mut records =
        program.start(&["records", "-m", "trades", "0", "--json", "--limit", "10000"]);
    let mut line = String::new();
    BufReader::new(records.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("MDB"), "{line}");
    let ran = rest(records);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

/// Each waits for a server that does not answer, and ends by a signal without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_what_waits_for_a_server_that_hangs() {
    let server = DevServer::builder().own().await.unwrap();
    let mut program = Program::on(&server, "cli_hangs").await;
    // Longer than this test may take: the signal is what ends each.
    program.uri += "&serverSelectionTimeoutMS=600000";
    program.fill_readings(3).await;
    server.members()[0].pause().await.unwrap();
    for (arguments, remark) in [
        (&["watch", "-m", "readings"][..], ""),
        (&["verify", "-m", "readings"], ""),
        (
            &["ensure", "-m", "readings", "--yes"],
            "nothing was changed",
        ),
        (&["seal", "-m", "readings"], "nothing was changed"),
        (&["merge", "-m", "readings"], "nothing was changed"),
        (&["expire", "-m", "readings"], "nothing was changed"),
        (
            &[
                "archive",
                "-m",
                "readings",
                "--archive-collection",
                "old_readings",
            ],
            "nothing was changed",
        ),
    ] {
        let child = program.start(arguments);
        // Until it listens to signals, one ends it without a word.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        signal(&child, "TERM");
        let ended = tokio::task::spawn_blocking(|| rest(child));
        let ended = tokio::time::timeout(std::time::Duration::from_secs(60), ended).await;
        let ran = ended
            .unwrap_or_else(|_| panic!("{arguments:?} goes on"))
            .unwrap();
        assert_eq!(ran.code, Some(143), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(remark), "{arguments:?}: {ran:?}");
    }
    server.members()[0].resume().await.unwrap();
}
