//! Records with the key and the id of an earlier record of the call: which of them are sent instead of it,
//! and the outcome of the others.

use std::collections::{HashMap, HashSet};

use super::{Call, Reason};
use crate::write::{OwnRepeat, Repetition};

/// Which records may replace one that is not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// All with its id.
    Free,
    /// Those with other data: it was refused for its data.
    FreeForOthers,
    Taken,
}

impl Place {
    fn after<E>(reason: &Reason<E>) -> Self {
        match reason {
            Reason::Withdrawn => Self::Free,
            Reason::Refused { failure, .. } if failure.is_transient() => Self::Taken,
            Reason::Refused { .. } | Reason::Late(_) | Reason::Failed { unknown: false, .. } => {
                Self::FreeForOthers
            }
            _ => Self::Taken,
        }
    }
}

impl<E: Clone> Call<E> {
    /// Sends repeats instead of first records that failed since the last call. Returns whether there are any.
    pub(super) fn promote_repeats(&mut self) -> bool {
        let settled = std::mem::replace(&mut self.settled, self.report.failed.len());
        // Records after a failed record of a source are held back.
        if self.batch.own_repeats().is_empty() || self.batch.source().is_some() {
            return false;
        }
        let failed = self.report.failed.iter().skip(settled);
        let places: HashMap<usize, Place> = failed
            .map(|unstored| (&unstored.records, Place::after(&unstored.reason)))
            .filter(|(_, place)| *place != Place::Taken)
            .flat_map(|(records, place)| records.iter().map(move |index| (*index, place)))
            .collect();
        if places.is_empty() {
            return false;
        }
        let left = &self.left;
        let has_left = |index| left.iter().any(|records| records.contains(&index));
        self.batch.promote_repeats(|repeat: &OwnRepeat| {
            let is_free = match places.get(&repeat.first) {
                Some(Place::Free) => true,
                Some(Place::FreeForOthers) => repeat.repetition != Repetition::Same,
                _ => false,
            };
            is_free && !has_left(repeat.index)
        })
    }

    /// Reports the outcome of the others, once nothing is pending.
    pub(super) fn settle_own_repeats(&mut self) {
        let repeats = self.batch.own_repeats();
        if repeats.is_empty() {
            self.report.contested = self.batch.take_contested(&HashSet::new());
            return;
        }
        let failed = self.report.failed.iter();
        let failed: HashMap<usize, &Reason<E>> = failed
            .flat_map(|unstored| {
                let reason = &unstored.reason;
                unstored.records.iter().map(move |index| (*index, reason))
            })
            .collect();
        let mut duplicates = Vec::new();
        let mut unstored = Vec::new();
        for repeat in repeats {
            let reason = match (&repeat.repetition, failed.get(&repeat.first).copied()) {
                (Repetition::Stored, _) | (Repetition::Same, None) => {
                    duplicates.push(repeat.index);
                    continue;
                }
                (Repetition::Other { id }, None | Some(Reason::Conflict { .. })) => {
                    Reason::Conflict { id: id.clone() }
                }
                (Repetition::Same, Some(reason)) if !matches!(reason, Reason::Withdrawn) => {
                    reason.clone()
                }
                _ if self.has_left(repeat.index) => Reason::Withdrawn,
                // A repeat that could be sent would have been sent instead.
                (_, Some(Reason::Withdrawn)) => {
                    let stop = self.report.stopped_by.clone();
                    Reason::NotSent(Box::new(stop.unwrap_or(Reason::Withdrawn)))
                }
                // The first record decides which data the id has; without it that is open.
                (_, Some(reason)) => Reason::NotSent(Box::new(reason.clone())),
            };
            unstored.push((repeat.index, reason));
        }
        let of_conflicts = unstored.iter().filter(|(_, reason)| reason.is_conflict());
        let of_conflicts = of_conflicts.map(|(index, _)| index);
        let are_settled = duplicates.iter().chain(of_conflicts).copied().collect();
        self.report.duplicates.extend(duplicates);
        for (index, reason) in unstored {
            self.report.fail_one(index, reason);
        }
        self.report.contested = self.batch.take_contested(&are_settled);
    }

    /// Whether the caller of this record has left.
    fn has_left(&self, index: usize) -> bool {
        self.left.iter().any(|records| records.contains(&index))
    }
}
