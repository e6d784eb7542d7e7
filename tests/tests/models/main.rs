//! What models are made of: generated code, attributes, collections with their indexes, checks and repairs, on a server: one module for each property.
//!
//! There are few binaries, because each one links the driver and starts a server: `models`, `reads` and `writes`.
//! `cargo test -p bucket-tests --test models NAME` runs the tests with NAME in their path, which begins with
//! the module.

#[allow(dead_code, reason = "each binary uses a part of it")]
#[path = "../common/mod.rs"]
mod common;

mod attribute_edges;
mod attribute_units;
mod attributes;
mod bucket_attributes;
mod capacities_at_once;
mod damaged_bytes;
mod derive_forms;
mod derive_model;
mod derive_names;
mod derive_serde_names;
mod descriptions;
mod documents;
mod documents_lost;
mod documents_stored;
mod ensure;
mod expire;
mod faults_set_up;
mod fill;
mod generic_attributes;
mod headers_merged;
mod keep_stats;
mod keep_stats_repair;
mod lagging_member;
mod living_handles;
mod migrate_concurrent;
mod migrate_documents;
mod migrate_faults;
mod other_forms;
mod other_keys_at_once;
mod quarantine_races;
mod redacted;
mod repair;
mod repair_indexes;
mod repair_lost;
mod repair_room;
mod repeated_fields;
mod server_model;
mod set_up;
mod set_up_races;
mod set_up_refused;
mod shared_ids;
mod sizes;
mod unfinished_indexes;
mod validator;
mod verify;
mod verify_at_work;
