//! `watch`: what is stored, edited and removed, as it happens.

use bucket_mongo::{
    Bucketed, RecordChange, WatchEvent, WatchToken,
    bson::{Bson, DateTime, Document},
};
use futures_util::TryStreamExt as _;
use serde_json::{Value, json};

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    json,
    key::{MaybeKey, document, words as words_of},
    out::{Format, Out},
    rows, shell,
    span::time,
    text,
};

/// What is followed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: MaybeKey,
    /// Go on after this token of an earlier call
    #[arg(long, value_name = "TOKEN", conflicts_with = "since")]
    after: Option<WatchToken>,
    /// Begin with the changes since this time, as far back as the server remembers
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<DateTime>,
    /// End after this many events
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u64>,
}

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let mut query = match At::<T>::key(&asked.key.key)? {
        Some(key) => at.buckets.watch_key(key),
        None => at.buckets.watch(),
    };
    if let Some(token) = asked.after.clone() {
        query = query.after(token);
    }
    if let Some(since) = asked.since {
        query = query.since(since);
    }
    let mut events = match at.signals.unless(query).await {
        Ok(events) => events?,
        Err(signal) => return Ok(Outcome::Interrupted(signal)),
    };
    at.out.note("watching: Ctrl-C ends");
    let mut shown = 0;
    let outcome = loop {
        if asked.limit.is_some_and(|limit| shown >= limit) {
            break Ok(Outcome::Done);
        }
        let next = tokio::select! {
            biased;
            signal = at.signals.first() => break Ok(Outcome::Interrupted(signal)),
            next = events.try_next() => next,
        };
        match next {
            Ok(Some(event)) => print(at.out, &event)?,
            Ok(None) => break Ok(Outcome::Done),
            Err(error) => break Err(error.into()),
        }
        shown += 1;
    };
    if let Some(token) = events.token() {
        let mut words = vec!["watch".to_owned()];
        words.extend(["--after".to_owned(), token.to_string()]);
        words.extend(words_of(&asked.key.key));
        let line = at.line(&words);
        at.out.note(&format!("go on with: {line}"));
    }
    outcome
}

fn print<T: Bucketed>(out: &mut Out, event: &WatchEvent<T>) -> Result<(), Error> {
    let (what, record, key) = match &event.change {
        RecordChange::Stored { record, .. } => ("stored", Some(rows::document(record)?), None),
        RecordChange::Updated { record, .. } => ("updated", Some(rows::document(record)?), None),
        RecordChange::Removed { key, .. } => ("removed", None, Some(document::<T>(key))),
        RecordChange::BucketRemoved { key, .. } => {
            ("bucket_removed", None, key.as_ref().map(document::<T>))
        }
        _ => {
            let key = event.change.key();
            ("rewritten", None, key.as_ref().map(document::<T>))
        }
    };
    let time = match &event.change {
        RecordChange::Removed { time, .. } => Some(*time),
        _ => None,
    };
    if out.format() == Format::Json {
        let token = event.token().map(|token| token.to_string());
        let object = |document: &Option<Document>| document.as_ref().map(json::object);
        out.json(&json!({
            "change": what,
            "at": json::value(&Bson::DateTime(event.at)),
            "bucket": event.bucket.to_string(),
            "record": object(&record),
            "key": object(&key),
            "time": time.map_or(Value::Null, |time| json::value(&Bson::DateTime(time))),
            "token": token,
        }))?;
    } else {
        let shown = record
            .or(key)
            .map_or_else(String::new, |shown| shell::line(&Bson::Document(shown)));
        out.text(&format!(
            "{} {what} in {}: {shown}",
            text::short_date(event.at),
            text::printable(&event.bucket.to_string()),
        ))?;
    }
    out.flush()
}
