//! `catalog find CONDITION..`: products by their attributes.

use std::io::Write;

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{Document, doc, serialize_to_document},
};
use example_kit::{Error, Server, cli::Format, json, print, text};

use super::load;
use crate::{
    APP,
    cli::{Amount, Find},
    condition,
    examined::explain,
    migration::To,
    model::Product,
    table,
};

/// What is asked when there are no products of the user's own.
const BUILT_IN: Amount = Amount { products: 20_000 };

pub(super) async fn run(asked: Find, out: &mut impl Write) -> Result<(), Error> {
    let format = asked.output.format();
    Server::run(APP, async |server| {
        server.tell_if_built_in("products", format);
        let documents = Product::documents(&server.database());
        if !server.is_lasting() {
            load::store(&documents, To::Attributes, BUILT_IN).await?;
        }
        find(&documents, &asked, format, out).await
    })
    .await
}

async fn find(
    documents: &Documents<Product>,
    asked: &Find,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let filter = condition::by_attributes(&asked.conditions);
    let found = documents.find(filter.clone()).limit(asked.limit).await?;
    match format {
        Format::Json => found
            .iter()
            .try_for_each(|product| json::print(product, out)),
        Format::Text => {
            writeln!(out, "{}\n", print::fitted(&filter, 0))?;
            tell(&found, asked, out)?;
            let command = doc! {
                "find": documents.spec().collection(), "filter": filter, "limit": asked.limit,
            };
            let examined = explain(documents.database(), command).await?;
            writeln!(out, "{examined}")?;
            Ok(())
        }
    }
}

fn tell(found: &[Product], asked: &Find, out: &mut impl Write) -> Result<(), Error> {
    let said = match condition::said(&asked.conditions) {
        said if said.is_empty() => said,
        said => format!(" with {said}"),
    };
    if found.is_empty() {
        writeln!(out, "no products{said}")?;
        return Ok(());
    }
    // Every product is a struct, and serializes as a document.
    let fields = found.iter().map(serialize_to_document);
    let fields: Vec<Document> = fields.map(Result::unwrap_or_default).collect();
    write!(
        out,
        "{}\n{}",
        table::products(&fields),
        text::counted(found.len() as u64, "product")
    )?;
    // There may be more.
    let least = if found.len() as u64 == u64::from(asked.limit) {
        ", stopped at the limit"
    } else {
        ""
    };
    writeln!(out, "{said}{least}")?;
    Ok(())
}
