//! `catalog load`: made-up products into a database that stays.

use std::io::Write;

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{Document, doc},
};
use example_kit::{Error, Server, cli::Format, json, progress, text};
use serde_json::json;

use crate::{APP, cli::Amount, form, migration::To, model::Product, products};

pub(super) async fn run(
    amount: Amount,
    to: To,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    Server::run(APP, async |server| {
        load(server, amount, to, format, out).await
    })
    .await
}

async fn load(
    server: &Server,
    amount: Amount,
    to: To,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let documents = Product::documents(&server.database());
    let stored = store(&documents, to, amount).await?;
    let collection = documents.spec().collection();
    let place = format!("{}.{collection}", documents.database().name());
    match format {
        Format::Json => json::print(&json!({ "stored": stored, "collection": place }), out)?,
        Format::Text => writeln!(out, "{} -> `{place}`", text::counted(stored, "product"))?,
    }
    if !server.is_lasting() {
        format.note("MONGODB_URI is not set: the products go away with the development server");
    }
    Ok(())
}

/// Stores products behind those that are stored; gives their number.
pub(super) async fn store(
    documents: &Documents<Product>,
    to: To,
    amount: Amount,
) -> Result<u64, Error> {
    if to == To::Attributes {
        documents.ensure().await?;
    }
    let last = last_id(documents).await?;
    let left = i32::MAX - last.max(0);
    if left < amount.products {
        return Err(Error::Unexpected(format!(
            "there are numbers for {left} more products, not for {}",
            amount.products
        )));
    }
    let products = (1..=amount.products).map(|behind| last.max(0) + behind);
    let products = products::numbered(products);
    let bar = progress::records(products.len() as u64);
    let stored = match to {
        To::Attributes => form::insert(documents, &products, &bar).await,
        To::Fields => form::insert_fields(&documents.collection(), &products, &bar).await,
    };
    bar.finish_and_clear();
    stored
}

/// The greatest id, or 0.
async fn last_id(documents: &Documents<Product>) -> Result<i32, Error> {
    let collection = documents.collection::<Document>();
    let last = collection
        .find_one(doc! {})
        .sort(doc! { "_id": -1 })
        .projection(doc! { "_id": 1 });
    let last = last.await?;
    Ok(last.map_or(0, |last| last.get_i32("_id").unwrap_or_default()))
}
