//! The command line itself.

use crate::app::SENSORS;

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        ["load"].as_slice(),
        &["devices", "office_1"],
        &["sell"],
        &["--json"],
        &["readings", "a"],
        &["readings", "a", "co2", "--from", "2014-02-14"],
        &["rollup", "a", "co2"],
        &["latest", "a"],
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

/// The message for this wrong command line.
fn refused(arguments: &str) -> String {
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let ran = SENSORS.run(&arguments, None);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    ran.error()["error"].as_str().unwrap().to_owned()
}

#[test]
fn a_span_that_ends_before_it_starts_is_wrong_usage() {
    let span = "--from 2014-02-14T14:30:00Z --to 2014-02-14T14:29:59.999Z --json";
    for command in ["readings a co2", "stats a co2", "rollup a co2 --every 1h"] {
        assert_eq!(
            refused(&format!("{command} {span}")),
            "the span of time ends (--to 2014-02-14 14:29:59.999) before it starts (--from \
             2014-02-14 14:30:00)"
        );
    }
}

#[test]
fn an_invalid_time_step_zone_or_fill_is_wrong_usage() {
    for (arguments, expected) in [
        (
            "stats a co2 --from yesterday --json",
            "`yesterday` is not a date",
        ),
        (
            "readings a co2 --to 2014-02-30T00:00:00Z --json",
            "`2014-02-30T00:00:00Z` does not exist",
        ),
        ("rollup a co2 --every 1x --json", "`1x` is not a step"),
        (
            "rollup a co2 --every 0m --json",
            "a step lasts at least one second",
        ),
        (
            "rollup a co2 --every day --zone Mars/Olympus --json",
            "unknown time zone `Mars/Olympus`",
        ),
        (
            "rollup a co2 --every 24h --zone Europe/Berlin --json",
            "the step `24h` cannot have the zone",
        ),
        (
            "rollup a co2 --every day --fill nearest --json",
            "possible values: skip, null, previous, linear",
        ),
    ] {
        let error = refused(arguments);
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}
