//! `stats`: the statistics of a key over a span of time.

use bucket_mongo::{Bucketed, bson::Document};
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    figures::Figures,
    json,
    key::{KeyWords, document},
    out::Format,
    shell::cell,
    span::Span,
    table::{Table, left, number},
};

/// Of which records.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: KeyWords,
    #[command(flatten)]
    span: Span,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let key = crate::key::parse::<T>(&asked.key.key)?;
    let shown = document::<T>(&key);
    let stats = at.buckets.stats(key, asked.span.range()?).await?;
    let (records, buckets, opened) = match &stats {
        Some(stats) => (stats.count(), stats.buckets(), stats.scanned_buckets()),
        None => (0, 0, 0),
    };
    let stored = stats.map_or_else(Document::new, |stats| stats.to_document());
    let figures = Figures::of(T::SPEC, &stored, records);
    if at.out.format() == Format::Json {
        at.out.json(&json!({
            "key": json::object(&shown),
            "records": records,
            "buckets": buckets,
            "scanned_buckets": opened,
            "stats": figures.json(),
        }))?;
        return Ok(Outcome::Done);
    }
    let mut table = Table::new(["name", "value"]);
    table.row(vec![left("records"), number(records)]);
    table.row(vec![left("buckets"), number(buckets)]);
    table.row(vec![left("buckets read for their items"), number(opened)]);
    for (name, value) in figures.values() {
        table.row(vec![left(name), number(cell(value))]);
    }
    at.out.table(&table)?;
    Ok(Outcome::Done)
}
