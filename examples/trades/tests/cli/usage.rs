//! The command line itself.

use crate::app::run;

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        ["load"].as_slice(),
        &["page", "17850"],
        &["page", "x", "1"],
        &["page", "17850", "-1"],
        &["feed", "17850", "--limit", "10001"],
        &["load", "x.csv", "--from-line", "0"],
        &["show", "1.5"],
        &["sell"],
        &["--json"],
    ] {
        let ran = run(arguments, None);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(ran.stderr.contains("error"), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn wrong_usage_is_an_object_in_json() {
    let ran = run(&["show", "x", "--json"], None);
    assert_eq!(ran.code, Some(2));
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert!(
        error.starts_with("invalid value 'x' for '<CUSTOMER>'"),
        "{error}"
    );
}

#[test]
fn help_names_the_variable_and_the_exit_codes() {
    let ran = run(&["--help"], None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("MONGODB_URI"), "{ran:?}");
    assert!(ran.stdout.contains("Exit codes"), "{ran:?}");
}
