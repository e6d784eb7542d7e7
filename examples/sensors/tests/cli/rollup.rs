//! `sensors rollup`.

use std::{collections::BTreeMap, fs, path::Path};

use example_kit::testing::App;
use serde_json::{Value, json};

use crate::app::{HEADER, SENSORS, rows, select, with_real_file};

const MACHINE: [&str; 2] = ["machine_1", "temperature"];

/// The rows of a rollup, and the complete output.
fn rollup(app: &App, sensor: [&str; 2], span: [&str; 2], options: &[&str]) -> (Vec<Value>, Value) {
    let arguments = [&select("rollup", sensor, span), options].concat();
    let ran = app.run(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let report = ran.json();
    (report["rows"].as_array().unwrap().clone(), report)
}

#[tokio::test]
async fn each_step_has_the_figures_of_its_readings() {
    let app = with_real_file("rollup").await;
    // The number of characters of a time that identify its step.
    for (every, prefix, span, opened) in [
        (
            "1h",
            13,
            ["2014-01-01T00:00:00Z", "2014-01-08T00:00:00Z"],
            0,
        ),
        (
            "day",
            10,
            ["2014-01-01T00:00:00Z", "2014-02-01T00:00:00Z"],
            0,
        ),
        (
            "day",
            10,
            ["2014-01-01T00:30:00Z", "2014-01-08T00:30:00Z"],
            2,
        ),
        (
            "month",
            7,
            ["2013-01-01T00:00:00Z", "2015-01-01T00:00:00Z"],
            0,
        ),
    ] {
        let (found, report) = rollup(&app, MACHINE, span, &["--every", every]);
        let mut steps = BTreeMap::<String, Vec<f64>>::new();
        for (time, value) in rows(MACHINE[0], MACHINE[1], span[0], span[1]) {
            steps
                .entry(time[..prefix].to_owned())
                .or_default()
                .push(value);
        }
        assert_eq!(found.len(), steps.len(), "{every} {span:?}");
        assert_eq!(
            (&report["every"], &report["opened"]),
            (&json!(every), &json!(opened))
        );
        for (row, (start, values)) in found.iter().zip(&steps) {
            let begin = row["start"].as_str().unwrap();
            assert_eq!(
                begin,
                format!("{start}{}", &"2014-01-01T00:00:00.000Z"[prefix..])
            );
            assert!(begin < row["end"].as_str().unwrap(), "{row}");
            assert_eq!(row["readings"], values.len(), "{row}");
            assert_eq!(
                row["min"].as_f64(),
                values.iter().copied().reduce(f64::min),
                "{row}"
            );
            assert_eq!(
                row["max"].as_f64(),
                values.iter().copied().reduce(f64::max),
                "{row}"
            );
            let average =
                values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap());
            assert!(
                (row["average"].as_f64().unwrap() - average).abs() < 1e-9,
                "{row}"
            );
            assert_eq!(row["filled"], false, "{row}");
        }
    }
}

#[tokio::test]
async fn without_bounds_it_goes_from_the_first_to_the_newest_reading() {
    let app = with_real_file("rollup_bounds").await;
    let (first, newest) = ("2013-12-02T21:15:00.000Z", "2014-02-19T15:25:00.001Z");
    for (span, from, to) in [
        (["", ""], first, newest),
        (
            ["2014-02-01T00:00:00Z", ""],
            "2014-02-01T00:00:00.000Z",
            newest,
        ),
        (
            ["", "2014-01-01T00:00:00Z"],
            first,
            "2014-01-01T00:00:00.000Z",
        ),
    ] {
        let (found, report) = rollup(&app, MACHINE, span, &["--every", "month"]);
        assert_eq!([&report["from"], &report["to"]], [from, to]);
        let number = |row: &Value| row["readings"].as_u64().unwrap();
        let readings: u64 = found.iter().map(number).sum();
        assert_eq!(
            readings,
            rows(MACHINE[0], MACHINE[1], span[0], span[1]).len() as u64
        );
    }
}

