//! What needs no server, and what cannot reach one.

use std::process::Stdio;

use super::program::{Ran, command, folder};

fn run(arguments: &[&str]) -> Ran {
    command(arguments).output().unwrap().into()
}

#[test]
fn a_wrong_command_line_is_exit_code_2_on_one_line() {
    for arguments in [
        &["nonsense"][..],
        &[],
        &["status", "--json", "--csv"],
        &["status"],
        &["page", "--uri", "mongodb://localhost/x", "customerId=1"],
        &[
            "keys",
            "--uri",
            "mongodb://localhost/x",
            "--model",
            "nobody",
        ],
        &["keys", "--uri", "mongodb://localhost", "--model", "Trade"],
        &[
            "size", "--rate", "10", "--bytes", "1", "--keys", "1", "--keep", "1d",
        ],
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert_eq!(ran.err.lines().count(), 1, "{ran:?}");
        assert!(ran.out.is_empty(), "{ran:?}");
    }
}

#[test]
fn no_output_has_the_password_of_the_connection_string() {
    let uri = "mongodb://me:s3cr3t-word@127.0.0.1:1/shop?serverSelectionTimeoutMS=200";
    for arguments in [
        &["status", "--uri", uri][..],
        &["status", "--uri", uri, "--json"],
        &["status", uri],
        &["--help"],
        &[
            "keys",
            "--model",
            "trades",
            "--uri",
            "mongodb://me:s3cr3t-word@[bad/x",
        ],
        // The driver takes what follows the first `?` for options, and the password for a port.
        &["status", "--uri", "mongodb://me:s3cr3t-word?x@host/x"],
        &["status", "--uri", "mongodb://me:s3cr3t-word"],
        &["status", "mongodb://me:s3cr3t word@host/x"],
        &["status", "MONGODB://me:s3cr3t-word@host/x"],
    ] {
        let mut command = command(arguments);
        command.env("MONGODB_URI", uri);
        let ran: Ran = command.output().unwrap().into();
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains("s3cr3t"), "{arguments:?}: {all}");
    }
}

#[test]
fn a_malformed_connection_string_is_named_by_its_cause_and_the_form_is_whole() {
    for (uri, cause) in [
        ("mongodb://me:s3cr3t-word@h/x?nonsense=1", "nonsense"),
        (
            "mongodb://me:s3cr3t/word@h/x",
            "malformed: it is mongodb://USER:PASSWORD@HOST/DATABASE",
        ),
        (
            "mongodb://h/x?tls=true&tlsCAFile=/no/such/file",
            "/no/such/file",
        ),
    ] {
        let ran = run(&["status", "--uri", uri]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains(cause), "{ran:?}");
        assert!(!ran.err.contains("s3cr3t"), "{ran:?}");
        assert!(!ran.err.contains("***@%"), "{ran:?}");
    }
}

#[test]
fn a_key_that_is_an_address_is_shown_as_it_is() {
    let uri = "mongodb://127.0.0.1:1/shop?serverSelectionTimeoutMS=200";
    let key = "http://user@site/x";
    let ran = run(&["page", "--uri", uri, "--model", "trades", key]);
    assert!(ran.err.contains("http://user@site/x"), "{ran:?}");
}

#[test]
fn a_command_that_is_missing_is_asked_for() {
    let ran = run(&["--json"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("which command? See --help"), "{ran:?}");
}

#[test]
fn no_size_is_recommended_for_a_record_that_no_bucket_can_hold() {
    let size = ["size", "--rate", "1/m", "--keys", "1", "--keep", "1d"];
    let ran = run(&[&size[..], &["--bytes", "17000000"]].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("16 MB"), "{ran:?}");
    let ran = run(&[&size[..], &["--bytes", "1000000"]].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_server_that_cannot_be_reached_is_exit_code_1_with_advice() {
    let uri = "mongodb://127.0.0.1:1/shop?serverSelectionTimeoutMS=200";
    let ran = run(&["status", "--uri", uri, "--model", "trades"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with("error: "), "{ran:?}");
    assert!(ran.err.contains("check that the server"), "{ran:?}");
    let ran = run(&["status", "--uri", uri, "--model", "trades", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
    assert!(error["error"].is_string(), "{ran:?}");
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let help = run(&["--help"]).out;
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert_eq!(commands.len(), 20, "{commands:?}");
    let bash = run(&["completions", "bash"]);
    assert_eq!(bash.code, Some(0));
    let page = run(&["man"]);
    assert!(page.out.starts_with(".ie"), "{page:?}");
    let pages = folder("manual pages");
    let to = run(&["man", "--to", pages.to_str().unwrap()]);
    assert_eq!(to.code, Some(0), "{to:?}");
    let files: Vec<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in commands {
        assert!(bash.out.contains(name), "{name}");
        assert!(
            files.iter().any(|file| file.contains(name)),
            "{name}: {files:?}"
        );
    }
}

#[test]
fn a_closed_pipe_ends_quietly_with_0() {
    let mut child = command(&["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let ran: Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn a_question_of_size_is_answered_with_reasons_and_without_a_server() {
    let question = [
        "size", "--rate", "0.1/s", "--bytes", "45", "--keys", "1000", "--keep", "30d",
    ];
    let ran = run(&question);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("window = \"2h\""), "{ran:?}");
    assert!(ran.out.contains("why:"), "{ran:?}");
    let ran = run(&[&question[..], &["--json"]].concat());
    let answer = &ran.json()[0];
    assert_eq!(answer["documents"], 361_000);
    assert_eq!(answer["window_seconds"], 7_200);
}
