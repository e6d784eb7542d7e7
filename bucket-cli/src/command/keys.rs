//! `keys`: every key, and how much is stored of each.

use bucket_mongo::{Bucketed, bson::Bson};
use futures_util::StreamExt as _;
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    json,
    key::document,
    out::Format,
    shell::cell,
    table::{Table, left, number},
    text,
};

/// Which keys.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// Only keys whose first field begins with this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    prefix: String,
    /// At most this many keys
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    limit: usize,
    /// Without numbers and times: the server then reads an index and no bucket
    #[arg(long)]
    only: bool,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let fields = T::SPEC.keys().iter().map(|key| key.path);
    let more: &[&str] = if asked.only {
        &[]
    } else {
        &["buckets", "records", "first", "last"]
    };
    let mut table = Table::new(fields.chain(more.iter().copied()));
    let mut query = at.buckets.keys();
    if !asked.prefix.is_empty() {
        query = query.starting_with(&asked.prefix);
    }
    let (mut shown, mut is_more, mut unreadable) = (0, false, 0);
    let is_json = at.out.format() == Format::Json;
    if asked.only {
        let mut keys = query.stream();
        while let Some(found) = keys.next().await {
            let Some(key) = readable(found, &mut unreadable)? else {
                continue;
            };
            if shown == asked.limit {
                is_more = true;
                break;
            }
            shown += 1;
            let key = document::<T>(&key);
            if is_json {
                at.out.json(&json!({ "key": json::object(&key) }))?;
            } else {
                table.row(key.values().map(|part| left(cell(part))).collect());
            }
        }
    } else {
        let mut summaries = query.summaries().stream();
        while let Some(found) = summaries.next().await {
            let Some(of) = readable(found, &mut unreadable)? else {
                continue;
            };
            if shown == asked.limit {
                is_more = true;
                break;
            }
            shown += 1;
            let key = document::<T>(&of.key);
            if is_json {
                at.out.json(&json!({
                    "key": json::object(&key),
                    "buckets": of.buckets,
                    "records": of.records,
                    "first": json::value(&Bson::DateTime(of.first)),
                    "last": json::value(&Bson::DateTime(of.last)),
                }))?;
            } else {
                let mut row: Vec<_> = key.values().map(|part| left(cell(part))).collect();
                row.extend([
                    number(of.buckets),
                    number(of.records),
                    left(text::short_date(of.first)),
                    left(text::short_date(of.last)),
                ]);
                table.row(row);
            }
        }
    }
    if !is_json {
        at.out.table(&table)?;
    }
    if is_more {
        at.out.note(&format!(
            "there are more than {} keys: raise --limit, or give a --prefix",
            asked.limit
        ));
    }
    if unreadable > 0 {
        at.out.note(&format!(
            "{} cannot be read: see `verify`",
            text::counted(unreadable, "key")
        ));
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

/// Counts a key that cannot be read; the stream goes on after it.
fn readable<K>(
    found: Result<K, bucket_mongo::Error>,
    unreadable: &mut u64,
) -> Result<Option<K>, Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_damaged() => {
            *unreadable += 1;
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
