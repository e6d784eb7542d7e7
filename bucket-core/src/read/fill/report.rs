//! What `fill` reports.

use std::fmt;

use serde::Serialize;

use super::{amount::Amount, classes::SizeClass, schedule::ExpiryReport};
use crate::{
    text::{Shortened, bytes::ShownBytes},
    time::shown::ShownTime,
};

/// How full the buckets of a collection, or of a key, are.
///
/// All that is stored counts, also what is past `expire_after` and no longer shown by reads. Sizes are those of the
/// documents as BSON, without compression. It prints as a short text with tables, and serialises with serde.
///
/// ```
/// # use bucket_core::FillReport;
/// fn is_wasteful(report: &FillReport) -> bool {
///     report.capacity.as_ref().is_some_and(|of| of.mean() < 0.1)
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FillReport {
    /// The number of buckets that have items.
    pub buckets: u64,
    /// The number of their records, without removed ones.
    pub records: u64,
    /// The number of removed records whose places are still taken.
    pub removed: u64,
    /// The size of these buckets.
    pub bytes: u64,
    /// The buckets that take further records. In models with windows: those whose window is not over.
    pub open: Amount,
    /// The buckets with room whose window is over: they take late records. None in other models.
    pub over: Amount,
    /// The buckets that take no more records: they are full, or marked as full or closed.
    pub full: Amount,
    /// The empty buckets that writers have reserved, or left when they ended. They count nowhere else.
    pub empty: u64,
    /// The documents that are no bucket of the model as far as this read can see. They count nowhere else;
    /// [`verify`](https://docs.rs/bucket-mongo) says what is wrong with each.
    pub damaged: u64,
    /// The size of these documents.
    pub damaged_bytes: u64,
    /// The `_id` of one of them.
    pub damaged_example: Option<String>,
    /// How much of their capacity the buckets use; `None` if the model has no capacity, or if there are no buckets.
    pub capacity: Option<CapacityUse>,
    /// The number of buckets by their records, without removed ones.
    pub by_records: Vec<SizeClass>,
    /// The number of buckets by their size in bytes.
    pub by_bytes: Vec<SizeClass>,
    /// What the server removes and when; `None` for models without `expire_after`.
    pub expiry: Option<ExpiryReport>,
}

/// How much of their capacity buckets use. The place of a removed record is used.
///
/// ```
/// # use bucket_core::read::CapacityUse;
/// fn percent(of: &CapacityUse) -> String {
///     format!("{:.0} % of {} places", of.mean() * 100.0, of.places)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CapacityUse {
    /// The number of records that the buckets could hold.
    pub places: u64,
    /// The number of these places that are used.
    pub used: u64,
    /// The part of its capacity that the emptiest bucket uses: above 0.
    pub least: f64,
    /// The part that the fullest bucket uses: above 1 if the capacity was greater once.
    pub most: f64,
    /// The number of buckets by the part that they use, in percent.
    pub by_percent: Vec<SizeClass>,
}

impl CapacityUse {
    /// The part of all places that is used.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a mean is rounded")]
    pub fn mean(&self) -> f64 {
        self.used as f64 / self.places.max(1) as f64
    }
}

impl FillReport {
    /// The mean number of records in a bucket; `None` if there are no buckets.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a mean is rounded")]
    pub fn mean_records(&self) -> Option<f64> {
        (self.buckets > 0).then(|| self.records as f64 / self.buckets as f64)
    }

    /// The mean size of a bucket in bytes, rounded down; `None` if there are no buckets.
    #[must_use]
    pub fn mean_bytes(&self) -> Option<u64> {
        self.bytes.checked_div(self.buckets)
    }
}

impl fmt::Display for FillReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            buckets,
            records,
            removed,
            bytes,
            ..
        } = self;
        write!(
            f,
            "{records} records in {buckets} buckets, {}",
            ShownBytes(*bytes)
        )?;
        if let (Some(records), Some(bytes)) = (self.mean_records(), self.mean_bytes()) {
            write!(
                f,
                "; {records:.1} records and {} a bucket",
                ShownBytes(bytes)
            )?;
        }
        if *removed > 0 {
            write!(f, "\n{removed} places of removed records")?;
        }
        for (name, amount) in [
            ("open", &self.open),
            ("over", &self.over),
            ("full", &self.full),
        ] {
            if amount.buckets > 0 {
                write!(f, "\n{name}: {amount}")?;
            }
        }
        if self.empty > 0 {
            write!(f, "\nempty: {} buckets", self.empty)?;
        }
        if self.damaged > 0 {
            let size = ShownBytes(self.damaged_bytes);
            write!(
                f,
                "\ndamaged and not counted: {} buckets, {size}",
                self.damaged
            )?;
        }
        if let Some(example) = &self.damaged_example {
            write!(f, ", such as {}", Shortened(example))?;
        }
        if let Some(capacity) = &self.capacity {
            write!(f, "\n{capacity}")?;
        }
        histogram(f, "records", &self.by_records)?;
        histogram(f, "bytes", &self.by_bytes)?;
        match &self.expiry {
            Some(expiry) => write!(f, "\n{expiry}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CapacityUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mean, least, most] = [self.mean(), self.least, self.most].map(|part| part * 100.0);
        write!(
            f,
            "{mean:.1} % of the capacity is used, {least:.1} to {most:.1} % of a bucket's"
        )?;
        histogram(f, "percent", &self.by_percent)
    }
}

/// The length of the longest bar.
const WIDTH: u64 = 40;

fn histogram(f: &mut fmt::Formatter<'_>, of: &str, classes: &[SizeClass]) -> fmt::Result {
    let Some(most) = classes.iter().map(|class| class.buckets).max() else {
        return Ok(());
    };
    write!(f, "\n{of:>21}  buckets")?;
    for class in classes {
        let range = match class.to {
            Some(to) if to == class.from => to.to_string(),
            Some(to) => format!("{} to {to}", class.from),
            None => format!("{} and more", class.from),
        };
        write!(f, "\n{range:>21}  {:>7}", class.buckets)?;
        // At least one character for a class that has buckets.
        let bar = u128::from(class.buckets) * u128::from(WIDTH);
        let bar = bar.div_ceil(u128::from(most.max(1)));
        if let Some(bar) = usize::try_from(bar).ok().filter(|bar| *bar > 0) {
            write!(f, "  {}", "#".repeat(bar))?;
        }
    }
    Ok(())
}

impl fmt::Display for ExpiryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "past the limit of {} s: {}",
            self.expire_after, self.overdue
        )?;
        for step in &self.steps {
            write!(f, "\nuntil {}: {}", ShownTime(step.until), step.removed)?;
        }
        for (name, amount) in [
            ("later", &self.later),
            ("once they are full or closed", &self.open),
            ("the same, and past the limit", &self.hidden),
            ("never, because they have no date", &self.undated),
        ] {
            if amount.buckets > 0 {
                write!(f, "\n{name}: {amount}")?;
            }
        }
        Ok(())
    }
}
