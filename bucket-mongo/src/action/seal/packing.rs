//! The walk over the buckets that are sealed or unsealed, or whose records have expired, and their statements.

use std::{mem, time::Duration};

use bucket_core::{
    DamagedBucket, Record,
    check::ScanPlan,
    read::ReadKey,
    seal::{self, Due, SealStatement, Sealing},
};
use mongodb::bson::{DateTime, RawDocument};
use tokio::{
    join, select,
    time::{Instant, sleep, timeout},
};

use super::{SealReport, asked::Asked, seal_report::Done, watcher::Watcher};
use crate::{
    Error, ErrorKind, Result,
    action::{
        edit::{Editing, Sent, deadline, passes},
        scan,
    },
    error::{Context, ReadFault},
    read::Rows,
    trace,
};

/// The most statements of a command.
const TOGETHER: usize = 100;
/// The most bytes of statements in a command of several: a command has at most 16 MB.
const MOST_BYTES: usize = 12 * 1024 * 1024;

/// The error of a model of which the server removes whole buckets.
pub(super) const KEEPS_NONE: &str = "this model keeps no statistics for longer than records, and the server removes whole \
    buckets: write `#[bucket(expire_after = \"30d\", keep_stats = \"5y\")]` on the struct";

/// What happens to the buckets.
#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    /// Those that have taken no record for this long are sealed; `None` for the time that the model sets.
    Seal(Option<Duration>),
    Unseal,
    /// The items of those go whose records have expired, and whose statistics are kept.
    Expire,
}

impl What {
    const fn done(self) -> Done {
        match self {
            Self::Seal(_) => Done::Sealed,
            Self::Unseal => Done::Unsealed,
            Self::Expire => Done::Expired,
        }
    }

    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Seal(_) => "seal",
            Self::Unseal => "unseal",
            Self::Expire => "expire_records",
        }
    }
}

/// How long after its last record a bucket is due, in milliseconds.
///
/// # Errors
///
/// A text for the user if the model's buckets stay rows.
pub(super) fn after<T: Record>(after: Option<Duration>) -> Result<i64, &'static str> {
    let Some(own) = T::SPEC.sealed_after() else {
        return Err(
            "the buckets of this model stay rows: write `#[bucket(seal_after = \"7d\")]` on the struct",
        );
    };
    Ok(after.map_or(own, |after| {
        i64::try_from(after.as_millis()).unwrap_or(i64::MAX)
    }))
}

/// What of a sum belongs to some of this number of statements.
fn share(sum: u64, some: u64, of: u64) -> u64 {
    let part = u128::from(sum) * u128::from(some) / u128::from(of.max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// Which buckets are looked for, and what they become.
#[derive(Debug)]
enum Task {
    Seal(Due),
    Unseal,
    /// What has expired at this time.
    Expire(DateTime),
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
    what: What,
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
    pub(super) fn new(what: What, asked: Asked<'a, T>) -> Self {
        let operation = what.operation();
        let context = match &asked.key {
            Some(key) => Context::of::<T>(operation, key),
            None => Context::of_all::<T>(operation),
        };
        let deadline = asked.settings.deadline;
        Self {
            context,
            until: deadline.and_then(|deadline| Instant::now().checked_add(deadline)),
            report: SealReport {
                done: what.done(),
                ..SealReport::default()
            },
            asked,
            what,
        }
    }

    /// Walks to the end.
    pub(super) async fn run(mut self) -> Result<SealReport> {
        self.walk(Watcher::default()).await?;
        self.trace(self.what.operation());
        Ok(self.report)
    }

    /// Walks until the end, or until the watcher stops it: never between a command and its reply.
    pub(super) async fn walk(&mut self, mut watcher: Watcher<'_>) -> Result<Ended> {
        if self.asked.range.is_reversed() {
            return Err(self.invalid("the time range ends before it starts"));
        }
        let task = self.task()?;
        select! {
            () = watcher.stopped() => return Ok(Ended::Stopped),
            checked = self.asked.check_collection(&self.context) => checked?,
        }
        // Until when it begins again after errors that pass; `None` since a bucket has come.
        let mut patience = None;
        loop {
            match self.pass(&task, &mut watcher, &mut patience).await? {
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
        let done = self.report.done;
        let before = mem::take(&mut self.report);
        self.report = SealReport {
            stay: 0,
            damaged: 0,
            damages: Vec::new(),
            done,
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
        task: &Task,
        watcher: &mut Watcher<'_>,
        patience: &mut Option<Instant>,
    ) -> Result<Result<Ended>> {
        let opening = timeout(self.asked.buckets.store().deadline(), self.open(task));
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
                    next = self.gather(&mut rows, task, first, is_last) => Some(next),
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
        task: &Task,
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
            match next.map(|stored| self.of(stored, task)) {
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

    fn task(&self) -> Result<Task> {
        let now = DateTime::now();
        Ok(match self.what {
            What::Unseal => Task::Unseal,
            What::Expire => Task::Expire(now),
            What::Seal(after) => {
                let after = self::after::<T>(after).map_err(|message| self.invalid(message))?;
                Task::Seal(Due::after(after, now))
            }
        })
    }

    async fn open<'r>(&self, task: &Task) -> Result<Rows<'r>> {
        let Asked { key, range, .. } = &self.asked;
        let key = key.as_ref().map(ReadKey::of::<T>);
        let key = key.as_ref();
        let plan: ScanPlan = match task {
            Task::Seal(due) => seal::unsealed_buckets(T::SPEC, key, *range, due),
            Task::Unseal => seal::sealed_buckets(T::SPEC, key, *range),
            Task::Expire(now) => seal::expired_buckets(T::SPEC, key, *range, *now)
                .ok_or_else(|| self.invalid(KEEPS_NONE))?,
        };
        let store = self.asked.buckets.store();
        let together = u32::try_from(TOGETHER).ok();
        scan::open_to_change(store, plan, together, self.until, &self.context).await
    }

    /// What a bucket becomes.
    fn of(&self, stored: &RawDocument, task: &Task) -> std::result::Result<Sealing, DamagedBucket> {
        let limits = |key: &T::Key| self.asked.buckets.limits_of(key);
        match task {
            Task::Seal(due) => seal::seal::<T>(stored, limits, *due),
            Task::Unseal => seal::unseal::<T>(stored),
            Task::Expire(now) => seal::expire::<T>(stored, limits, *now),
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
        // Which of them came too late is not known, only how many: each call counts its share, so that several together count
        // what there is.
        let of = |figure: fn(&SealStatement) -> u64| {
            let sum = statements.iter().map(figure).sum();
            share(sum, made, number)
        };
        report.records += of(|statement| statement.records);
        report.bytes_before += of(|statement| statement.before);
        report.bytes_after += of(|statement| statement.after);
        // A single one is more likely an edit.
        made == 0 && number > 1
    }

    fn invalid(&self, message: &str) -> Error {
        let message = message.to_owned();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn calls_that_share_the_work_count_it_once_together() {
        assert_eq!(share(700, 30, 100) + share(700, 70, 100), 700);
        assert_eq!(share(700, 100, 100), 700);
        assert_eq!((share(700, 0, 100), share(0, 0, 0)), (0, 0));
        assert_eq!(share(u64::MAX, 3, 3), u64::MAX);
    }
}
