//! `trades show CUSTOMER`: the stored documents, one at a time however many there are.

use std::{io::Write, pin::pin};

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, print, text};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};

use crate::{json::Bucket, model::Trade, stored};

pub(super) async fn run(
    trades: &Buckets<Trade>,
    customer: i64,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let pages = trades.page_count(customer).await?;
    let records = trades.count(customer).await?;
    match format {
        Format::Json => {
            write!(
                out,
                r#"{{"customer":{customer},"pages":{pages},"records":{records},"buckets":["#
            )?;
            let buckets = trades.pages(customer).stream().map_err(Error::from);
            let buckets = buckets
                .map(|bucket| Ok::<_, Error>(serde_json::to_string(&Bucket::from(&bucket?))?));
            list(buckets, ",", out).await?;
            writeln!(out, "]}}")?;
        }
        Format::Text if pages == 0 => writeln!(out, "customer {customer} has no trades")?,
        Format::Text => {
            let trade = text::counted(records, "trade");
            writeln!(
                out,
                "customer {customer}: {trade} in {}\n",
                text::counted(pages, "page")
            )?;
            write!(out, "[\n  ")?;
            let documents = stored::documents(trades, &[customer]).await?;
            list(
                documents.map_ok(|stored| print::document(&stored, 1)),
                ",\n  ",
                out,
            )
            .await?;
            writeln!(out, "\n]")?;
        }
    }
    Ok(())
}

/// Prints the documents with a separator between them.
async fn list(
    entries: impl Stream<Item = Result<String, Error>>,
    separator: &str,
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut entries = pin!(entries);
    let mut before = "";
    while let Some(entry) = entries.try_next().await? {
        write!(out, "{before}{entry}")?;
        before = separator;
    }
    Ok(())
}
