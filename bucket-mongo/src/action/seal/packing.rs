//! The walk over the buckets that are sealed or unsealed, and their statements.

use std::{mem, time::Duration};

use bucket_core::{
    Record, TimeRange,
    check::ScanPlan,
    read::ReadKey,
    seal::{self, Due, SealStatement, Sealing},
};
use mongodb::{
    bson::{DateTime, RawDocument},
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};
use tokio::time::{Instant, sleep};

use super::SealReport;
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::{
        edit::{Editing, Sent, deadline, passes},
        scan,
    },
    error::Context,
    read::{ReadOptions, Rows},
    writer::Settings,
};

/// The most statements of a command.
const TOGETHER: usize = 100;
/// The most bytes of statements in a command of several: a command has at most 16 MB.
const MOST_BYTES: usize = 12 * 1024 * 1024;

/// What a call was asked for.
#[derive(Debug)]
pub(super) struct Asked<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) what: What,
    pub(super) key: Option<T::Key>,
    pub(super) range: TimeRange,
    pub(super) is_dry: bool,
    pub(super) pause: Duration,
    pub(super) settings: Settings,
}

/// What happens to the buckets.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Those that have taken no record for this long are sealed; `None` for the time that the model sets.
    Seal(Option<Duration>),
    Unseal,
}

impl What {
    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Seal(_) => "seal",
            Self::Unseal => "unseal",
        }
    }
}

/// A call at work.
pub(super) struct Packing<'a, T: Record> {
    asked: Asked<'a, T>,
    context: Context,
    /// When the whole call ends, if it was given a deadline.
    until: Option<Instant>,
    statements: Vec<SealStatement>,
    bytes: usize,
    report: SealReport,
}

impl<'a, T: Record> Packing<'a, T> {
    pub(super) fn new(asked: Asked<'a, T>) -> Self {
        let operation = asked.what.operation();
        let context = match &asked.key {
            Some(key) => Context::of::<T>(operation, key),
            None => Context::of_all::<T>(operation),
        };
        let deadline = asked.settings.deadline;
        Self {
            context,
            until: deadline.and_then(|deadline| Instant::now().checked_add(deadline)),
            statements: Vec::new(),
            bytes: 0,
            report: SealReport {
                is_unsealed: matches!(asked.what, What::Unseal),
                ..SealReport::default()
            },
            asked,
        }
    }

    pub(super) async fn run(mut self) -> Result<SealReport> {
        if self.asked.range.is_reversed() {
            return Err(self.invalid("the time range ends before it starts"));
        }
        let due = self.due()?;
        // Until when it begins again after errors that pass; `None` since a bucket has come.
        let mut patience = None;
        while let Err(error) = self.walk(due.as_ref(), &mut patience).await? {
            let until = *patience.get_or_insert_with(|| self.patience());
            passes(error, until).await?;
            self.forget_what_comes_again();
        }
        Ok(self.report)
    }

    /// Until when a read is tried that fails now.
    fn patience(&self) -> Instant {
        let own = || deadline(self.asked.buckets, &self.asked.settings);
        self.until.unwrap_or_else(own)
    }

    /// A walk that begins again meets those buckets once more of which nothing was changed.
    fn forget_what_comes_again(&mut self) {
        self.statements.clear();
        self.bytes = 0;
        let is_unsealed = self.report.is_unsealed;
        let before = mem::take(&mut self.report);
        self.report = SealReport {
            stay: 0,
            damaged: 0,
            damages: Vec::new(),
            is_unsealed,
            ..if self.asked.is_dry {
                SealReport::default()
            } else {
                before
            }
        };
    }

