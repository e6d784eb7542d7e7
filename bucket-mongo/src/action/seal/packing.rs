//! The walk over the buckets that are sealed or unsealed, and their statements.

use std::{mem, time::Duration};

use bucket_core::{
    DamagedBucket, Record, TimeRange,
    check::ScanPlan,
    read::ReadKey,
    seal::{self, Due, SealStatement, Sealing},
};
use mongodb::{
    bson::{DateTime, RawDocument},
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};
use tokio::{
    join, select,
    time::{Instant, sleep, timeout},
};

use super::{SealReport, watcher::Watcher};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::{
        edit::{Editing, Sent, deadline, passes},
        scan,
    },
    error::{Context, ReadFault},
    read::{ReadOptions, Rows},
    trace,
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

/// How long after its last record a bucket is due, in milliseconds.
///
/// # Errors
///
/// A text for the user if the model's buckets stay rows.
pub(super) fn after<T: Record>(after: Option<Duration>) -> Result<i64, &'static str> {
    let Some(own) = T::SPEC.seal_after() else {
        return Err(
            "the buckets of this model stay rows: write `#[bucket(seal_after = \"7d\")]` on the struct",
        );
    };
    let own = i64::from(own).saturating_mul(1_000);
    Ok(after.map_or(own, |after| {
        i64::try_from(after.as_millis()).unwrap_or(i64::MAX)
    }))
}

/// How a walk ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// It has come to all buckets.
    Whole,
    /// It was stopped.
    Stopped,
    /// Another call is at work in the same place, and seals the rest.
    Taken,
}

/// A call at work.
pub(super) struct Packing<'a, T: Record> {
    asked: Asked<'a, T>,
    context: Context,
    /// When the whole call ends, if it was given a deadline.
    until: Option<Instant>,
    report: SealReport,
}

/// What was read for one command.
#[derive(Default)]
struct Gathered {
    statements: Vec<SealStatement>,
    /// The size of them.
    bytes: usize,
    /// The first statement of the next command.
    next: Option<SealStatement>,
    /// What stays as it is.
    left: SealReport,
    is_last: bool,
}

