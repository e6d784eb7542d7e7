//! `to_folder` and `to_store`: records as files, a part for each key and month.

mod collection;
mod fingerprint;
mod hash;
mod marker;
mod name;
mod part;
mod partition;
mod report;
mod request;
mod run;
mod settings;
mod target;

pub use self::{
    partition::PartitionBy,
    report::{ExportProgress, ExportReport},
    request::Export,
};
