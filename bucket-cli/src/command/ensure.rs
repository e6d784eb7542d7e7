//! `ensure`: creates what is missing, and changes what differs on request.

use bucket_mongo::{Bucketed, bson::doc, error::Drift};
use serde_json::json;

use crate::{
    at::{At, given_up},
    error::Error,
    exit::Outcome,
    out::{Format, Tone},
    words::of_program,
};

/// What may be changed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// Also change what differs: `indexes` (dropped and made anew), `validator`, `description`
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    replace: Vec<Part>,
    /// Also let the server refuse documents that are no buckets of the model
    #[arg(long)]
    validator: bool,
    /// Do what --replace and --validator ask for
    #[arg(long)]
    pub(super) yes: bool,
}

/// A part of the setup that can be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Indexes,
    Validator,
    Description,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let mut ensure = at.buckets.ensure();
    if asked.validator && asked.yes {
        ensure = ensure.validator();
    }
    let replaces = asked.yes.then_some(asked.replace.as_slice());
    for part in replaces.unwrap_or_default() {
        ensure = match part {
            Part::Indexes => ensure.replace_indexes(),
            Part::Validator => ensure.replace_validator(),
            Part::Description => ensure.replace_description(),
        };
    }
    if asked.yes {
        // From here on it goes to its end: a signal counts until there is a server.
        let ping = at.buckets.database().run_command(doc! { "ping": 1 });
        match at.signals.unless(ping).await {
            Ok(reached) => drop(reached.map_err(Error::driver("looking for the server"))?),
            Err(signal) => return Ok(given_up(at.out, signal)),
        }
    }
    let report = ensure.await?;
    let drift: Vec<String> = report
        .drift
        .iter()
        .map(|drift| of_program(&drift.to_string()))
        .collect();
    if at.out.format() == Format::Json {
        at.out.json(&json!({
            "collection": T::SPEC.collection(),
            "created_collection": report.created_collection,
            "created_indexes": report.created_indexes,
            "found_indexes": report.found_indexes,
            "dropped_indexes": report.dropped_indexes,
            "changed_indexes": report.changed_indexes,
            "size_warning": report.size_warning.map(|warning| warning.to_string()),
            "drift": drift,
        }))?;
    } else {
        let tone = if drift.is_empty() {
            Tone::Good
        } else {
            Tone::Bad
        };
        at.out.toned(tone, T::SPEC.collection())?;
        at.out.text(&of_program(&report.to_string()))?;
    }
    if asked.validator && !asked.yes {
        at.out
            .note("the collection has no new validator: give --yes to set it");
        return Ok(Outcome::Planned);
    }
    if drift.is_empty() {
        return Ok(Outcome::Done);
    }
    if !asked.replace.is_empty() && !asked.yes {
        at.out
            .note("nothing was replaced: give --yes to do it. Stop writers first");
        return Ok(Outcome::Planned);
    }
    if let Some(remedy) = remedy(&report.drift) {
        at.out.note(&remedy);
    }
    Ok(Outcome::Found)
}

/// Which commands change what differs; `None` if none of it can be changed so.
fn remedy(drift: &[Drift]) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let mut is_limit = false;
    for drift in drift {
        let part = match drift {
            Drift::Index { .. } | Drift::Capacity { .. } => "indexes",
            Drift::Validator { .. } => "validator",
            Drift::Described { .. }
            | Drift::Unreadable { .. }
            | Drift::Field { .. }
            | Drift::Aggregate { .. } => "description",
            Drift::Expiry { .. } => {
                is_limit = true;
                continue;
            }
            // Nothing of this program changes the rest.
            _ => continue,
        };
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let replacing = (!parts.is_empty()).then(|| {
        format!(
            "`ensure --replace {} --yes` replaces what differs",
            parts.join(",")
        )
    });
    let expiring =
        is_limit.then(|| "`expire` shows what the other limit removes, and sets it".to_owned());
    let remedies: Vec<String> = replacing.into_iter().chain(expiring).collect();
    (!remedies.is_empty()).then(|| remedies.join("; "))
}
