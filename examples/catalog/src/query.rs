//! A query as the line of Rust that makes it, its filter, what it finds and its cost.

use std::io::Write;

use bucket_mongo::{
    Attributed, Documents,
    bson::{Document, doc},
};
use example_kit::{Error, print};

use crate::examined::explain;

/// A filter and the Rust that makes it.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) rust: &'static str,
    pub(crate) filter: Document,
}

/// The query of an expression; the text shown is the code that is compiled.
macro_rules! query {
    ($filter:expr) => {
        $crate::query::Query {
            rust: stringify!($filter),
            filter: ::bucket_mongo::bson::Document::from($filter),
        }
    };
}

pub(crate) use query;

/// Shows a query, with a line for each document that it finds.
pub(crate) async fn show<T: Attributed>(
    documents: &Documents<T>,
    query: Query,
    line: fn(&T) -> String,
    out: &mut impl Write,
) -> Result<(), Error> {
    let collection = documents.spec().collection();
    let command = doc! { "find": collection, "filter": query.filter.clone() };
    let examined = explain(documents.database(), command).await?;
    writeln!(out, "{}", query.rust)?;
    writeln!(out, "  {}", print::fitted(&query.filter, 1))?;
    let found = documents.find(query.filter).await?;
    for document in &found {
        writeln!(out, "  -> {}", line(document))?;
    }
    if found.is_empty() {
        writeln!(out, "  -> nothing")?;
    }
    writeln!(out, "  {examined}\n")?;
    Ok(())
}
