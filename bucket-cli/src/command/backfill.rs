//! `backfill`: the documents of a flat collection become records in buckets.

use std::num::NonZeroU32;

use bucket_mongo::{
    BackfillReport, Bucketed,
    action::{BackfillFrom, BackfillPlan},
    bson::Document,
    mongodb::Collection,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    flat::{Flat, rejects, rejects_table, show_rejects},
    out::Format,
    progress,
    text::printable,
};

/// What is stored.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    flat: Flat,
    /// Read by this index of the flat collection, on the key fields and then the time
    #[arg(long, value_name = "NAME", conflicts_with = "by_id")]
    index: Option<String>,
    /// Read by `_id`, whatever indexes there are
    #[arg(long)]
    by_id: bool,
    /// Store at most this number of documents in a second
    #[arg(long, value_name = "NUMBER")]
    throttle: Option<NonZeroU32>,
    /// The name of the job, if two sources in two clusters have the same name
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// Do it: without this, the plan is shown and nothing changes
    #[arg(long)]
    yes: bool,
}

pub(super) async fn run<T: Bucketed + DeserializeOwned>(
    at: At<'_, T>,
    asked: Asked,
) -> Result<Outcome, Error> {
    let source = asked.flat.open(&at).await?;
    let buckets = at.buckets.clone();
    let plan = asked.applied(buckets.backfill_from(&source)).plan();
    let plan = match at.signals.unless(plan).await {
        Ok(plan) => plan?,
        Err(signal) => return Ok(given_up(at.out, signal)),
    };
    let format = at.out.format();
    if format == Format::Text {
        at.out.text(&format!("backfill, plan: {}", text(&plan)))?;
        show_rejects(at.out, &plan.rejects)?;
        let shown = at.out.flush();
        if asked.yes {
            shown.map_err(Error::before_change)?;
        }
    }
    // A job that is done only gives its report, which says whether there were rejects.
    if !asked.yes && !plan.is_done {
        match format {
            Format::Json => {
                let nothing: Option<Value> = None;
                at.out
                    .json(&json!({ "plan": plan_json(&plan), "done": nothing }))?;
            }
            Format::Csv => at.out.table(&rejects_table(&plan.rejects))?,
            Format::Text => {}
        }
        at.out.note("nothing was changed: give --yes to do it");
        return Ok(Outcome::Planned);
    }
    store(at, &asked, &source, &plan).await
}

/// Stores what is left, and says what was done.
async fn store<T: Bucketed + DeserializeOwned>(
    at: At<'_, T>,
    asked: &Asked,
    source: &Collection<Document>,
    plan: &BackfillPlan,
) -> Result<Outcome, Error> {
    let bar = progress::spinner(at.out);
    let buckets = at.buckets.clone();
    let storing = asked.applied(buckets.backfill_from(source));
    let storing = storing.on_progress(|done| bar.set_message(printable(&done.to_string())));
    let done = at.signals.unless(storing).await;
    bar.finish_and_clear();
    let report = match done {
        Ok(report) => report?,
        Err(signal) => {
            at.out
                .note("run the same command again: it goes on where it was");
            return Ok(Outcome::Interrupted(signal));
        }
    };
    let shown = match at.out.format() {
        Format::Json => at
            .out
            .json(&json!({ "plan": plan_json(plan), "done": done_json(&report) })),
        Format::Csv => at.out.table(&rejects_table(&report.rejects)),
        Format::Text => at
            .out
            .text(&format!("backfill, done: {report}"))
            .and_then(|()| show_rejects(at.out, &report.rejects)),
    };
    let shown = shown.and_then(|()| at.out.flush());
    shown.or_else(|error| error.after_change(|| report.to_string()))?;
    if plan.is_done {
        at.out.note(
            "this backfill was done before; to begin it anew, empty the buckets and remove its document from `bucket_backfills`",
        );
    }
    if report.is_whole() {
        return Ok(Outcome::Done);
    }
    at.out.note(&format!(
        "all rejects are in the collection `{}_rejects`",
        T::SPEC.collection()
    ));
    Ok(Outcome::Found)
}

impl Asked {
    fn applied<'a, T: Bucketed>(&self, mut backfill: BackfillFrom<'a, T>) -> BackfillFrom<'a, T> {
        backfill = backfill.ignore_fields(&self.flat.ignored);
        if let Some(index) = &self.index {
            backfill = backfill.by_index(index);
        }
        if self.by_id {
            backfill = backfill.by_id();
        }
        if let Some(throttle) = self.throttle {
            backfill = backfill.throttle(throttle);
        }
        if let Some(job) = &self.job {
            backfill = backfill.named(job);
        }
        backfill
    }
}

fn text(plan: &BackfillPlan) -> String {
    if plan.is_done {
        return format!("all {} documents are read already", plan.read);
    }
    plan.to_string()
}

fn plan_json(plan: &BackfillPlan) -> Value {
    json!({
        "index": plan.index,
        "expected": plan.expected,
        "read": plan.read,
        "is_done": plan.is_done,
        "sample": plan.sample,
        "rejects": rejects(&plan.rejects),
    })
}

fn done_json(report: &BackfillReport) -> Value {
    json!({
        "read": report.read,
        "stored": report.stored,
        "duplicates": report.duplicates,
        "rejected": report.rejected,
        "rejects": rejects(&report.rejects),
    })
}
