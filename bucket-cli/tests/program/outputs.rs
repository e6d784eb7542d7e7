//! Outputs that cannot be written: nothing is done unseen, and what was done is said.

use std::{fs::OpenOptions, process::Stdio};

use super::program::{Program, Ran, command};

fn closed(program: &Program, arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    command.env("MONGODB_URI", &program.uri);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_that_is_closed_before_the_work_is_no_success() {
    let program = Program::new("cli_closed").await;
    program.fill_readings(30).await;
    program.damage_readings(1).await;
    let readings = program
        .database()
        .collection::<bucket_mongo::bson::Document>("readings");
    readings.drop_index("bucket_expire").await.unwrap();
    for command in ["seal", "repair", "expire"] {
        let before = program.everything().await;
        let ran = closed(&program, &[command, "-m", "readings", "--yes"]);
        assert_eq!(ran.code, Some(1), "{command}: {ran:?}");
        assert!(ran.err.contains("nothing was changed"), "{ran:?}");
        assert_eq!(program.everything().await, before, "{command}");
    }
    // What was found is true, whoever reads it.
    let ran = closed(&program, &["verify", "-m", "readings", "--quiet"]);
    assert_ne!(ran.code, Some(1), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_is_said_if_the_report_cannot_be_written() {
    let program = Program::new("cli_full").await;
    program.fill_readings(30).await;
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = command(&["seal", "-m", "readings", "--yes", "--json"]);
    command.env("MONGODB_URI", &program.uri);
    let ran: Ran = command.stdout(full).output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("done: "), "{ran:?}");
    assert!(ran.err.contains("60 buckets with 360 records"), "{ran:?}");
    let again = program.run(&["seal", "-m", "readings"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}
