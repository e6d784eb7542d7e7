//! Sealing: the items of buckets that take no more records become packed columns, and rows again.
//!
//! | piece | file |
//! | --- | --- |
//! | which buckets are read | `scan` |
//! | whether a bucket takes no more records | `due` |
//! | what a bucket becomes | `sealing` |
//! | what it becomes when its records have expired | `expiring` |
//! | the statements, several in a command | `statement` |
//! | which sealed buckets become one | `grouping` |
//! | and how | `merge` |
//!
//! What a sealed bucket is stored as: `bucket/sealed.rs`. A statement matches only the bucket that was read, with all
//! its items. If another writer came first, it changes nothing, and a later call seals the bucket.

mod bounded;
mod due;
mod expiring;
mod grouping;
mod merge;
pub(crate) mod scan;
mod sealing;
pub(crate) mod statement;

pub use crate::bucket::header::has_expired;

pub use self::{
    due::Due,
    expiring::{expire, expired_buckets},
    grouping::{Grouping, MergeDue, MergeGroup, buckets_to_merge},
    merge::{Merge, dated, merge_commands},
    scan::{sealed_buckets, unsealed_buckets},
    sealing::{Sealing, seal, unseal},
    statement::{SealStatement, command},
};
