//! `records`: records of a key, and where to go on.

use bucket_mongo::Bucketed;
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    key::{self, KeyWords},
    out::Format,
    rows::Rows,
    span::Span,
};

/// Which records.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: KeyWords,
    #[command(flatten)]
    span: Span,
    /// At most this many records
    #[arg(long, value_name = "NUMBER", default_value_t = 25, value_parser = limit)]
    limit: usize,
    /// The newest record first
    #[arg(long)]
    newest: bool,
    /// Go on after this token of an earlier call, with the same key, span and order
    #[arg(long, value_name = "TOKEN")]
    after: Option<String>,
}

/// All of them are in memory at once.
fn limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(limit @ 1..=10_000) => Ok(limit),
        _ => Err("it is a number from 1 to 10000".to_owned()),
    }
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let key = key::parse::<T>(&asked.key.key)?;
    let mut query = at
        .buckets
        .records(key)
        .between(asked.span.range()?)
        .limit(asked.limit);
    if asked.newest {
        query = query.newest_first();
    }
    if let Some(token) = asked.after.clone() {
        query = query.after(token);
    }
    let page = query.await?;
    let next = page.next_token().map(ToString::to_string);
    let rows = Rows::of(&page.into_records())?;
    if at.out.format() == Format::Json {
        for record in rows.json() {
            at.out.json(&json!({ "record": record }))?;
        }
        at.out.json(&json!({ "next": next }))?;
        return Ok(Outcome::Done);
    }
    if rows.is_empty() {
        at.out
            .note("the key has no records here: `keys` lists the keys");
        return Ok(Outcome::Done);
    }
    at.out.table(&rows.table())?;
    if let Some(next) = next {
        let line = go_on(&at, &asked, next);
        at.out.note(&format!("there are more; go on with: {line}"));
    }
    Ok(Outcome::Done)
}

/// The command for the records after this token, with times in the place of ages.
fn go_on<T: Bucketed>(at: &At<'_, T>, asked: &Asked, token: String) -> String {
    let mut words = vec!["records".to_owned()];
    words.extend(asked.span.options());
    words.extend(["--limit".to_owned(), asked.limit.to_string()]);
    if asked.newest {
        words.push("--newest".to_owned());
    }
    words.extend(["--after".to_owned(), token]);
    words.extend(key::words(&asked.key.key));
    at.line(&words)
}
