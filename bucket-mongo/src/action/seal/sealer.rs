//! A sealer: seals in the background what becomes due.

use std::{fmt, sync::Arc, time::Duration};

use bucket_core::Record;
use mongodb::options::WriteConcern;
use tokio::{runtime::Handle, sync::watch, task::JoinHandle};

use super::{
    SealerReport, packing,
    rounds::{Order, Rounds},
    watcher::Totals,
};
use crate::{Buckets, Error, ErrorKind, Result, error::Context, writer::Settings};

/// The longest time between two rounds if none is set.
const EVERY: Duration = Duration::from_secs(3_600);
/// The time between two commands if none is set: a round takes the server's time for at most a few commands of 100
/// buckets each second.
const PAUSE: Duration = Duration::from_millis(100);

/// The settings of a sealer before its start; see [`Buckets::sealer`].
///
/// ```no_run
/// # use std::time::Duration;
/// # use bucket_mongo::{Bucketed, Buckets, Result, Sealer};
/// # fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<Sealer> {
/// buckets
///     .sealer()
///     .every(Duration::from_secs(600))
///     .pause(Duration::from_millis(20))
///     .start()
/// # }
/// ```
#[must_use = "nothing is sealed until it is started"]
#[derive(Debug)]
pub struct SealerBuilder<T: Record> {
    order: Order<T>,
}

impl<T: Record> Buckets<T> {
    /// Builds a sealer: a task that [seals](Self::seal) what becomes due, until it is stopped, and [merges](Self::merge) what it
    /// has sealed in a model with `merge`.
    ///
    /// Several processes may have one each. They need no leader: a statement seals only what no other has sealed, and a
    /// sealer that meets another one at its work leaves the rest of the round to it.
    ///
    /// Settings: `every`, `after`, `expire_records`, `pause`, `write_concern`. Then `start`.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result};
    /// async fn serve<T: Bucketed>(buckets: &Buckets<T>, end: impl Future<Output = ()>) -> Result<()> {
    ///     let sealer = buckets.sealer().start()?;
    ///     end.await;
    ///     println!("{}", sealer.stop().await);
    ///     Ok(())
    /// }
    /// ```
    pub fn sealer(&self) -> SealerBuilder<T> {
        SealerBuilder {
            order: Order {
                buckets: self.clone(),
                every: EVERY,
                after: None,
                pause: PAUSE,
                expires: false,
                settings: Settings::default(),
            },
        }
    }
}

impl<T: Record> SealerBuilder<T> {
    /// Sets the longest time from one round to the next: an hour if not set, at least a second. Each time is drawn from
    /// the second half of it, so that several sealers do not begin at the same moment.
    pub fn every(mut self, every: Duration) -> Self {
        self.order.every = every;
        self
    }

    /// Buckets are due this long after their last record, or after their window, instead of after the model's
    /// `seal_after`.
    pub fn after(mut self, duration: Duration) -> Self {
        self.order.after = Some(duration);
        self
    }

    /// Waits this long after every command of up to 100 buckets, so that others get more of the server: 100 milliseconds
    /// if not set.
    pub fn pause(mut self, pause: Duration) -> Self {
        self.order.pause = pause;
        self
    }

    /// Also removes the records of buckets whose records have all expired, as
    /// [`Buckets::expire_records`](Buckets::expire_records) does: first in each round. For models that keep statistics for
    /// longer; they need no `seal_after`.
    ///
    /// ```no_run
    /// # use bucket_mongo::{Bucketed, Buckets, Result, Sealer};
    /// # fn f<T: Bucketed>(buckets: &Buckets<T>) -> Result<Sealer> {
    /// buckets.sealer().expire_records().start()
    /// # }
    /// ```
    pub fn expire_records(mut self) -> Self {
        self.order.expires = true;
        self
    }

    /// Sets the write concern instead of the handle's.
    pub fn write_concern(mut self, write_concern: WriteConcern) -> Self {
        self.order.settings.write_concern = Some(write_concern);
        self
    }

    /// Starts the task, in the runtime of the caller.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the model has no `seal_after`, or no `keep_stats` where records are to expire, if a
    /// setting is out of range, or if called outside a Tokio runtime.
    pub fn start(self) -> Result<Sealer> {
        let invalid = |message: String| {
            let context = Context::of_all::<T>("seal");
            Error::new(ErrorKind::InvalidArgument { message }, &context)
        };
        let Order { expires, after, .. } = &self.order;
        if *expires && T::SPEC.keep_stats().is_none() {
            return Err(invalid(packing::KEEPS_NONE.to_owned()));
        }
        if !expires || after.is_some() {
            packing::after::<T>(*after).map_err(|message| invalid(message.to_owned()))?;
        }
        if self.order.every < Duration::from_secs(1) {
            return Err(invalid("`every` must be at least a second".to_owned()));
        }
        let runtime = Handle::try_current().map_err(|source| invalid(source.to_string()))?;
        let (stop, stopped) = watch::channel(false);
        let totals = Arc::new(Totals::default());
        let rounds = Rounds::new(self.order, stopped, totals.clone());
        Ok(Sealer {
            stop,
            totals,
            task: runtime.spawn(rounds.run()),
        })
    }
}

/// Seals in the background what becomes due; see [`Buckets::sealer`].
///
/// When it is dropped, it stops as if by [`stop`](Self::stop). A process that is killed at any moment leaves each bucket
/// either sealed or as it was.
#[derive(Debug)]
#[must_use = "a sealer that is dropped stops"]
pub struct Sealer {
    stop: watch::Sender<bool>,
    totals: Arc<Totals>,
    task: JoinHandle<()>,
}

impl Sealer {
    /// What it has done so far, the round at work included.
    ///
    /// ```no_run
    /// fn log(sealer: &bucket_mongo::Sealer) {
    ///     println!("{}", sealer.report());
    /// }
    /// ```
    #[must_use]
    pub fn report(&self) -> SealerReport {
        self.totals.report()
    }

    /// Stops it after the command that it has sent, and returns what it has done. This takes at most the handle's
    /// [deadline](Buckets::with_deadline). It stops also if this future is dropped.
    ///
    /// ```no_run
    /// async fn stop(sealer: bucket_mongo::Sealer) {
    ///     println!("{}", sealer.stop().await);
    /// }
    /// ```
    pub async fn stop(self) -> SealerReport {
        self.stop.send_replace(true);
        // An error says that its runtime has stopped it.
        drop(self.task.await);
        self.totals.report()
    }
}

impl fmt::Display for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report().fmt(f)
    }
}