    /// Takes all buckets from the beginning; the inner error is that of a read.
    async fn walk(
        &mut self,
        due: Option<&Due>,
        patience: &mut Option<Instant>,
    ) -> Result<Result<()>> {
        let mut rows = match self.open(due).await {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        loop {
            let next = match rows.next(|_| 0).await {
                Ok(next) => next,
                Err(fault) => return Ok(Err(Error::read(fault, &self.context))),
            };
            *patience = None;
            let is_last = next.is_none();
            let statement = next.and_then(|stored| self.of(stored, due));
            let bytes = statement.as_ref().map_or(0, SealStatement::size);
            let is_much = self.statements.len() >= TOGETHER || self.bytes + bytes > MOST_BYTES;
            if is_much || is_last {
                self.send().await?;
            }
            if is_last {
                return Ok(Ok(()));
            }
            if is_much && !self.asked.pause.is_zero() {
                sleep(self.asked.pause).await;
            }
            self.bytes += bytes;
            self.statements.extend(statement);
        }
    }

    /// Which buckets are due; `None` to unseal.
    fn due(&self) -> Result<Option<Due>> {
        let What::Seal(after) = self.asked.what else {
            return Ok(None);
        };
        let Some(own) = T::SPEC.seal_after() else {
            let message = "the buckets of this model stay rows: write `#[bucket(seal_after = \"7d\")]` on the struct";
            return Err(self.invalid(message));
        };
        let own = i64::from(own).saturating_mul(1_000);
        let after = after.map_or(own, |after| {
            i64::try_from(after.as_millis()).unwrap_or(i64::MAX)
        });
        Ok(Some(Due::after(after, DateTime::now())))
    }

    async fn open<'r>(&self, due: Option<&Due>) -> Result<Rows<'r>> {
        let Asked { key, range, .. } = &self.asked;
        let key = key.as_ref().map(ReadKey::of::<T>);
        let plan: ScanPlan = match due {
            Some(due) => seal::unsealed_buckets(T::SPEC, key.as_ref(), *range, due),
            None => seal::sealed_buckets(T::SPEC, key.as_ref(), *range),
        };
        let mut options = ReadOptions::default();
        // The statements match what the primary has.
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        options.terms.criteria = Some(primary);
        options.terms.concern = Some(ReadConcern::local());
        options.terms.deadline = self.until.map(|until| until - Instant::now());
        let store = self.asked.buckets.store();
        let collection = store.readable(&mut options, &self.context).await?;
        let together = u32::try_from(TOGETHER).ok();
        scan::open(&collection, plan, together, options, &self.context).await
    }

    /// The statement for a bucket, if it is due.
    fn of(&mut self, stored: &RawDocument, due: Option<&Due>) -> Option<SealStatement> {
        let limits = |key: &T::Key| self.asked.buckets.limits_of(key);
        let sealing = match due {
            Some(due) => seal::seal::<T>(stored, limits, *due),
            None => seal::unseal::<T>(stored),
        };
        match sealing {
            Ok(Sealing::Statement(statement)) => return Some(statement),
            Ok(Sealing::Stays) => self.report.stay += 1,
            Ok(_) => {}
            Err(damage) => self.report.damaged(damage),
        }
        None
    }

    /// Sends what was gathered.
    async fn send(&mut self) -> Result<()> {
        let statements = mem::take(&mut self.statements);
        self.bytes = 0;
        if statements.is_empty() {
            return Ok(());
        }
        let number = u64::try_from(statements.len()).unwrap_or(u64::MAX);
        let made = if self.asked.is_dry {
            number
        } else {
            let command = seal::command(T::SPEC, &statements);
            let context = self.context.clone();
            let mut editing =
                Editing::new(self.asked.buckets, None, &self.asked.settings, context)?;
            if let Some(until) = self.until {
                editing = editing.until(until);
            }
            match editing.send(command, statements.len()).await? {
                Sent::Made(made) => made.min(number),
                Sent::Lost => 0,
            }
        };
        let report = &mut self.report;
        report.buckets += made;
        report.changed += number - made;
        for statement in &statements {
            // Which of them came too late is not known, only how many.
            report.records += statement.records;
            report.bytes_before += statement.before;
            report.bytes_after += statement.after;
        }
        Ok(())
    }

    fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}
