//! Everything that reads and follows records, on a server: one module for each property.
//!
//! There are few binaries, because each one links the driver and starts a server: `models`, `reads` and `writes`.
//! `cargo test -p bucket-tests --test reads NAME` runs the tests with NAME in their path, which begins with
//! the module.

#[allow(dead_code, reason = "each binary uses a part of it")]
#[path = "../common/mod.rs"]
mod common;

mod bad_reads;
mod cursors;
mod damaged_forms;
mod ended_streams;
mod ends_of_time;
mod explain;
mod forms_explain;
mod latest_per_key;
mod latest_reads;
mod learnt_spans;
mod list_keys;
mod matching;
mod matching_elements;
mod matching_sealed;
mod range_all_keys;
mod range_pipelines;
mod range_stats;
mod range_stats_forms;
mod range_stats_reads;
mod ranges;
mod read_settings;
mod rollup;
mod rollup_reads;
mod sealed;
mod selected_fields;
mod taken_away;
mod time_types;
mod tracing;
mod tutorial;
mod typed_stats;
mod watch;
mod watch_dropped;
mod watch_faults;
mod watch_forgotten;
mod watch_held;
mod watch_ledger;
