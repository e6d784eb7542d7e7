//! `repair`: what `verify` finds is mended, or moves into the quarantine.

use std::time::Duration;

use bucket_mongo::{Bucketed, RepairReport, VerifyReport};
use serde_json::json;

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    json,
    key::MaybeKey,
    out::Format,
    progress,
    signal::Signal,
    span::{Span, duration},
    text::printable,
    words::of_program,
};

/// What is repaired.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: MaybeKey,
    #[command(flatten)]
    span: Span,
    /// The collection for buckets that cannot be mended; that of the model with `_quarantine` if not given
    #[arg(long, value_name = "NAME")]
    quarantine: Option<String>,
    /// At most this many findings in one call
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000)]
    keep: usize,
    /// Wait this long after every 100 buckets of the check
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pause: Option<Duration>,
    /// Do it: without this, the plan is shown and nothing changes
    #[arg(long)]
    yes: bool,
}

/// How many findings are repaired between two looks at the signals.
const PIECE: usize = 50;

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    if let Some(name) = asked.quarantine.as_deref().filter(|name| at.is_model(name)) {
        return Err(Error::Usage(format!(
            "`{name}` is the collection of a model: name one with --quarantine that has no buckets of its own"
        )));
    }
    let bar = progress::spinner(at.out);
    bar.set_message("checking");
    let mut check = at
        .buckets
        .verify()
        .between(asked.span.range()?)
        .pause(asked.pause.unwrap_or_default())
        .keep(asked.keep);
    if let Some(key) = At::<T>::key(&asked.key.key)? {
        check = check.key(key);
    }
    let found = tokio::select! {
        biased;
        signal = at.signals.first() => {
            bar.finish_and_clear();
            return Ok(given_up(at.out, signal));
        }
        found = check => found?,
    };
    let buckets = at.buckets.clone();
    let mut planning = buckets.repair(&found).dry_run();
    if let Some(name) = &asked.quarantine {
        planning = planning.quarantine(name);
    }
    let looked = at.signals.clone();
    let plan = match looked.unless(planning).await {
        Ok(plan) => plan?,
        Err(signal) => {
            bar.finish_and_clear();
            return Ok(given_up(at.out, signal));
        }
    };
    bar.finish_and_clear();
    let is_empty = plan.mended + plan.quarantined == 0 && plan.created_indexes.is_empty();
    if is_empty || !asked.yes {
        print(&mut at, &plan, None)?;
        if is_empty {
            let is_left = !found.is_clean() || !plan.indexes.is_empty();
            return Ok(if is_left {
                Outcome::Found
            } else {
                Outcome::Done
            });
        }
        at.out.note("nothing was changed: give --yes to do it");
        return Ok(Outcome::Planned);
    }
    if at.out.format() != Format::Json {
        let shown = print(&mut at, &plan, None).and_then(|()| at.out.flush());
        shown.map_err(Error::before_change)?;
    }
    let (done, ended) = pieces(&mut at, &found, &asked).await;
    let shown = print(&mut at, &plan, Some(&done)).and_then(|()| at.out.flush());
    let text = || {
        of_program(&done.to_string())
            .lines()
            .collect::<Vec<_>>()
            .join("; ")
    };
    let shown = shown.or_else(|error| error.after_change(text));
    let ended = ended?;
    shown?;
    if let Some(signal) = ended {
        at.out
            .note("the other findings are left: run the same command again");
        return Ok(Outcome::Interrupted(signal));
    }
    if done.not_kept > 0 {
        at.out
            .note("there are more findings: run the same command again");
    }
    let is_left = done.left + done.changed + done.not_kept > 0 || !done.indexes.is_empty();
    Ok(if is_left {
        Outcome::Found
    } else {
        Outcome::Done
    })
}

/// Repairs the findings, some at a time.
async fn pieces<T: Bucketed>(
    at: &mut At<'_, T>,
    found: &VerifyReport,
    asked: &Asked,
) -> (RepairReport, Result<Option<Signal>, Error>) {
    let mut done = RepairReport::default();
    let mut rest = found.findings.as_slice();
    loop {
        if let Some(signal) = at.signals.came() {
            return (done, Ok(Some(signal)));
        }
        let (piece, others) = rest.split_at(rest.len().min(PIECE));
        rest = others;
        let mut of_piece = VerifyReport::default();
        of_piece.findings = piece.to_vec();
        of_piece.indexes.clone_from(&found.indexes);
        let mut repair = at.buckets.repair(&of_piece);
        if let Some(name) = &asked.quarantine {
            repair = repair.quarantine(name);
        }
        match repair.await {
            Ok(piece) => add(&mut done, piece),
            Err(error) => return (done, Err(error.into())),
        }
        if rest.is_empty() {
            break;
        }
    }
    let kept = u64::try_from(found.findings.len()).unwrap_or(u64::MAX);
    done.not_kept = found.total().saturating_sub(kept);
    (done, Ok(None))
}

fn add(sum: &mut RepairReport, piece: RepairReport) {
    sum.mended += piece.mended;
    sum.quarantined += piece.quarantined;
    sum.left += piece.left;
    sum.changed += piece.changed;
    sum.fine += piece.fine;
    sum.buckets.extend(piece.buckets);
    sum.created_indexes.extend(piece.created_indexes);
    // Those of the last piece are what is left.
    sum.indexes = piece.indexes;
    sum.quarantine = piece.quarantine;
}

fn print<T: Bucketed>(
    at: &mut At<'_, T>,
    plan: &RepairReport,
    done: Option<&RepairReport>,
) -> Result<(), Error> {
    if at.out.format() == Format::Json {
        let (plan, done) = (json::report(plan), json::report(&done));
        return at.out.json(&json!({ "plan": plan, "done": done }));
    }
    let report = of_program(&done.unwrap_or(plan).to_string());
    let heading = if done.is_some() { "done:" } else { "plan:" };
    at.out.text(heading)?;
    for line in report.lines() {
        at.out.text(&format!("  {}", printable(line)))?;
    }
    Ok(())
}
