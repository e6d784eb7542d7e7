//! A reader: sends the readings of one series in their order of arrival.

use example_kit::csv_input::{Row, RowError};
use tokio::sync::mpsc::{Sender, error::SendError};

use super::not_sent;
use crate::model::Reading;

/// Sends all readings; returns those that no worker took as failed.
pub(super) async fn run(readings: Vec<Row<Reading>>, queue: Sender<Row<Reading>>) -> Vec<RowError> {
    let mut readings = readings.into_iter();
    while let Some(reading) = readings.next() {
        if let Err(SendError(reading)) = queue.send(reading).await {
            let rest: Vec<_> = readings.collect();
            return [&reading].into_iter().chain(&rest).map(not_sent).collect();
        }
    }
    Vec::new()
}
