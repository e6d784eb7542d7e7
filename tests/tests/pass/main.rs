//! What the derives accept: each module holds code as users write it, which compiles and keeps its promises.
//!
//! One binary of the workspace, as trybuild would build the driver once more and link each case by itself.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::pedantic,
    reason = "it is written as users write it"
)]

mod aggregated_parameters;
mod aggregates;
mod crate_path;
mod expire_after;
mod generic_attributes;
mod generic_attributes_in_buckets;
mod generics;
mod hand_written_serialize;
mod hybrid;
mod in_a_function_body;
mod iot;
mod key_types;
mod macro_rules;
mod merge;
mod methods_in_scope;
mod odd_names;
mod odd_names_of_aggregates;
mod on_conflict;
mod raw_identifiers;
mod record_ids;
mod requests;
mod self_in_types;
mod serde_attributes;
mod struct_without_other_traits;
mod temperature;
mod time_types;
mod typed_bucket;
mod visibility;
mod where_clauses;
