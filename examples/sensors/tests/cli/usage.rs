//! The command line itself.

use crate::app::SENSORS;

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        ["load"].as_slice(),
        &["devices", "office_1"],
        &["sell"],
        &["--json"],
    ] {
        let ran = SENSORS.run(arguments, None);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("error"), "{arguments:?}: {ran:?}");
    }
    let ran = SENSORS.run(&["load", "--json"], None);
    let expected = "the following required arguments were not provided: <FILE.csv>";
    assert_eq!(
        (ran.code, &ran.error()["error"]),
        (Some(2), &expected.into())
    );
}

#[test]
fn help_names_the_variable_and_the_exit_codes() {
    let ran = SENSORS.run(&["--help"], None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("MONGODB_URI"), "{ran:?}");
    assert!(ran.stdout.contains("Exit codes"), "{ran:?}");
}
