//! `ensure`: creates what is missing, and changes what differs on request.

use bucket_mongo::Bucketed;
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    out::{Format, Tone},
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
    let report = ensure.await?;
    let drift: Vec<String> = report.drift.iter().map(ToString::to_string).collect();
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
        at.out.text(&report.to_string())?;
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
    at.out.note(
        "`ensure --replace indexes,validator,description --yes` replaces what differs, and `expire --yes` a limit",
    );
    Ok(Outcome::Found)
}
