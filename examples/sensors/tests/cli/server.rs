//! The choice of the server and the database.

use example_kit::testing::{server, uri};

use crate::app::{HEADER, SENSORS};

fn one_reading(name: &str) -> String {
    SENSORS.file(name, format!("{HEADER}\na,co2,2014-02-14T14:30:00Z,2\n"))
}

#[tokio::test]
async fn sensors_is_the_default_database() {
    server().await;
    let ran = SENSORS.run(&["load", &one_reading("one.csv")], Some(&uri("")));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.ends_with("in `sensors.iot_buckets`\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn without_a_server_a_load_warns_that_nothing_is_kept() {
    let ran = SENSORS.run(&["load", &one_reading("gone.csv")], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let note = "MONGODB_URI is not set: the readings go away with the development server\n";
    assert_eq!(ran.stderr, note);
}

#[tokio::test]
async fn without_a_server_the_built_in_readings_are_shown() {
    let ran = SENSORS.run(&["devices"], None);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let note = "MONGODB_URI is not set: these are the built-in readings\n\n";
    assert_eq!(ran.stderr, note);
    assert!(ran.stdout.contains("office_1"), "{ran:?}");
}

#[tokio::test]
async fn without_a_server_reading_commands_use_the_built_in_readings() {
    let span = ["--to", "2013-12-02T21:20:00Z"];
    let arguments = [&["readings", "machine_1", "temperature"], span.as_slice()].concat();
    let ran = SENSORS.run(&arguments, None);
    let note = "MONGODB_URI is not set: these are the built-in readings\n\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), note), "{ran:?}");
    assert!(ran.stdout.ends_with("\n1 reading\n"), "{ran:?}");
    let ran = SENSORS.run(&["latest", "--json"], None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 10, "{ran:?}");
}
