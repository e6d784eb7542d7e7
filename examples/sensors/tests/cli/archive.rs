//! `sensors archive`.

use crate::app::{HEADER, SENSORS};

#[tokio::test]
async fn archived_readings_are_read_as_before_and_forgotten_with_their_device() {
    let app = SENSORS.app("archive").await;
    let row = |second: u32| {
        let (minute, second) = (second / 60, second % 60);
        format!("a,vibration,2014-02-14T14:{minute:02}:{second:02}Z,{second}\n")
    };
    let rows: String = (0..120).map(row).collect();
    let path = SENSORS.file("archive.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let readings = || app.run(&["readings", "a", "vibration", "--json"]).stdout;
    let before = readings();
    let report = app.run(&["archive", "--json"]).json();
    assert_eq!(
        (&report["buckets"], &report["readings"]),
        (&2.into(), &120.into())
    );
    assert_eq!(readings(), before);
    let stats = app.run(&["stats", "a", "vibration", "--json"]).json();
    assert_eq!(stats["readings"], 120);
    let would = app.run(&["archive", "--undo", "--dry-run"]);
    let text = "would be restored the items of 2 buckets: 120 records, ";
    assert!(would.stdout.starts_with(text), "{would:?}");
    let undone = app.run(&["archive", "--undo"]);
    let text = "restored the items of 2 buckets: 120 records, ";
    assert!(undone.stdout.starts_with(text), "{undone:?}");
    assert_eq!(readings(), before);
    assert_eq!(app.run(&["archive"]).code, Some(0));
    assert_eq!(app.run(&["forget", "a", "--yes"]).code, Some(0));
    assert_eq!(readings(), "");
}
