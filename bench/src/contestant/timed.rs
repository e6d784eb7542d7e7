//! A read that is timed, and checked afterwards.

use futures_util::future::{BoxFuture, FutureExt as _};

use super::Contestant;
use crate::{
    arena::{Arena, rate},
    error::{Error, Result},
};

/// A read of data that are stored before the rounds.
pub(crate) trait Read: Send + Sync {
    /// A handle for reading.
    type Source: Send + Sync;
    /// The result, as a caller wants it: typed.
    type Found: Send;

    /// The name in the tables: unique in its workload.
    fn name(&self) -> String;

    /// Opens the handle, which serves for all reads of a round.
    fn open(&self, arena: &Arena) -> Self::Source;

    /// Reads once.
    fn read(&self, source: &Self::Source) -> impl Future<Output = Result<Self::Found>> + Send;

    /// Whether this is what was stored.
    fn is_right(&self, found: Self::Found) -> bool;
}

/// The throughput of a read: the number of records it covers in a second.
pub(crate) struct Timed<R> {
    read: R,
    records: usize,
    times: usize,
}

impl<R: Read> Timed<R> {
    /// A read that covers this number of records. A round runs it this many times, one after the
    /// other.
    pub(crate) fn new(read: R, records: usize, times: usize) -> Self {
        Self {
            read,
            records,
            times,
        }
    }
}

impl<R: Read> Contestant for Timed<R> {
    fn name(&self) -> String {
        self.read.name()
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let source = self.read.open(arena);
            // This read fills the caches.
            let mut found = vec![self.read.read(&source).await?];
            let reads = async {
                for _ in 0..self.times {
                    found.push(self.read.read(&source).await?);
                }
                Ok(())
            };
            let (time, ()) = arena.clock(reads).await?;
            if found.into_iter().all(|found| self.read.is_right(found)) {
                Ok(rate(self.records * self.times, time))
            } else {
                Err(Error::WrongRead(self.name()))
            }
        }
        .boxed()
    }
}
