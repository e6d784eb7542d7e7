//! `trades page CUSTOMER N`.

use std::io::Write;

use bucket_mongo::Buckets;
use example_kit::{Error, cli::Format, json, text};
use serde::Serialize;

use crate::{
    json::Record,
    model::{Trade, TradeBucket},
    table,
};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    customer: i64,
    page: u64,
    records: Vec<Record<'a>>,
}

pub(super) async fn run(
    trades: &Buckets<Trade>,
    customer: i64,
    number: u64,
    format: Format,
    out: &mut impl Write,
) -> Result<(), Error> {
    let bucket = trades.page(customer, number).await?.into_bucket();
    if format == Format::Json {
        let records = bucket.map(TradeBucket::into_records).unwrap_or_default();
        let records = records.iter().map(Record::from).collect();
        return json::print(
            &Report {
                customer,
                page: number,
                records,
            },
            out,
        );
    }
    let pages = trades.page_count(customer).await?;
    match bucket {
        None => writeln!(out, "{}", past_the_end(customer, number, pages))?,
        Some(bucket) => {
            let count = text::counted(bucket.count.into(), "trade");
            let id = &bucket.id;
            writeln!(
                out,
                "customer {customer}, page {number} of {pages}: {count} (`{id}`)\n"
            )?;
            write!(out, "{}", table::trades(bucket.into_records()))?;
        }
    }
    Ok(())
}

fn past_the_end(customer: i64, number: u64, pages: u64) -> String {
    if pages == 0 {
        return format!("customer {customer} has no trades");
    }
    let pages = text::counted(pages, "page");
    format!("page {number} of customer {customer} is empty: it has {pages}")
}
