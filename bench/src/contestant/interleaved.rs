//! Short reads that are measured in turns, so that a disturbance affects all of them.

use std::{sync::Arc, time::Instant};

use futures_util::future::{BoxFuture, FutureExt as _};
use tokio::sync::Mutex;

use super::Contestant;
use crate::{
    arena::Arena,
    error::{Error, Result},
    reading::Reading,
    spread::Spread,
};

/// Reads once, with a handle that was opened before.
pub(crate) type ReadOnce = Box<dyn Fn() -> BoxFuture<'static, Result<Vec<Reading>>> + Send + Sync>;

/// One of the reads.
pub(crate) trait ShortRead: Send + Sync {
    /// The name in the tables: unique in its workload.
    fn name(&self) -> String;

    /// Opens what is read, off the clock.
    fn open<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<ReadOnce>>;

    /// The expected result.
    fn expected(&self) -> &[Reading];
}

/// Reads that take turns.
pub(crate) struct Interleaved {
    reads: Vec<Box<dyn ShortRead>>,
    /// The number of reads of each in a round.
    times: usize,
    /// What was measured in this round and not yet requested.
    figures: Mutex<Vec<Option<f64>>>,
}

/// The median time of one of the reads, in microseconds. The first contestant of a round measures
/// all of them.
pub(crate) struct Turn {
    all: Arc<Interleaved>,
    at: usize,
}

impl Interleaved {
    /// A contestant for each of these.
    pub(crate) fn contestants(
        reads: Vec<Box<dyn ShortRead>>,
        times: usize,
    ) -> impl Iterator<Item = Turn> {
        let turns = 0..reads.len();
        let all = Arc::new(Self {
            figures: Mutex::new(vec![None; reads.len()]),
            reads,
            times,
        });
        turns.map(move |at| Turn {
            all: Arc::clone(&all),
            at,
        })
    }

    async fn measure(&self, arena: &Arena) -> Result<Vec<Option<f64>>> {
        let mut opened = Vec::with_capacity(self.reads.len());
        for (at, read) in self.reads.iter().enumerate() {
            opened.push((at, read.open(arena).await?, Vec::new()));
        }
        for turn in 0..=self.times {
            for (at, once, times) in &mut opened {
                let start = Instant::now();
                let found = once().await?;
                let time = start.elapsed();
                let read = &self.reads[*at];
                if found != read.expected() {
                    return Err(Error::WrongRead(read.name()));
                }
                // The first one warms up.
                if turn > 0 {
                    times.push(time.as_secs_f64() * 1e6);
                }
            }
            // The order changes, so that no read always follows the same one.
            opened.reverse();
        }
        let mut medians = vec![None; opened.len()];
        for (at, _, times) in opened {
            medians[at] = Some(Spread::of(times).median);
        }
        Ok(medians)
    }
}

impl Contestant for Turn {
    fn name(&self) -> String {
        self.all.reads[self.at].name()
    }

    fn round<'a>(&'a self, arena: &'a Arena) -> BoxFuture<'a, Result<f64>> {
        async {
            let mut figures = self.all.figures.lock().await;
            if let Some(figure) = figures[self.at].take() {
                return Ok(figure);
            }
            *figures = self.all.measure(arena).await?;
            Ok(figures[self.at].take().unwrap_or_default())
        }
        .boxed()
    }
}
