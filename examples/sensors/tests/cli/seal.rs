//! `sensors seal`.

use crate::app::{HEADER, SENSORS};

#[tokio::test]
async fn packed_readings_take_less_space_and_are_read_as_before() {
    let app = SENSORS.app("seal").await;
    let row = |second: u32| {
        let (minute, second) = (second / 60, second % 60);
        format!("a,vibration,2014-02-14T14:{minute:02}:{second:02}Z,{second}\n")
    };
    let rows: String = (0..120).map(row).collect();
    let path = SENSORS.file("seal.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let readings = || app.run(&["readings", "a", "vibration", "--json"]).stdout;
    let before = readings();
    let would = app.run(&["seal", "--dry-run"]);
    let text = "would be sealed 2 buckets with 120 records: from ";
    assert!(would.stdout.starts_with(text), "{would:?}");
    let report = app.run(&["seal", "--json"]).json();
    assert_eq!(
        (&report["buckets"], &report["readings"]),
        (&2.into(), &120.into())
    );
    let bytes = |name: &str| report[name].as_u64().unwrap();
    assert!(bytes("bytes_after") < bytes("bytes_before"), "{report}");
    assert_eq!(readings(), before);
    let again = app.run(&["seal", "--json"]).json();
    assert_eq!(
        (&again["buckets"], &again["dry_run"]),
        (&0.into(), &false.into())
    );
    let undone = app.run(&["seal", "--undo"]);
    let text = "unsealed 2 buckets with 120 records: from ";
    assert!(undone.stdout.starts_with(text), "{undone:?}");
    assert_eq!(readings(), before);
}
