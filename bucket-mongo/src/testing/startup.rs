//! Waits until a started process is ready, or finds out why it is not.

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use tokio::time;

use super::{
    error::{Error, last_lines},
    supervisor::Supervisor,
};

pub(super) const START_LIMIT: Duration = Duration::from_secs(60);
pub(super) const POLL_PAUSE: Duration = Duration::from_millis(20);
const LOG_LINES: usize = 10;

/// Waits until the process's own log says so: an answer on the port could be another server's.
pub(super) async fn listening(supervisor: &Supervisor) -> Result<(), Error> {
    loop {
        // "Waiting for connections" since 4.4, "waiting for connections" before.
        if read_log(supervisor)
            .await
            .contains("aiting for connections")
        {
            return Ok(());
        }
        time::sleep(POLL_PAUSE).await;
    }
}

/// The result of `step`, or an error as soon as the process has ended or is too slow.
pub(super) async fn watched<T>(
    supervisor: &Supervisor,
    step: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let start = Instant::now();
    let mut step = pin!(step);
    loop {
        if let Ok(result) = time::timeout(POLL_PAUSE, &mut step).await {
            return result;
        }
        if supervisor.has_ended() {
            let log = telling_lines(&supervisor.last_words().await);
            return Err(Error::Exited {
                binary: supervisor.program(),
                log,
            });
        }
        if start.elapsed() > START_LIMIT {
            let log = telling_lines(&read_log(supervisor).await);
            return Err(Error::Timeout {
                binary: supervisor.program(),
                limit: START_LIMIT,
                log,
            });
        }
    }
}

/// The lines of a server's log that are not routine messages; the last lines if there are none.
///
/// The cause of an end is followed by twenty routine messages about the shutdown.
fn telling_lines(log: &str) -> String {
    let routine = |line: &&str| line.contains(r#""s":"I""#) || line.contains(r#""s":"W""#);
    let telling: Vec<&str> = log.lines().filter(|line| !routine(line)).collect();
    let log = if telling.is_empty() {
        log.to_owned()
    } else {
        telling.join("\n")
    };
    last_lines(&log, LOG_LINES)
}

async fn read_log(supervisor: &Supervisor) -> String {
    let log = tokio::fs::read(supervisor.log()).await.unwrap_or_default();
    String::from_utf8_lossy(&log).into_owned()
}
