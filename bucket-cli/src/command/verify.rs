//! `verify`: what is wrong, finding by finding.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bucket_mongo::{Bucketed, CheckPosition, Finding, VerifyProgress};
use futures_util::TryStreamExt as _;
use indicatif::ProgressBar;
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    json,
    key::{self, MaybeKey},
    out::{Format, Out, Tone},
    progress,
    signal::Signal,
    span::{Span, duration},
    table::{Table, left},
    text::{counted, printable},
    words::of_program,
};

/// What is checked.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: MaybeKey,
    #[command(flatten)]
    span: Span,
    /// Wait this long after every 100 buckets, so that others get more of the server
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pause: Option<Duration>,
    /// Go on after this position of an earlier call, with the same key and span
    #[arg(long, value_name = "POSITION", allow_hyphen_values = true)]
    after: Option<CheckPosition>,
}

/// What was found so far.
#[derive(Debug, Default)]
struct Counts {
    harmful: u64,
    harmless: u64,
}

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let key = At::<T>::key(&asked.key.key)?;
    let range = asked.span.range()?;
    let bar = progress::spinner(at.out);
    let last = Mutex::new(VerifyProgress::default());
    let buckets = at.buckets.clone();
    let mut query = buckets
        .verify()
        .between(range)
        .pause(asked.pause.unwrap_or_default())
        .on_progress(|progress| {
            told(&bar, progress);
            *last.lock().unwrap_or_else(PoisonError::into_inner) = progress.clone();
        });
    if let Some(key) = key {
        query = query.key(key);
    }
    if let Some(position) = &asked.after {
        query = query.after(position.clone());
    }
    let mut counts = Counts::default();
    let mut findings = query.stream();
    let signal = loop {
        let next = tokio::select! {
            biased;
            signal = at.signals.first() => break Some(signal),
            next = findings.try_next() => next,
        };
        match next {
            Ok(Some(finding)) => {
                bar.suspend(|| counts.add(at.out, &finding))?;
            }
            Ok(None) => break None,
            Err(error) => {
                bar.finish_and_clear();
                let progress = last.lock().unwrap_or_else(PoisonError::into_inner).clone();
                go_on(&mut at, &asked, progress.position.as_ref());
                return Err(error.into());
            }
        }
    };
    drop(findings);
    bar.finish_and_clear();
    let progress = last.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (signal, indexes) = match signal {
        Some(signal) => (Some(signal), Ok(Some(Vec::new()))),
        None => match at.signals.unless(buckets.verify().indexes()).await {
            Ok(indexes) => (None, indexes),
            Err(signal) => (Some(signal), Ok(Some(Vec::new()))),
        },
    };
    let known = indexes.as_ref().ok().and_then(Option::as_deref);
    summary(at.out, &counts, &progress, known, signal)?;
    let indexes = indexes?;
    if indexes.is_none() {
        at.out
            .note("this user may not list indexes: they were not checked");
    }
    let indexes = indexes.unwrap_or_default();
    if let Some(signal) = signal {
        go_on(&mut at, &asked, progress.position.as_ref());
        return Ok(Outcome::Interrupted(signal));
    }
    if counts.harmful > 0 || !indexes.is_empty() {
        let line = at.line(&["repair".to_owned()]);
        at.out.note(&format!("`{line}` shows what can be mended"));
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

fn told(bar: &ProgressBar, progress: &VerifyProgress) {
    bar.set_message(format!(
        "{} in {}, {}",
        counted(progress.records, "record"),
        counted(progress.buckets, "bucket"),
        counted(progress.findings, "finding"),
    ));
}

impl Counts {
    /// Counts a finding, and shows it at once.
    fn add(&mut self, out: &mut Out, finding: &Finding) -> Result<(), Error> {
        let is_harmful = finding.is_harmful();
        if is_harmful {
            self.harmful += 1;
        } else {
            self.harmless += 1;
        }
        match out.format() {
            Format::Json => {
                let finding = json::report(finding);
                out.json(&json!({ "finding": finding, "harmful": is_harmful }))?;
            }
            Format::Text => {
                let line = printable(&of_program(&finding.to_string()));
                if is_harmful {
                    out.toned(Tone::Bad, &line)?;
                } else {
                    out.text(&line)?;
                }
            }
            Format::Csv => {
                let mut table = Table::new(["id", "kind", "harmful", "text"]);
                table.row(vec![
                    left(crate::shell::cell(&finding.id)),
                    left(finding.problem.kind().to_string()),
                    left(is_harmful.to_string()),
                    left(of_program(&finding.to_string())),
                ]);
                out.table(&table)?;
            }
        }
        out.flush()
    }
}

fn summary(
    out: &mut Out,
    counts: &Counts,
    progress: &VerifyProgress,
    indexes: Option<&[String]>,
    signal: Option<Signal>,
) -> Result<(), Error> {
    if out.format() == Format::Json {
        return out.json(&json!({ "summary": {
            "buckets": progress.buckets,
            "records": progress.records,
            "keys": progress.keys,
            "harmful": counts.harmful,
            "harmless": counts.harmless,
            "indexes": indexes,
            "complete": signal.is_none(),
            "position": progress.position,
        }}));
    }
    if out.format() == Format::Csv {
        return Ok(());
    }
    let indexes = indexes.unwrap_or_default();
    for index in indexes {
        out.toned(Tone::Bad, &of_program(index))?;
    }
    out.text(&format!(
        "{} in {} of {}",
        counted(progress.records, "record"),
        counted(progress.buckets, "bucket"),
        counted(progress.keys, "key"),
    ))?;
    match (
        signal,
        counts.harmful,
        counts.harmless + indexes.len() as u64,
    ) {
        (Some(signal), ..) => out.text(&format!("{signal}: the rest was not checked")),
        (None, 0, 0) => out.toned(Tone::Good, "nothing is wrong"),
        (None, 0, _) if counts.harmless == 0 => {
            out.text("the records are fine, but the indexes are not those of the model")
        }
        (None, harmful, _) => out.text(&format!(
            "{} {harmful} harmful, {} harmless",
            if harmful > 0 { "damaged:" } else { "found:" },
            counts.harmless
        )),
    }
}

/// Says how another call checks the rest.
fn go_on<T: Bucketed>(at: &mut At<'_, T>, asked: &Asked, position: Option<&CheckPosition>) {
    let Some(position) = position else {
        at.out
            .note("it had not yet checked 100 buckets: run the same command again");
        return;
    };
    let mut words = vec!["verify".to_owned()];
    words.extend(asked.span.options());
    words.extend(["--after".to_owned(), position.to_string()]);
    words.extend(key::words(&asked.key.key));
    let line = at.line(&words);
    at.out.note(&format!(
        "all that is wrong before this place was shown; go on with: {line}"
    ));
}
