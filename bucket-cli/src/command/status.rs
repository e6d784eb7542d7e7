//! `status`: what a collection holds, and how it differs from its model.

use std::time::Duration;

use bucket_mongo::{Bucketed, Sizes, describe};
use serde_json::json;

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    form, json,
    out::{Format, Tone},
    span, text,
    words::of_program,
};

/// How thoroughly it looks.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// Also how full buckets are, how many are open, and what retention removes, and when: reads every bucket once
    #[arg(long)]
    fill: bool,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let spec = T::SPEC;
    let sizes = at.buckets.sizes().await?;
    let differences = at.buckets.verify().indexes().await?;
    let differences = differences.as_deref().map(in_words);
    let described = describe(at.buckets.database(), spec.collection()).await?;
    let described = described.map(|described| described.version);
    let fill = if asked.fill {
        Some(at.buckets.fill().await?)
    } else {
        None
    };
    let names = at.buckets.database().list_collection_names();
    let names = names.await.map_err(Error::driver("listing collections"))?;
    let exists = names.iter().any(|name| name == spec.collection());
    let is_fine = exists && differences.as_ref().is_none_or(Vec::is_empty);
    if at.out.format() == Format::Json {
        at.out.json(&json!({
            "model": spec.record(),
            "collection": spec.collection(),
            "exists": exists,
            "form": form::shown(spec),
            "expire_after_seconds": spec.expire_after(),
            "description_version": described,
            "index_differences": differences,
            "sizes": json::report(&sizes),
            "fill": json::report(&fill),
        }))?;
    } else {
        at.out
            .text(&format!("{} ({})", spec.collection(), spec.record()))?;
        at.out.text(&lines::<T>(described, &sizes))?;
        if let Some(fill) = &fill {
            at.out.text(&indented(&fill.to_string()))?;
        }
        for line in differences.iter().flatten() {
            at.out.toned(Tone::Bad, &format!("  {line}"))?;
        }
        match (exists, &differences) {
            (false, _) => at
                .out
                .toned(Tone::Bad, "  the collection does not exist: run `ensure`")?,
            (true, None) => at.out.text("  this user may not list indexes")?,
            (true, Some(list)) if list.is_empty() => {
                at.out
                    .toned(Tone::Good, "  the indexes are those of the model")?;
            }
            (true, Some(_)) => {}
        }
    }
    Ok(if is_fine {
        Outcome::Done
    } else {
        Outcome::Found
    })
}

/// The lines that are there for every collection.
fn lines<T: Bucketed>(described: Option<i32>, sizes: &Sizes) -> String {
    let spec = T::SPEC;
    let limit = |what: &str, seconds: Option<u32>| {
        seconds.map(|seconds| {
            let limit = Duration::from_secs(seconds.into());
            format!("{what} {}", span::shown(limit))
        })
    };
    let described = described.map_or_else(
        || "not described in `bucket_models`".to_owned(),
        |version| format!("described in `bucket_models`, format {version}"),
    );
    let size = format!(
        "{}, {} of data, {} on disk, {} of indexes",
        text::counted(sizes.documents, "document"),
        text::bytes(sizes.data),
        text::bytes(sizes.storage),
        text::bytes(sizes.index_total()),
    );
    let lines = [
        Some(format!("form: {}", form::shown(spec))),
        limit("records are kept for", spec.expire_after()),
        limit("statistics are kept for", spec.keep_stats()),
        limit("buckets are sealed after", spec.seal_after()),
        Some(described),
        Some(size),
    ];
    let lines: Vec<String> = lines.into_iter().flatten().collect();
    indented(&lines.join("\n"))
}

fn in_words(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| of_program(line)).collect()
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n") + "\n"
}
