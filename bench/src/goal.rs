//! The units of workloads, and their goals.

use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    /// Throughput: more is better.
    #[serde(rename = "records/s")]
    RecordsPerSecond,
    /// Latency: less is better.
    #[serde(rename = "us")]
    Microseconds,
    /// Storage: less is better.
    #[serde(rename = "bytes/record")]
    BytesPerRecord,
    /// Memory: less is better.
    #[serde(rename = "MiB")]
    Mebibytes,
}

impl Unit {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::RecordsPerSecond => "records/s",
            Self::Microseconds => "us",
            Self::BytesPerRecord => "bytes/record",
            Self::Mebibytes => "MiB",
        }
    }

    pub(crate) fn more_is_better(self) -> bool {
        self == Self::RecordsPerSecond
    }
}

/// The goal for a figure or a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn is_reached(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}
