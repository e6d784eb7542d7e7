//! When the server removes buckets, by the model's limit.

use bson::{DateTime, Document, RawBsonRef, doc};
use serde::Serialize;

use super::amount::Amount;
use crate::model::{spec::BucketSpec, whole};

/// At most this many steps.
const MOST: i64 = 60;
/// The lengths of steps, in seconds: a minute to 365 days.
const LENGTHS: [i64; 9] = [
    60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000,
];

/// In the place of the number of a step: past the limit.
const OVERDUE: i64 = -1;
/// Takes records, so it is not removed yet.
const OPEN: &str = "open";
/// The same, but all its records are past the limit.
const HIDDEN: &str = "hidden";
/// Has no date from which its age counts.
const UNDATED: &str = "undated";

/// What the server removes by the model's limit (`expire_after`), and when.
///
/// ```
/// # use bucket_core::read::ExpiryReport;
/// fn print(expiry: &ExpiryReport) {
///     println!("now: {}", expiry.overdue);
///     for step in &expiry.steps {
///         println!("until {}: {}", step.until, step.removed);
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpiryReport {
    /// The model's limit in seconds: that of its statistics, if it keeps them for longer than its records.
    pub expire_after: u32,
    /// The moment of the read, by the clock of the client.
    pub at: DateTime,
    /// What is past the limit: the server removes it within a minute or two, if it has the model's expiry index.
    pub overdue: Amount,
    /// The length of a step in seconds.
    pub step: u32,
    /// What passes the limit in each step, from now to the last step with buckets; at most 60 steps.
    pub steps: Vec<ExpiryStep>,
    /// What passes it after these steps.
    pub later: Amount,
    /// What still takes records. It is removed once it is full or closed, and past the limit.
    pub open: Amount,
    /// What could still take records and is past the limit, so that no read shows it. The server does not remove
    /// it until it is full or closed.
    pub hidden: Amount,
    /// Buckets without the date from which their age counts: they are from before the model had a limit. The
    /// server does not remove them; `ensure().change_expiry()` dates them.
    pub undated: Amount,
}

/// What passes the limit in a span of time.
///
/// ```
/// # use bucket_core::read::ExpiryStep;
/// fn is_empty(step: &ExpiryStep) -> bool {
///     step.removed.buckets == 0
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ExpiryStep {
    /// After this moment.
    pub from: DateTime,
    /// Up to this moment.
    pub until: DateTime,
    /// What the server then removes.
    pub removed: Amount,
}

/// The steps of a model with a limit.
#[derive(Debug)]
pub(super) struct Schedule {
    /// In milliseconds.
    step: i64,
    /// The last moment past the limit.
    until: DateTime,
    report: ExpiryReport,
    /// By the number of the step.
    steps: Vec<Amount>,
}

impl Schedule {
    /// `None` for models without a limit.
    pub(super) fn new(spec: &BucketSpec, longest: i64, now: DateTime) -> Option<Self> {
        let limit = spec.removed_after()?;
        let until = spec.removed_until(now)?;
        // A window or a hybrid bucket that is open now ends later.
        let horizon = i64::from(limit).saturating_add(longest / 1_000);
        let fits = |length: &&i64| length.saturating_mul(MOST) >= horizon;
        let [.., longest] = LENGTHS;
        let step = *LENGTHS.iter().find(fits).unwrap_or(&longest);
        let zero = Amount::default();
        Some(Self {
            step: step.saturating_mul(1_000),
            until,
            report: ExpiryReport {
                expire_after: limit,
                at: now,
                overdue: zero,
                step: u32::try_from(step).unwrap_or(u32::MAX),
                steps: Vec::new(),
                later: zero,
                open: zero,
                hidden: zero,
                undated: zero,
            },
            steps: vec![zero; usize::try_from(MOST).unwrap_or_default()],
        })
    }

    /// The moment after this many steps, as the date from which an age counts.
    fn date_after(&self, steps: i64) -> DateTime {
        let after = self.step.saturating_mul(steps);
        DateTime::from_millis(self.until.timestamp_millis().saturating_add(after))
    }

    /// When the server removes a bucket, as an expression that never fails.
    pub(super) fn due(&self, spec: &BucketSpec) -> Document {
        let date = format!("${}", spec.age_field());
        let is_past = doc! { "$lte": [&date, self.until] };
        // Both are dates, and not far apart.
        let passed = doc! { "$divide": [{ "$subtract": [&date, self.until] }, self.step] };
        let number = doc! { "$subtract": [{ "$toLong": { "$ceil": passed } }, 1] };
        doc! { "$switch": { "branches": [
            { "case": { "$ne": [{ "$type": &date }, "date"] }, "then": UNDATED },
            {
                "case": { "$not": [spec.is_closed()] },
                "then": { "$cond": [&is_past, HIDDEN, OPEN] },
            },
            { "case": &is_past, "then": OVERDUE },
            { "case": { "$gt": [&date, self.date_after(MOST)] }, "then": MOST },
        ], "default": number } }
    }

    /// Adds buckets of which the server gave this.
    pub(super) fn add(&mut self, due: Option<RawBsonRef<'_>>, amount: Amount) {
        let text = due.and_then(RawBsonRef::as_str);
        let number = due.and_then(whole::of_raw);
        let report = &mut self.report;
        let sum = match (text, number) {
            (Some(OPEN), _) => &mut report.open,
            (Some(HIDDEN), _) => &mut report.hidden,
            (_, Some(OVERDUE)) => &mut report.overdue,
            (_, Some(number)) => {
                let step = usize::try_from(number).ok();
                let step = step.and_then(|step| self.steps.get_mut(step));
                step.unwrap_or(&mut report.later)
            }
            _ => &mut report.undated,
        };
        sum.add(amount);
    }

    pub(super) fn finish(mut self) -> ExpiryReport {
        let used = self.steps.iter().rposition(|of| of.buckets > 0);
        self.steps.truncate(used.map_or(0, |last| last + 1));
        let now = self.report.at.timestamp_millis();
        let after = |steps: i64| {
            let after = self.step.saturating_mul(steps);
            DateTime::from_millis(now.saturating_add(after))
        };
        let steps = self.steps.iter().zip(0_i64..);
        let steps = steps.map(|(removed, number)| ExpiryStep {
            from: after(number),
            until: after(number + 1),
            removed: *removed,
        });
        self.report.steps = steps.collect();
        self.report
    }
}
