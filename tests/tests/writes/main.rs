//! Everything that stores, corrects and removes records, and what faults do to it, on a server: one module for each property.
//!
//! There are few binaries, because each one links the driver and starts a server: `models`, `reads` and `writes`.
//! `cargo test -p bucket-tests --test writes NAME` runs the tests with NAME in their path, which begins with
//! the module.

#[allow(dead_code, reason = "each binary uses a part of it")]
#[path = "../common/mod.rs"]
mod common;

mod archive;
mod away;
mod backfill;
mod bad_forms;
mod bad_input;
mod bad_server;
mod bulk_load;
mod changed_limits;
mod client_settings;
mod concurrency;
mod cut_messages;
mod edited_size;
mod edits;
mod edits_explain;
mod edits_keep_places;
mod edits_persist;
mod edits_state;
mod erasure;
mod faults_dropped;
mod faults_edits;
mod faults_failover;
mod faults_proxy;
mod faults_record_ids;
mod faults_removals;
mod faults_rollback;
mod faults_sources;
mod faults_transactions;
mod forgotten_ids;
mod forms;
mod forms_sessions;
mod groups;
mod hidden_buckets;
mod ingest;
mod ingest_bounds;
mod ingest_end;
mod ingest_metrics;
mod keys;
mod large_replies;
mod late_records;
mod latest_wins;
mod manual_trades;
mod many_parts;
mod merging;
mod moves;
mod moves_given_up;
mod new_keys;
mod numbers;
mod record_ids;
mod refs_of_reads;
mod remembered;
mod removed_in_part;
mod removed_positions;
mod replaced;
mod replacing;
mod sealed_elsewhere;
mod sealer;
mod sealing;
mod sessions;
mod settings_together;
mod singles;
mod sources;
mod stability;
mod taken;
mod time_limits;
mod yielding_reads;