impl Gathered {
    /// Takes a statement, if the command has room for it.
    fn take(&mut self, statement: SealStatement) {
        let bytes = self.bytes + statement.size();
        if self.statements.len() < TOGETHER && bytes <= MOST_BYTES || self.statements.is_empty() {
            self.bytes = bytes;
            self.statements.push(statement);
        } else {
            self.next = Some(statement);
        }
    }
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
            report: SealReport {
                is_unsealed: matches!(asked.what, What::Unseal),
                ..SealReport::default()
            },
            asked,
        }
    }

    /// Walks to the end.
    pub(super) async fn run(mut self) -> Result<SealReport> {
        self.walk(Watcher::default()).await?;
        self.trace(self.asked.what.operation());
        Ok(self.report)
    }

    /// Walks until the end, or until the watcher stops it: never between a command and its reply.
    pub(super) async fn walk(&mut self, mut watcher: Watcher<'_>) -> Result<Ended> {
        if self.asked.range.is_reversed() {
            return Err(self.invalid("the time range ends before it starts"));
        }
        let due = self.due()?;
        // Until when it begins again after errors that pass; `None` since a bucket has come.
        let mut patience = None;
        loop {
            match self.pass(due.as_ref(), &mut watcher, &mut patience).await? {
                Ok(ended) => return Ok(ended),
                Err(error) => {
                    let until = *patience.get_or_insert_with(|| self.patience());
                    select! {
                        () = watcher.stopped() => return Ok(Ended::Stopped),
                        passed = passes(error, until) => passed?,
                    }
                    self.forget_what_comes_again();
                }
            }
        }
    }

    /// Until when a read is tried that fails now.
    fn patience(&self) -> Instant {
        let own = || deadline(self.asked.buckets, &self.asked.settings);
        self.until.unwrap_or_else(own)
    }

    /// A pass that begins again meets those buckets once more of which nothing was changed.
    fn forget_what_comes_again(&mut self) {
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
    async fn pass(
        &mut self,
        due: Option<&Due>,
        watcher: &mut Watcher<'_>,
        patience: &mut Option<Instant>,
    ) -> Result<Result<Ended>> {
        let opening = timeout(self.asked.buckets.store().deadline(), self.open(due));
        let opened = select! {
            () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
            opened = opening => opened,
        };
        let late = |_| Err(Error::read(ReadFault::Late, &self.context));
        let mut rows = match opened.unwrap_or_else(late) {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let mut gathered = Gathered::default();
        loop {
            // While a command is under way, the buckets of the next one are read and packed.
            let statements = mem::take(&mut gathered.statements);
            let first = gathered.next.take();
            let is_last = gathered.is_last;
            let is_end = is_last && first.is_none();
            let gathering = async {
                select! {
                    biased;
                    () = watcher.stopped() => None,
                    next = self.gather(&mut rows, due, first, is_last) => Some(next),
                }
            };
            let (made, next) = join!(self.send(&statements), gathering);
            let is_taken = self.sent(&statements, made?);
            watcher.saw(&self.report);
            gathered = match next {
                None => return Ok(Ok(Ended::Stopped)),
                Some(Err(error)) => return Ok(Err(error)),
                Some(Ok(next)) => next,
            };
            *patience = None;
            if is_end {
                return Ok(Ok(Ended::Whole));
            }
            self.report.leaves(mem::take(&mut gathered.left));
            if is_taken && watcher.leaves_the_rest() {
                return Ok(Ok(Ended::Taken));
            }
            if !statements.is_empty() && !self.asked.pause.is_zero() {
                select! {
                    () = watcher.stopped() => return Ok(Ok(Ended::Stopped)),
                    () = sleep(self.asked.pause) => {}
                }
            }
        }
    }

    /// Reads and packs until there is enough for a command.
    async fn gather(
        &self,
        rows: &mut Rows<'_>,
        due: Option<&Due>,
        first: Option<SealStatement>,
        is_last: bool,
    ) -> Result<Gathered> {
        let patience = self.asked.buckets.store().deadline();
        let mut gathered = Gathered {
            is_last,
            ..Gathered::default()
        };
        if let Some(first) = first {
            gathered.take(first);
        }
        while gathered.next.is_none() && !gathered.is_last {
            let next = timeout(patience, rows.next(&|_| 0)).await;
            let next = next.unwrap_or(Err(ReadFault::Late));
            let next = next.map_err(|fault| Error::read(fault, &self.context))?;
            match next.map(|stored| self.of(stored, due)) {
                None => gathered.is_last = true,
                Some(Ok(Sealing::Statement(statement))) => gathered.take(statement),
                Some(Ok(Sealing::Stays)) => gathered.left.stay += 1,
                Some(Ok(_)) => {}
                Some(Err(damage)) => gathered.left.damaged(damage),
            }
        }
        Ok(gathered)
    }

    /// The event that ends a call, or a round of a sealer.
    pub(super) fn trace(&self, operation: &str) {
        let SealReport {
            buckets,
            records,
            stay,
            changed,
            damaged,
            ..
        } = self.report;
        tracing::debug!(
            target: trace::WRITE, buckets, records, stay, missed = changed, damaged, "{operation}"
        );
    }

    pub(super) fn into_report(self) -> SealReport {
        self.report
    }

    /// Which buckets are due; `None` to unseal.
    fn due(&self) -> Result<Option<Due>> {
        let What::Seal(after) = self.asked.what else {
            return Ok(None);
        };
        let after = self::after::<T>(after).map_err(|message| self.invalid(message))?;
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
        // The statements have to match what the buckets themselves have.
        options.terms.archived = None;
        let together = u32::try_from(TOGETHER).ok();
        scan::open(&collection, plan, together, options, &self.context).await
    }

    /// What a bucket becomes.
    fn of(
        &self,
        stored: &RawDocument,
        due: Option<&Due>,
    ) -> std::result::Result<Sealing, DamagedBucket> {
        let limits = |key: &T::Key| self.asked.buckets.limits_of(key);
        match due {
            Some(due) => seal::seal::<T>(stored, limits, *due),
            None => seal::unseal::<T>(stored),
        }
    }

    /// Sends these; returns how many of them have changed their bucket.
    async fn send(&self, statements: &[SealStatement]) -> Result<u64> {
        let number = u64::try_from(statements.len()).unwrap_or(u64::MAX);
        if self.asked.is_dry || statements.is_empty() {
            return Ok(number);
        }
        let command = seal::command(T::SPEC, statements);
        let context = self.context.clone();
        let mut editing = Editing::new(self.asked.buckets, None, &self.asked.settings, context)?;
        if let Some(until) = self.until {
            editing = editing.until(until);
        }
        Ok(match editing.send(command, statements.len()).await? {
            Sent::Made(made) => made.min(number),
            Sent::Lost => 0,
        })
    }

    /// Counts what was sent. Returns whether another call has sealed all of it before.
    fn sent(&mut self, statements: &[SealStatement], made: u64) -> bool {
        let number = u64::try_from(statements.len()).unwrap_or(u64::MAX);
        let report = &mut self.report;
        report.buckets += made;
        report.changed += number - made;
        for statement in statements {
            // Which of them came too late is not known, only how many.
            report.records += statement.records;
            report.bytes_before += statement.before;
            report.bytes_after += statement.after;
        }
        // A single one is more likely an edit.
        made == 0 && number > 1
    }

    fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}
