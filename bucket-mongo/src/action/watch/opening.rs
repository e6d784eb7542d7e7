//! Where a watch starts.

use bucket_core::{
    Record, read,
    watch::{CatchUp, Follow},
};
use mongodb::bson::{DateTime, Timestamp, doc};

use super::{beginning::Beginning, watching::Watching};
use crate::{Buckets, Error, ErrorKind, Result, error::Context};

/// A watch before its place is set.
pub(super) struct Opening<T: Record> {
    buckets: Buckets<T>,
    key: Option<T::Key>,
    /// Whether events have the records before.
    before: bool,
    context: Context,
}

impl<T: Record> Opening<T> {
    pub(super) fn new(
        operation: &'static str,
        buckets: Buckets<T>,
        key: Option<T::Key>,
        before: bool,
    ) -> Self {
        let context = match &key {
            Some(key) => Context::of::<T>(operation, key),
            None => Context::of_all::<T>(operation),
        };
        Self {
            buckets,
            key,
            before,
            context,
        }
    }

    pub(super) async fn open(self, from: Beginning) -> Result<Watching<T>> {
        let mut catch_up = None;
        let follow = match from {
            Beginning::Now => return Ok(self.open_now().await?.0),
            Beginning::Stored(time) => {
                let (moment, now) = (self.now().await?, DateTime::now());
                let live = read::live(T::SPEC, now);
                catch_up = Some(CatchUp::new(self.key.clone(), time, moment, live, now));
                Follow::from_time(self.key.clone(), after(moment))
            }
            Beginning::Since(time) => Follow::from_time(self.key.clone(), second_of(time)),
            Beginning::After(token) => {
                Follow::after(self.key.clone(), &token).map_err(|error| self.invalid(&error))?
            }
        };
        self.opened(catch_up, follow).await
    }

    /// Opens a watch of what comes after this moment of the server, and returns the moment.
    pub(super) async fn open_now(self) -> Result<(Watching<T>, Timestamp)> {
        let moment = self.now().await?;
        let follow = Follow::from_time(self.key.clone(), after(moment));
        Ok((self.opened(None, follow).await?, moment))
    }

    async fn opened(self, catch_up: Option<CatchUp<T>>, follow: Follow<T>) -> Result<Watching<T>> {
        let follow = if self.before {
            follow.with_before()
        } else {
            follow
        };
        let mut watching = Watching::new(self.buckets, self.context, catch_up, follow);
        watching.open().await?;
        Ok(watching)
    }

    pub(super) fn invalid(&self, error: &impl ToString) -> Error {
        let message = error.to_string();
        Error::new(ErrorKind::InvalidArgument { message }, &self.context)
    }

    /// The time of the last thing that the server has taken so far.
    async fn now(&self) -> Result<Timestamp> {
        let database = self.buckets.database();
        let reply = database.run_command(doc! { "ping": 1 }).await;
        let reply = reply.map_err(|error| Error::read(error, &self.context))?;
        reply.get_timestamp("operationTime").map_err(|_| {
            let message = "the server has no change streams: it is not a member of a replica set";
            self.invalid(&message)
        })
    }
}

/// The next moment.
fn after(now: Timestamp) -> Timestamp {
    match now.increment.checked_add(1) {
        Some(increment) => Timestamp { increment, ..now },
        None => Timestamp {
            time: now.time.saturating_add(1),
            increment: 0,
        },
    }
}

/// The first moment of a second, in the server's time.
fn second_of(time: DateTime) -> Timestamp {
    let seconds = time.timestamp_millis().div_euclid(1_000);
    Timestamp {
        time: u32::try_from(seconds.max(0)).unwrap_or(u32::MAX),
        increment: 0,
    }
}
