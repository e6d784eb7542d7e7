//! Work that shows its plan, and is done with `--yes` key by key.

use std::fmt::Write as _;

use bucket_mongo::{Bucketed, Buckets};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    at::At,
    error::Error,
    exit::Outcome,
    key::MaybeKey,
    out::Format,
    pieces, progress,
    span::Span,
    text::{bytes, counted, printable},
};

/// The options of such work.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    pub(crate) key: MaybeKey,
    #[command(flatten)]
    pub(crate) span: Span,
    /// Wait this long after every command, so that others get more of the server
    #[arg(long, value_name = "TIME", value_parser = crate::span::duration)]
    pub(crate) pause: Option<std::time::Duration>,
    /// Do it: without this, the plan is shown and nothing changes
    #[arg(long)]
    pub(crate) yes: bool,
}

/// What was done, or would be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) buckets: u64,
    pub(crate) records: u64,
    pub(crate) bytes_before: u64,
    pub(crate) bytes_after: u64,
    /// Buckets that stay as they are.
    pub(crate) stay: u64,
    /// Buckets that others changed meanwhile.
    pub(crate) changed: u64,
    pub(crate) damaged: u64,
    /// Buckets that say now since when they take no more records, so that a later merge takes them.
    pub(crate) dated: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.buckets += other.buckets;
        self.records += other.records;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
        self.stay += other.stay;
        self.changed += other.changed;
        self.damaged += other.damaged;
        self.dated += other.dated;
    }

    fn json(&self) -> Value {
        json!({
            "buckets": self.buckets,
            "records": self.records,
            "bytes_before": self.bytes_before,
            "bytes_after": self.bytes_after,
            "stay": self.stay,
            "changed": self.changed,
            "damaged": self.damaged,
            "dated": self.dated,
        })
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} with {}, from {} to {}",
            counted(self.buckets, "bucket"),
            counted(self.records, "record"),
            bytes(self.bytes_before),
            bytes(self.bytes_after),
        );
        for (count, what) in [
            (self.stay, "stay as they are"),
            (self.changed, "were changed by others meanwhile"),
            (self.damaged, "are damaged: see `verify`"),
            (
                self.dated,
                "get the date since when they take no more records, and are merged by a later call",
            ),
        ] {
            if count > 0 {
                // Writing to a string cannot fail.
                let _ = write!(text, "; {count} {what}");
            }
        }
        text
    }
}

/// Shows the plan; with `--yes` does the work of each key, and shows what was done.
pub(crate) async fn run<T: Bucketed>(
    at: &mut At<'_, T>,
    what: &str,
    options: &Options,
    plan: Sums,
    mut work: impl AsyncFnMut(&Buckets<T>, T::Key) -> Result<Sums, Error>,
) -> Result<Outcome, Error> {
    let is_json = at.out.format() == Format::Json;
    if !is_json {
        at.out.text(&format!("{what}, plan: {}", plan.text()))?;
        let shown = at.out.flush();
        if options.yes {
            shown.map_err(Error::before_change)?;
        }
    }
    let is_empty = plan.buckets + plan.dated == 0;
    if is_empty || !options.yes {
        if is_json {
            let nothing: Option<Value> = None;
            at.out
                .json(&json!({ "plan": plan.json(), "done": nothing }))?;
        }
        if is_empty && plan.damaged > 0 {
            return Ok(Outcome::Found);
        }
        if is_empty {
            return Ok(Outcome::Done);
        }
        at.out.note("nothing was changed: give --yes to do it");
        return Ok(Outcome::Planned);
    }
    let bar = progress::spinner(at.out);
    let mut done = Sums::default();
    let key = At::<T>::key(&options.key.key)?;
    let walked = pieces::of_keys(at, key, async |buckets, key| {
        let piece = work(buckets, key).await?;
        done.add(&piece);
        bar.set_message(printable(&done.text()));
        Ok(())
    })
    .await;
    bar.finish_and_clear();
    let shown = if is_json {
        at.out
            .json(&json!({ "plan": plan.json(), "done": done.json() }))
    } else {
        at.out.text(&format!("{what}, done: {}", done.text()))
    };
    let shown = shown.and_then(|()| at.out.flush());
    let text = || format!("{what}, done: {}", done.text());
    let shown = shown.or_else(|error| error.after_change(text));
    let walked = walked?;
    shown?;
    if walked.unreadable > 0 {
        at.out.note(&format!(
            "{} cannot be read and were left: see `verify`",
            counted(walked.unreadable, "key")
        ));
    }
    if let Some(signal) = walked.signal {
        at.out.note(&format!(
            "{} done: run the same command again, it does only what is left",
            counted(walked.keys, "key")
        ));
        return Ok(Outcome::Interrupted(signal));
    }
    let is_wrong = done.damaged + walked.unreadable > 0;
    Ok(if is_wrong {
        Outcome::Found
    } else {
        Outcome::Done
    })
}
