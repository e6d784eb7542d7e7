//! `catalog migrate --to FORM`: the stored products from one form to the other, in place.

use std::{io::Write, process::ExitCode};

use bucket_mongo::{Attributed as _, Documents, documents::MigrationReport};
use example_kit::{Error, Server, cli::Format, json, text};
use serde_json::{Value, json};

use super::load;
use crate::{
    APP,
    cli::{Amount, Migrate},
    migration::{self, To},
    model::Product,
};

/// What is migrated when there are no products of the user's own.
const BUILT_IN: Amount = Amount { products: 20_000 };

pub(super) async fn run(asked: Migrate, out: &mut impl Write) -> Result<ExitCode, Error> {
    let format = asked.output.format();
    Server::run(APP, async |server| {
        server.tell_if_built_in("products", format);
        let documents = Product::documents(&server.database());
        if !server.is_lasting() {
            let other = match asked.to {
                To::Attributes => To::Fields,
                To::Fields => To::Attributes,
            };
            load::store(&documents, other, BUILT_IN).await?;
        }
        migrate(&documents, &asked, format, out).await
    })
    .await
}

async fn migrate(
    documents: &Documents<Product>,
    asked: &Migrate,
    format: Format,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    if asked.to == To::Attributes && !asked.dry_run {
        // Before the first product is migrated, so that every query finds its index.
        documents.ensure().await?;
    }
    let report = migration::run(documents, asked.to, asked.dry_run).await?;
    match format {
        Format::Json => json::print(&shown(&report), out)?,
        Format::Text => {
            let reasons = report.refusals.iter().map(|refused| &refused.error);
            reasons.for_each(|reason| text::complain(&reason.to_string()));
            writeln!(out, "{report}")?;
        }
    }
    let is_done = report.differing.is_empty() && (asked.dry_run || report.left == 0);
    Ok(if is_done && report.refused == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The figures of the report, and why documents were refused.
fn shown(report: &MigrationReport) -> Value {
    let reasons = report
        .refusals
        .iter()
        .map(|refused| refused.error.to_string());
    json!({
        "dry_run": report.dry_run,
        "looked_at": report.looked_at,
        "changed": report.changed,
        "already": report.already,
        "refused": report.refused,
        "reasons": reasons.collect::<Vec<_>>(),
        "left": report.left,
        "compared": report.compared,
        "differing": report.differing.len(),
    })
}
