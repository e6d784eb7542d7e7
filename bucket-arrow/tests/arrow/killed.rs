//! An export that is killed and run again until it is done has the files of one that nobody killed.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};

use bucket_arrow::ToArrow;
use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

use super::{
    exports::{data, files},
    program::{example, folder},
    server::{DAY, START, database, server},
};

/// The model of the example.
#[derive(Debug, Clone, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1h",
    capacity = 200
)]
struct Reading {
    #[bucket(key)]
    sensor_id: i64,
    #[bucket(time)]
    at: DateTime,
    celsius: f64,
    battery: Option<f64>,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_that_is_killed_goes_on_with_the_parts_that_are_missing() {
    let database = database("export_killed").await;
    let readings = Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let mut records = Vec::new();
    for sensor_id in 0..3 {
        #[allow(clippy::cast_precision_loss, reason = "small numbers")]
        records.extend((0..800).map(|at| Reading {
            sensor_id,
            at: DateTime::from_millis(START + at * 3 * DAY / 8),
            celsius: at as f64 / 16.0,
            battery: (at % 7 == 0).then_some(0.5),
        }));
    }
    readings
        .insert_many(records)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let whole = folder("export_whole");
    let began = Instant::now();
    let report = readings.to_arrow().to_folder(&whole).await.unwrap();
    let mut took = began.elapsed();
    assert_eq!((report.records, report.parts), (2_400, 30));

    let killed = folder("export_killed");
    let uri = server().await.uri();
    let start = || {
        let mut program = Command::new(example());
        program
            .arg(&killed)
            .env("MONGODB_URI", uri)
            .env("DATABASE", database.name());
        program.stdout(Stdio::null()).stderr(Stdio::piped());
        program.spawn().unwrap()
    };
    let mut seed = SystemTime::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    eprintln!("kills from the seed {seed}");
    let (mut kills, mut half_done) = (0, 0);
    loop {
        let mut program = start();
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // From its start to some of the time that it takes in all, and longer each time so that the last one ends.
        let most = took.mul_f64(0.3 + 0.3 * f64::from(kills)) + Duration::from_millis(60);
        let after = most.mul_f64(f64::from(seed >> 8) / f64::from(1 << 24));
        std::thread::sleep(after);
        // `kill -9`.
        let _ = program.kill();
        let status = program.wait().unwrap();
        if status.success() && kills > 0 {
            break;
        }
        if status.success() {
            // It takes less time than the export before, which shared the machine with other tests: once more.
            folder("export_killed");
            took /= 4;
            continue;
        }
        assert_eq!(status.code(), None, "{status:?}");
        kills += 1;
        let found = data(&files(&killed))
            .iter()
            .filter(|name| name.ends_with("/data.parquet"))
            .count();
        half_done += usize::from(found > 0 && found < 30);
        assert!(kills < 200);
    }
    eprintln!("{kills} kills, {half_done} of them with some parts done");

    let (killed, whole) = (files(&killed), files(&whole));
    assert_eq!(
        killed.keys().collect::<Vec<_>>(),
        whole.keys().collect::<Vec<_>>()
    );
    assert!(killed == whole, "a file differs");
}
