//! A batch that is being written: it is settled whatever happens to the worker.

use std::sync::Arc;

use super::{gathered::Gathered, settlement::Outcome, shared::Shared};
use crate::{Error, RecordOutcome, error::NotKnown, trace, writer::Written};

/// Settles its batch when the write has ended, or when the worker is dropped in the middle of it.
pub(super) struct Writing<'a> {
    shared: &'a Shared,
    pub(super) gathered: Gathered,
    is_settled: bool,
}

impl<'a> Writing<'a> {
    pub(super) fn new(shared: &'a Shared, gathered: Gathered) -> Self {
        Self {
            shared,
            gathered,
            is_settled: false,
        }
    }

    /// Settles the batch with the result of the write, or with the error that ended it.
    pub(super) fn end(mut self, ended: Result<Written, Error>) {
        let outcome = match ended {
            Ok(written) => {
                self.trace(&written, written.failed.len());
                let others = [
                    (RecordOutcome::Duplicate, written.duplicates),
                    (RecordOutcome::Replaced, written.replaced),
                    (RecordOutcome::Superseded, written.superseded),
                ];
                let others = others.into_iter().flat_map(|(outcome, places)| {
                    places.into_iter().map(move |place| (place, outcome))
                });
                Outcome::StoredBut {
                    failed: written.failed.into_iter().collect(),
                    others: others.collect(),
                }
            }
            Err(error) => {
                self.trace(&Written::default(), self.gathered.records());
                Outcome::Failed(error)
            }
        };
        self.settle(outcome);
    }

    fn trace(&self, written: &Written, failed: usize) {
        let records = self.gathered.records();
        let others = written.duplicates.len() + written.replaced.len() + written.superseded.len();
        tracing::debug!(
            target: trace::WRITE,
            records,
            stored = records.saturating_sub(failed + others),
            opened = written.opened.len(),
            failed,
            duplicates = written.duplicates.len(),
            replaced = written.replaced.len(),
            superseded = written.superseded.len(),
            commands = written.commands,
            resent = written.resent,
            missed = written.missed,
            "ingest",
        );
    }

    fn settle(&mut self, outcome: Outcome) {
        self.is_settled = true;
        self.shared.settle(&self.gathered, &Arc::new(outcome));
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            self.settle(Outcome::Failed(
                self.shared.unknown(NotKnown::IngestorStopped),
            ));
        }
    }
}
