//! The main job: `sensors` alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::{Child, Command, Stdio},
    time::Duration,
};

use bucket_mongo::mongodb::Client;
use example_kit::testing::{server, uri};

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
async fn it_ends_with_what_reading_commands_show() {
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

/// The database of a running app, if it has made it yet.
async fn own_database(client: &Client, app: &Child) -> Option<String> {
    let own = format!("sensors_{}_", app.id());
    let names = client.list_database_names().await.unwrap();
    names.into_iter().find(|name| name.starts_with(&own))
}

#[tokio::test]
async fn it_leaves_no_database_behind_and_no_panic_in_a_closed_pipe() {
    let client = server().await.client().await.unwrap();
    let mut command = SENSORS.command(Some(&uri("")));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut app = command.spawn().unwrap();
    drop(app.stdout.take());
    let code = app.wait().unwrap().code();
    assert_eq!((code, own_database(&client, &app).await), (Some(0), None));
    let output = app.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[tokio::test]
async fn interrupted_it_leaves_no_database_behind_either() {
    let client = server().await.client().await.unwrap();
    let mut command = SENSORS.command(Some(&uri("")));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut app = command.spawn().unwrap();
    // While the workers write.
    let stored = async |name: &str| {
        let buckets = client.database(name).collection::<()>("iot_buckets");
        buckets.estimated_document_count().await.unwrap() > 500
    };
    loop {
        assert_eq!(
            app.try_wait().unwrap(),
            None,
            "it ended before it was interrupted"
        );
        if let Some(name) = own_database(&client, &app).await
            && stored(&name).await
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let interrupt = format!("kill -INT {}", app.id());
    let sent = Command::new("sh")
        .args(["-c", &interrupt])
        .status()
        .unwrap();
    assert!(sent.success());
    let code = app.wait().unwrap().code();
    assert_eq!((code, own_database(&client, &app).await), (Some(1), None));
    let output = app.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "error: interrupted\n");
}
