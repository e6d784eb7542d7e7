//! How long a read may take, and on which terms it sees what is stored.

use std::{sync::Arc, time::Duration};

use mongodb::{
    bson::{Document, doc},
    error::Result as DriverResult,
    options::{AggregateOptions, FindOptions, ReadConcern, SelectionCriteria},
};
use tokio::time::{Instant, timeout_at};

use super::archived::Archived;
use crate::{
    error::ReadFault,
    writer::{
        deadline::{GRACE, time_limit},
        faults,
    },
};

/// The server takes no time limit that is longer.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);
/// Zero would be without a limit.
const SHORTEST: Duration = Duration::from_millis(1);

/// What the caller set for the commands of one call. What is not set is that of the database's handle.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_time: Option<Duration>,
    pub(crate) concern: Option<ReadConcern>,
    pub(crate) criteria: Option<SelectionCriteria>,
    /// Where the items of archived buckets are. Without it, such a bucket is an error once its items are needed.
    pub(crate) archived: Option<Arc<Archived>>,
    /// Since when the deadline counts; none before the first command.
    begun: Option<Instant>,
}

impl Terms {
    /// Whether the caller set a read concern other than that of a snapshot.
    pub(super) fn has_concern_but_snapshot(&self) -> bool {
        let snapshot = ReadConcern::snapshot();
        self.concern
            .as_ref()
            .is_some_and(|concern| concern.level != snapshot.level)
    }

    /// Starts the clock. Returns false if it was running already.
    pub(super) fn begin(&mut self) -> bool {
        let begins = self.begun.is_none();
        self.begun.get_or_insert_with(Instant::now);
        begins
    }

    /// Until when the server may answer; none where a deadline is so far away that no clock shows it.
    pub(super) fn until(&self) -> Option<Instant> {
        let until = self.begun?.checked_add(self.deadline?)?;
        until.checked_add(GRACE).map(|end| end - GRACE)
    }

    /// How long the server may work on the next command.
    fn limit(&self) -> Option<Duration> {
        let left = self.until().map(|until| {
            let millis = u64::try_from(time_limit(until)).unwrap_or(0);
            Duration::from_millis(millis)
        });
        let limit = [self.max_time, left].into_iter().flatten().min()?;
        Some(limit.clamp(SHORTEST, LONGEST))
    }

    /// The time limit of a find that is sent now.
    pub(super) fn set_time_for_find(&self, find: &mut FindOptions) {
        find.max_time = self.limit();
    }

    /// For a find that is sent now.
    pub(super) fn set_for_find(&self, find: &mut FindOptions) {
        self.set_time_for_find(find);
        find.read_concern.clone_from(&self.concern);
        find.selection_criteria.clone_from(&self.criteria);
    }

    /// For an aggregation that is sent now.
    pub(super) fn set_for_aggregate(&self, aggregate: &mut AggregateOptions) {
        aggregate.max_time = self.limit();
        aggregate.read_concern.clone_from(&self.concern);
        aggregate.selection_criteria.clone_from(&self.criteria);
    }

    /// This command, to be sent now.
    pub(crate) fn command(&self, command: Document) -> Document {
        let mut command = command;
        if let Some(limit) = self.limit() {
            let millis = i64::try_from(limit.as_millis()).unwrap_or(i64::MAX);
            command.extend(doc! { "maxTimeMS": millis });
        }
        command
    }

    /// Nothing is sent once the deadline has passed.
    pub(crate) fn is_in_time(&self) -> Result<(), ReadFault> {
        match self.until() {
            Some(until) if Instant::now() >= until => Err(ReadFault::Late),
            _ => Ok(()),
        }
    }

    /// Waits until the deadline and somewhat longer.
    pub(super) async fn wait<R>(
        &self,
        done: impl Future<Output = R> + Send,
    ) -> Result<R, ReadFault> {
        match self.until() {
            None => Ok(done.await),
            Some(until) => {
                let done = timeout_at(until + GRACE, done).await;
                done.map_err(|_| ReadFault::Late)
            }
        }
    }

    /// Waits for a command, or for more of what it found, until the deadline and somewhat longer, so that the
    /// server is the one to say that its time is over.
    pub(crate) async fn within<R>(
        &self,
        command: impl Future<Output = DriverResult<R>> + Send,
    ) -> Result<R, ReadFault> {
        self.wait(command).await?.map_err(|error| {
            if faults::has_run_out_of_time(&error) {
                ReadFault::Stopped(error)
            } else {
                ReadFault::Driver(error)
            }
        })
    }
}
