//! The main job: `sensors` without a command.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use bucket_mongo::testing::DevServer;
use example_kit::testing::{Running, ending_signals, exists, server, uri};

use crate::app::{SENSORS, expected, rows};

/// The lines of the table whose header begins with `first`, without header and rule, by columns.
fn table<'a>(text: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(first));
    let rows = lines.skip(2).take_while(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test]
async fn its_figures_are_those_of_the_file() {
    server().await;
    let ran = SENSORS.run(&[], Some(&uri("")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let text = ran.stdout;
    let expected = expected();
    let buckets: usize = expected.values().map(crate::app::Expected::buckets).sum();
    let all = format!("53060 readings of 10 sensors -> {buckets} buckets in ");
    assert!(text.contains(&all), "{text}");

    let devices: BTreeMap<_, _> = table(&text, "device ")
        .into_iter()
        .map(|row| ((row[0].to_owned(), row[1].to_owned()), row))
        .collect();
    assert_eq!(devices.len(), expected.len(), "{text}");
    for (key, sensor) in &expected {
        let row = &devices[key];
        assert_eq!(row[2], sensor.buckets().to_string(), "{key:?}");
        assert_eq!(row[3], sensor.values.len().to_string(), "{key:?}");
        assert_eq!(row[4], format!("{:.2}", sensor.min()), "{key:?}");
        assert_eq!(row[5], format!("{:.2}", sensor.max()), "{key:?}");
        assert_eq!(row[6], format!("{:.2}", sensor.average()), "{key:?}");
    }

    let storage = table(&text, "the same readings as");
    assert_eq!(storage.len(), 3, "{text}");
    assert_eq!(storage[0][..2], ["buckets", &buckets.to_string()]);
    assert!(storage[1].contains(&"53060"), "{text}");
    assert!(
        text.lines()
            .all(|line| line.len() <= 100 || line.chars().count() <= 80),
        "{text}"
    );
}

#[tokio::test]
async fn it_ends_with_the_output_of_reading_commands() {
    server().await;
    let ran = SENSORS.run(&[], Some(&uri("")));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let title = "machine_1 temperature from 2014-01-01 00:30:00 to 2014-02-01 00:30:00 UTC:\n";
    let (_, shown) = ran.stdout.split_once(title).unwrap();
    let rows = rows(
        "machine_1",
        "temperature",
        "2014-01-01T00:30:00Z",
        "2014-02-01T00:30:00Z",
    );
    let sum: f64 = rows.iter().map(|(_, value)| value).sum();
    let average = sum / f64::from(u32::try_from(rows.len()).unwrap());
    let hours: BTreeSet<&str> = rows.iter().map(|(time, _)| &time[..13]).collect();
    let expected = format!(
        "{} readings of {} buckets, average {average:.2}; 2 of them opened\n",
        rows.len(),
        hours.len()
    );
    assert!(shown.starts_with(&expected), "{expected}: {shown}");
    assert!(
        shown.contains("\nmachine_1 temperature by day\n"),
        "{shown}"
    );
    assert!(
        shown.lines().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    assert!(shown.lines().count() < 25, "{shown}");
}

#[tokio::test]
async fn it_leaves_no_database_and_does_not_panic_on_a_closed_pipe() {
    let client = server().await.client().await.unwrap();
    let mut app = SENSORS.start(&[], &uri(""));
    drop(app.0.stdout.take());
    let own = format!("sensors_{}_", app.0.id());
    let ran = app.end();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let names = client.list_database_names().await.unwrap();
    assert!(
        !names.iter().any(|name| name.starts_with(&own)),
        "{names:?}"
    );
}

#[tokio::test]
async fn an_interrupted_run_leaves_no_database() {
    server().await;
    for (signal, code) in ending_signals() {
        let said = match signal {
            "INT" => "error: interrupted\n".to_owned(),
            signal => format!("error: interrupted (SIG{signal})\n"),
        };
        // A run may have ended before the signal comes.
        for runs_left in (0..10).rev() {
            let mut app = SENSORS.start(&[], &uri(""));
            let database = app.own_database("sensors").await;
            // While the workers write.
            let buckets = database.collection::<()>("iot_buckets");
            let stored = async || buckets.estimated_document_count().await.unwrap() > 0;
            app.until(stored).await;
            app.signal(signal);
            let ran = app.end();
            assert!(!exists(&database).await, "{signal}");
            if ran.code == Some(0) && runs_left > 0 {
                continue;
            }
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (Some(code), said.as_str()),
                "{ran:?}"
            );
            break;
        }
    }
}

#[tokio::test]
async fn a_signal_that_it_was_started_to_ignore_does_not_end_it() {
    server().await;
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$0\"";
    command.args(["-c", script, SENSORS.binary]);
    command.env("MONGODB_URI", uri("")).stdin(Stdio::null());
    let mut app = Running::start(command);
    app.own_database("sensors").await;
    app.signal("HUP");
    let ran = app.end();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let mut app = SENSORS.start(&[], server.uri());
    let client = server.client().await.unwrap();
    let own = format!("sensors_{}_", app.0.id());
    app.until(async || {
        let names = client.list_database_names().await.unwrap();
        names.iter().any(|name| name.starts_with(&own))
    })
    .await;
    // The clean-up cannot reach the server.
    server.members()[0].pause().await.unwrap();
    let start = Instant::now();
    // Signals that arrive together count as one.
    app.signal("TERM");
    while app.0.try_wait().unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let _ = Command::new("kill").arg(app.0.id().to_string()).output();
    }
    assert!(start.elapsed() < Duration::from_secs(8));
    server.members()[0].resume().await.unwrap();
    assert_eq!(app.end().code, Some(143));
}
