//! `expire`: what retention removes, and the consent.

use std::time::Duration;

use bucket_mongo::{Bucketed, action::ExpiryReport, bson::Document};
use futures_util::TryStreamExt as _;
use serde_json::Value;

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    json,
    out::{Format, Out},
    span,
    table::{Table, left, number},
    text,
    words::of_program,
};

/// Whether to consent.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// Let the server follow the model's limit, which removes what is past it for good; in models that keep statistics,
    /// remove the expired records, too
    #[arg(long)]
    yes: bool,
}

/// The index by which the server removes buckets.
const INDEX: &str = "bucket_expire";

pub(super) async fn run<T: Bucketed>(mut at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let looked = at.signals.clone();
    let plan = match looked.unless(Plan::of(&at)).await {
        Ok(plan) => plan?,
        Err(signal) => return Ok(given_up(at.out, signal)),
    };
    let is_json = at.out.format() == Format::Json;
    if !is_json {
        let shown = plan.print(at.out).and_then(|()| at.out.flush());
        if asked.yes && !plan.is_empty() {
            shown.map_err(Error::before_change)?;
        }
    }
    if plan.is_empty() || !asked.yes {
        if is_json {
            at.out.json(&plan.json::<T>(false))?;
        }
        if plan.is_empty() {
            return Ok(Outcome::Done);
        }
        at.out.note(plan.advice());
        return Ok(Outcome::Planned);
    }
    let mut outcome = Outcome::Done;
    if plan.differs || plan.undated() > 0 {
        let report = at.buckets.ensure().change_expiry().await?;
        for line in of_program(&report.to_string()).lines() {
            at.out.note(line);
        }
        let drift = report.drift.iter();
        if drift.map(ToString::to_string).any(|of| of.contains(INDEX)) {
            at.out
                .note("the index on the limit is another one: `ensure --replace indexes --yes` replaces it");
            outcome = Outcome::Found;
        }
    }
    let outcome = outcome.and(remove_expired(&mut at).await?);
    if is_json {
        let line = plan.json::<T>(outcome == Outcome::Done);
        let shown = at.out.json(&line).and_then(|()| at.out.flush());
        shown.or_else(|error| error.after_change(|| line.to_string()))?;
    }
    Ok(outcome)
}

/// What would be done.
#[derive(Debug)]
struct Plan {
    /// The limit of the model in seconds.
    wanted: Option<u32>,
    /// That of its statistics, if it keeps them for longer than records.
    kept: Option<u32>,
    /// That of the server's index.
    followed: Option<u64>,
    differs: bool,
    expiry: Option<ExpiryReport>,
    /// How many records have expired whose statistics are kept.
    records: u64,
}

impl Plan {
    async fn of<T: Bucketed>(at: &At<'_, T>) -> Result<Self, Error> {
        let wanted = T::SPEC.expire_after();
        let followed = followed(at).await?;
        let differences = at.buckets.verify().indexes().await?.unwrap_or_default();
        let is_of_limit = differences.iter().any(|line| line.contains(INDEX));
        Ok(Self {
            wanted,
            kept: T::SPEC.keep_stats(),
            followed,
            differs: is_of_limit || wanted.is_none() != followed.is_none(),
            expiry: at.buckets.fill().await?.expiry,
            records: expired_records(at).await?,
        })
    }

    /// Buckets from before the model had a limit.
    fn undated(&self) -> u64 {
        self.expiry
            .as_ref()
            .map_or(0, |expiry| expiry.undated.buckets)
    }

    fn advice(&self) -> &'static str {
        if self.wanted.is_none() {
            "nothing was changed: give --yes to let the server remove nothing from now on"
        } else if !self.differs && self.undated() == 0 {
            "nothing was changed: give --yes to remove the expired records for good; their statistics stay"
        } else {
            "nothing was changed: give --yes to let the server remove what is past the limit, for good"
        }
    }

    fn is_empty(&self) -> bool {
        !self.differs && self.undated() == 0 && self.records == 0
    }

    fn json<T: Bucketed>(&self, done: bool) -> Value {
        serde_json::json!({
            "collection": T::SPEC.collection(),
            "model_expire_after_seconds": self.wanted,
            "model_keep_stats_seconds": self.kept,
            "server_expire_after_seconds": self.followed,
            "differs": self.differs,
            "expiry": json::report(&self.expiry),
            "expired_records": self.records,
            "done": done,
        })
    }

    fn print(&self, out: &mut Out) -> Result<(), Error> {
        let limit = |seconds: Option<u64>| {
            seconds.map_or("none".to_owned(), |seconds| {
                span::shown(Duration::from_secs(seconds))
            })
        };
        if out.format() == Format::Text {
            let of_records = limit(self.wanted.map(Into::into));
            let of_model = self.kept.map_or(of_records.clone(), |kept| {
                let of_stats = limit(Some(kept.into()));
                format!("{of_stats} for statistics, {of_records} for records")
            });
            out.text(&format!(
                "limit of the model: {of_model}; limit that the server follows: {}",
                limit(self.followed)
            ))?;
            if self.records > 0 {
                out.text(&format!(
                    "{} have expired, and only their statistics are shown",
                    text::counted(self.records, "record")
                ))?;
            }
        }
        if let Some(expiry) = &self.expiry {
            out.table(&table(expiry))?;
        }
        Ok(())
    }
}

