//! `compare`: whether the buckets have exactly the records of a flat collection.

use bucket_mongo::{Bucketed, Comparison, action::Difference};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    flat::{Flat, rejects, show_rejects},
    json,
    out::{Format, Tone},
    progress, shell,
    span::Span,
    table::{Table, left},
    text::{date, printable},
};

/// What is compared.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    flat: Flat,
    #[command(flatten)]
    span: Span,
}

pub(super) async fn run<T: Bucketed + DeserializeOwned>(
    at: At<'_, T>,
    asked: Asked,
) -> Result<Outcome, Error> {
    let range = asked.span.range()?;
    let source = asked.flat.open(&at).await?;
    let bar = progress::spinner(at.out);
    let buckets = at.buckets.clone();
    let comparing = buckets
        .compare_with(&source)
        .between(range)
        .ignore_fields(&asked.flat.ignored)
        .on_progress(|done| bar.set_message(done.to_string()));
    let found = comparing.await;
    bar.finish_and_clear();
    let found = found?;
    match at.out.format() {
        Format::Json => at.out.json(&as_json(&found))?,
        Format::Csv => at.out.table(&table(&found))?,
        Format::Text => {
            show_rejects(at.out, &found.rejects)?;
            for difference in &found.differences {
                at.out.toned(Tone::Bad, &line(difference))?;
            }
            let tone = if found.is_same() {
                Tone::Good
            } else {
                Tone::Bad
            };
            at.out.toned(tone, &found.to_string())?;
        }
    }
    Ok(if found.is_same() {
        Outcome::Done
    } else {
        Outcome::Found
    })
}

fn line(difference: &Difference) -> String {
    let record = shell::line(&difference.record.clone().into());
    printable(&match &difference.missing {
        Some(id) => format!("only in the source, {}: {record}", shell::line(id)),
        None => format!("only in the buckets: {record}"),
    })
}

fn table(found: &Comparison) -> Table {
    let mut table = Table::new(["only_in", "id", "time", "record"]);
    for one in &found.differences {
        let side = if one.missing.is_some() {
            "source"
        } else {
            "buckets"
        };
        let id = one.missing.as_ref().map(shell::cell).unwrap_or_default();
        table.row(vec![
            left(side),
            left(id),
            left(date(one.time)),
            left(json::object(&one.record).to_string()),
        ]);
    }
    table
}

fn as_json(found: &Comparison) -> Value {
    let differences: Vec<Value> = found
        .differences
        .iter()
        .map(|one| {
            json!({
                "only_in": if one.missing.is_some() { "source" } else { "buckets" },
                "id": one.missing.as_ref().map(json::value),
                "record": json::object(&one.record),
            })
        })
        .collect();
    json!({
        "same": found.is_same(),
        "documents": found.documents,
        "records": found.records,
        "missing": found.missing,
        "extra": found.extra,
        "rejected": found.rejected,
        "complete": found.is_complete,
        "differences": differences,
        "rejects": rejects(&found.rejects),
    })
}
