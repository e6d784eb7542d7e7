//! Records with an id that are stored already, or come twice in one batch.

use std::collections::HashMap;

use bucket_core::{
    Record,
    write::{Batch, Need, Repetition},
};

use super::{
    Writer,
    tails::{READS, indexes},
};
use crate::error::{Error, ErrorKind};

impl<T: Record> Writer<'_, T> {
    /// Looks for the records that may be stored already; says whether there were any. Behind the looks
    /// at the tails, and then those are to be looked at again: records that are gone may have been the
    /// reason for the bucket that was chosen.
    pub(super) async fn learn_repeats(&mut self, batch: &mut Batch<T>) -> Result<bool, Error> {
        if T::SPEC.unique().is_none() {
            return Ok(false);
        }
        let asking = indexes(batch, |chain| chain.need() == Need::Repeats);
        for group in asking.chunks(READS) {
            let plans: Vec<_> = group.iter().map(|at| batch.repeats(*at)).collect();
            let lengths: Vec<usize> = plans.iter().map(Vec::len).collect();
            let found = self
                .find_each(plans.into_iter().flatten().collect())
                .await?;
            self.buckets.learnt().saw_record_ids();
            let mut found = found.into_iter();
            for (at, reads) in group.iter().zip(lengths) {
                let found: Vec<_> = found.by_ref().take(reads).flatten().collect();
                let repeats = batch.saw_repeats(*at, &found);
                self.written.duplicates.extend(repeats.duplicates);
                for (index, id) in repeats.conflicts {
                    self.conflict(index, id);
                }
            }
        }
        Ok(!asking.is_empty())
    }

    fn conflict(&mut self, index: usize, id: String) {
        let error = Error::new(ErrorKind::Conflict { id }, &self.context);
        self.written.failed.push((index, error));
    }

    /// What became of the records that came twice in the batch, of which nothing is pending.
    pub(super) fn settle_own_repeats(&mut self, batch: &Batch<T>) {
        let repeats = batch.own_repeats();
        if repeats.is_empty() {
            return;
        }
        let failed: HashMap<usize, Error> = self.written.failed.iter().cloned().collect();
        for repeat in repeats {
            match (&repeat.repetition, failed.get(&repeat.first)) {
                (Repetition::Stored, _) | (Repetition::Same, None) => {
                    self.written.duplicates.push(repeat.index);
                }
                (Repetition::Same, Some(error)) => {
                    self.written.failed.push((repeat.index, error.clone()));
                }
                // The first one decides what the id stands for; without it that is open.
                (_, Some(error)) if !matches!(error.kind(), ErrorKind::Conflict { .. }) => {
                    self.written.failed.push((repeat.index, error.not_sent()));
                }
                (Repetition::Other { id }, _) => self.conflict(repeat.index, id.clone()),
                // A kind of repetition that is added one day is no success until it is named here.
                _ => self.conflict(repeat.index, String::new()),
            }
        }
    }
}