/// The limit of the server's index in seconds, if there is one.
async fn followed<T: Bucketed>(at: &At<'_, T>) -> Result<Option<u64>, Error> {
    let doing = "listing indexes";
    let collection = at.buckets.collection::<Document>();
    let mut indexes = match collection.list_indexes().await {
        Ok(indexes) => indexes,
        // There is no collection.
        Err(error) if matches!(&*error.kind, bucket_mongo::mongodb::error::ErrorKind::Command(failed) if failed.code == 26) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(Error::driver(doing)(error)),
    };
    while let Some(index) = indexes.try_next().await.map_err(Error::driver(doing))? {
        let options = index.options.unwrap_or_default();
        if options.name.as_deref() == Some(INDEX) {
            return Ok(options.expire_after.map(|limit| limit.as_secs()));
        }
    }
    Ok(None)
}

/// How many records have expired whose statistics are kept.
#[cfg(feature = "seal")]
async fn expired_records<T: Bucketed>(at: &At<'_, T>) -> Result<u64, Error> {
    if T::SPEC.keep_stats().is_none() {
        return Ok(0);
    }
    Ok(at.buckets.expire_records().dry_run().await?.records)
}

#[cfg(not(feature = "seal"))]
async fn expired_records<T: Bucketed>(_: &At<'_, T>) -> Result<u64, Error> {
    std::future::ready(Ok(0)).await
}

#[cfg(feature = "seal")]
async fn remove_expired<T: Bucketed>(at: &mut At<'_, T>) -> Result<Outcome, Error> {
    if T::SPEC.keep_stats().is_none() {
        return Ok(Outcome::Done);
    }
    let mut removed = 0;
    let walked = crate::pieces::of_keys(at, None, async |buckets, key| {
        removed += buckets.expire_records().key(key).await?.records;
        Ok(())
    });
    let walked = walked.await;
    at.out
        .note(&format!("removed {}", text::counted(removed, "record")));
    let walked = walked?;
    if walked.unreadable > 0 {
        at.out.note(&format!(
            "{} cannot be read and were left: see `verify`",
            text::counted(walked.unreadable, "key")
        ));
    }
    match walked.signal {
        Some(signal) => {
            at.out
                .note("run the same command again: it removes only what is left");
            Ok(Outcome::Interrupted(signal))
        }
        None if walked.unreadable > 0 => Ok(Outcome::Found),
        None => Ok(Outcome::Done),
    }
}

#[cfg(not(feature = "seal"))]
async fn remove_expired<T: Bucketed>(_: &mut At<'_, T>) -> Result<Outcome, Error> {
    std::future::ready(Ok(Outcome::Done)).await
}

/// The schedule of removals.
fn table(expiry: &ExpiryReport) -> Table {
    let mut table = Table::new(["what", "buckets", "records", "bytes"]);
    let mut row = |what: String, of: &bucket_mongo::action::Amount| {
        table.row(vec![
            left(what),
            number(of.buckets),
            number(of.records),
            number(of.bytes),
        ]);
    };
    row("past the limit".to_owned(), &expiry.overdue);
    for step in expiry.steps.iter().filter(|step| step.removed.buckets > 0) {
        let until = text::short_date(step.until);
        row(format!("until {until}"), &step.removed);
    }
    for (what, of) in [
        ("later", &expiry.later),
        ("open, not past the limit", &expiry.open),
        ("open, and past the limit", &expiry.hidden),
        ("without a date", &expiry.undated),
    ] {
        if of.buckets > 0 {
            row(what.to_owned(), of);
        }
    }
    table
}
