//! Migrates a collection of products from one form of its documents to the other, in place.

use bucket_mongo::{Documents, documents::MigrationReport};
use clap::ValueEnum;
use example_kit::{Error, progress};

use crate::model::Product;

/// A form of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    /// Arrays of attributes under one index
    Attributes,
    /// Many fields, as serde writes the struct
    Fields,
}

/// Migrates all products, with a progress bar.
pub(crate) async fn run(
    documents: &Documents<Product>,
    to: To,
    dry_run: bool,
) -> Result<MigrationReport, Error> {
    let bar = progress::records(0);
    let migrate = match to {
        To::Attributes => documents.migrate_to_attributes(),
        To::Fields => documents.migrate_to_fields(),
    };
    let migrate = if dry_run { migrate.dry_run() } else { migrate };
    let report = migrate.on_progress(|done| {
        bar.set_length(done.expected);
        bar.set_position(done.looked_at);
    });
    let report = report.await;
    bar.finish_and_clear();
    Ok(report?)
}