/// Readings at hours 0, 1 and 4 of a day.
async fn gaps(test: &str) -> App {
    let app = SENSORS.app(test).await;
    let rows = "a,co2,2014-02-14T00:30:00Z,10\na,co2,2014-02-14T01:00:00Z,20\n\
                a,co2,2014-02-14T01:30:00Z,30\na,co2,2014-02-14T04:59:59.999Z,40\n";
    let path = SENSORS.file(&format!("{test}.csv"), format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    app
}

#[tokio::test]
async fn gaps_are_filled_as_requested() {
    let app = gaps("rollup_gaps").await;
    let span = ["2014-02-14T01:00:00Z", "2014-02-14T06:00:00Z"];
    for (fill, expected) in [
        ("skip", json!([[1, 25.0, false], [4, 40.0, false]])),
        (
            "null",
            json!([
                [1, 25.0, false],
                [2, null, false],
                [3, null, false],
                [4, 40.0, false],
                [5, null, false]
            ]),
        ),
        (
            "previous",
            json!([
                [1, 25.0, false],
                [2, 25.0, true],
                [3, 25.0, true],
                [4, 40.0, false],
                [5, 40.0, true]
            ]),
        ),
        (
            "linear",
            json!([
                [1, 25.0, false],
                [2, 30.0, true],
                [3, 35.0, true],
                [4, 40.0, false],
                [5, null, false]
            ]),
        ),
    ] {
        let (found, _) = rollup(&app, ["a", "co2"], span, &["--every", "1h", "--fill", fill]);
        let row = |row: &Value| {
            let hour: u8 = row["start"].as_str().unwrap()[11..13].parse().unwrap();
            json!([hour, row["average"], row["filled"]])
        };
        let found: Vec<Value> = found.iter().map(row).collect();
        assert_eq!(json!(found), expected, "{fill}");
    }
    // A span without readings continues the value from before it.
    let later = ["2014-02-14T08:00:00Z", "2014-02-14T09:00:00Z"];
    let (found, _) = rollup(
        &app,
        ["a", "co2"],
        later,
        &["--every", "1h", "--fill", "previous"],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["average"], &found[0]["readings"]),
        (&json!(40.0), &json!(0))
    );
    assert_eq!(
        (&found[0]["min"], &found[0]["filled"]),
        (&json!(null), &json!(true))
    );
}

#[tokio::test]
async fn days_of_a_time_zone_begin_at_its_midnight() {
    let app = SENSORS.app("rollup_zone").await;
    // Clocks in Berlin go forward on 2026-03-29.
    let rows = "a,co2,2026-03-28T22:59:59Z,1\na,co2,2026-03-28T23:00:00Z,2\n\
                a,co2,2026-03-29T21:59:59Z,4\na,co2,2026-03-29T22:00:00Z,8\n";
    let path = SENSORS.file("rollup_zone.csv", format!("{HEADER}\n{rows}"));
    assert_eq!(app.run(&["load", &path]).code, Some(0));
    let options = ["--every", "day", "--zone", "Europe/Berlin"];
    let (found, report) = rollup(&app, ["a", "co2"], ["", ""], &options);
    assert_eq!(report["every"], "day in Europe/Berlin");
    let found: Vec<Value> = found
        .iter()
        .map(|row| json!([row["start"], row["readings"], row["max"]]))
        .collect();
    let expected = json!([
        ["2026-03-27T23:00:00.000Z", 1, 1.0],
        ["2026-03-28T23:00:00.000Z", 2, 4.0],
        ["2026-03-29T22:00:00.000Z", 1, 8.0],
    ]);
    assert_eq!(json!(found), expected);
}

#[tokio::test]
async fn it_is_a_chart_and_a_picture_in_a_file() {
    let app = gaps("rollup_chart").await;
    let file = Path::new(SENSORS.folder).join("rollup_chart.svg");
    let file = file.to_str().unwrap();
    let arguments = [
        "rollup", "a", "co2", "--every", "1h", "--fill", "linear", "--svg", file,
    ];
    let ran = app.run(&arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let text = &ran.stdout;
    assert!(text.starts_with("a co2 by 1h\n"), "{text}");
    assert!(text.contains("\u{2802}\u{2802} filled in\n"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let end = format!(
        "\n5 steps from 3 buckets, 1 of them opened for their readings\nthe picture is in `{file}`\n"
    );
    assert!(text.ends_with(&end), "{text}");
    let svg = fs::read_to_string(file).unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert!(svg.contains("class=\"average filled\""), "{svg}");

    let ran = app.run(&[
        "rollup",
        "a",
        "co2",
        "--every",
        "1h",
        "--svg",
        "/no/such/folder/a.svg",
        "--json",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert!(
        error.starts_with("`/no/such/folder/a.svg` cannot be written: "),
        "{error}"
    );
}

#[tokio::test]
async fn a_span_without_readings_is_no_error() {
    let app = gaps("rollup_none").await;
    let later = ["--from", "2014-02-15T00:00:00Z"];
    for (options, expected) in [
        (["nobody", "co2"].as_slice(), "no readings of nobody co2\n"),
        (
            &["a", "co2", later[0], later[1]],
            "no readings of a co2 from 2014-02-15 00:00:00 UTC\n",
        ),
    ] {
        let ran = app.run(&[&["rollup", "--every", "day"], options].concat());
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), expected, "")
        );
        let ran = app.run(&[&["rollup", "--every", "day", "--json"], options].concat());
        assert_eq!((ran.code, &ran.json()["rows"]), (Some(0), &json!([])));
    }
}

#[tokio::test]
async fn too_many_steps_are_refused() {
    let app = gaps("rollup_many").await;
    let span = ["2014-02-14T00:00:00Z", "2016-02-14T00:00:00Z"];
    let ran = app.run(
        &[
            &select("rollup", ["a", "co2"], span),
            ["--every", "1s"].as_slice(),
        ]
        .concat(),
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let error = ran.error()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("100000"), "{error}");
}
