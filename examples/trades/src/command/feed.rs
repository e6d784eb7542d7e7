//! `trades feed CUSTOMER`: a number of trades from any position on.

use std::io::Write;

use bucket_mongo::{Buckets, RecordPage, Referenced};
use example_kit::{Error, cli::Format, json, text};
use serde::Serialize;

use crate::{cli::Feed, json::Record, model::Trade, table};

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    customer: i64,
    records: Vec<Record<'a>>,
    /// The token for the trades after these; none if there are no more.
    next: Option<&'a str>,
    /// The token for the trades before these.
    prev: Option<&'a str>,
}

pub(super) async fn run(
    trades: &Buckets<Trade>,
    feed: Feed,
    out: &mut impl Write,
) -> Result<(), Error> {
    let format = feed.output.format();
    let query = trades
        .records(feed.customer)
        .with_refs()
        .limit(feed.limit)
        .after(feed.after)
        .before(feed.before);
    let page = if feed.newest_first {
        query.newest_first().await?
    } else {
        query.await?
    };
    let record = |found| {
        if feed.refs {
            Record::with_ref(found)
        } else {
            Record::from(&found.record)
        }
    };
    match format {
        Format::Json => json::print(
            &Report {
                customer: feed.customer,
                records: page.iter().map(record).collect(),
                next: page.next_token().map(AsRef::as_ref),
                prev: page.previous_token().map(AsRef::as_ref),
            },
            out,
        ),
        Format::Text => write(feed.customer, &page, feed.refs, out),
    }
}

fn write(
    customer: i64,
    page: &RecordPage<Referenced<Trade>>,
    refs: bool,
    out: &mut impl Write,
) -> Result<(), Error> {
    if page.is_empty() {
        writeln!(out, "customer {customer} has no trades there")?;
        return Ok(());
    }
    let number = u64::try_from(page.len()).unwrap_or(u64::MAX);
    let number = text::counted(number, "trade");
    writeln!(out, "customer {customer}: {number}\n")?;
    let shown = if refs {
        table::referenced(page.records())
    } else {
        table::trades(page.iter().map(|found| &found.record))
    };
    write!(out, "{shown}")?;
    let links = [
        ("before", page.previous_token()),
        ("after", page.next_token()),
    ];
    for (option, token) in links {
        if let Some(token) = token {
            writeln!(out, "\nmore: --{option} {token}")?;
        }
    }
    Ok(())
}
