//! Those who seal, unseal and merge buckets while others write to them.

use super::{Fault, FaultPlan, MESSAGES, Plan, small};
use crate::random::Random;

/// How often a bucket is read to be sealed or unsealed.
const SEALS: usize = 30;
/// How often the sealed buckets are read to be merged.
const MERGES: usize = 40;
/// The number of forms that merge, which are the last ones.
const MERGED_FORMS: u64 = 2;
/// The most milliseconds between the read and the statement.
const LATE: u64 = 300;
/// The most milliseconds by which a message of a history with mergers is late.
const MOST_UNDER_WAY: u16 = 250;

impl Plan {
    pub(super) fn add_sealers(&mut self, random: &mut Random) {
        for _ in 0..SEALS {
            let at = u32::try_from(random.below(2 * MESSAGES)).unwrap_or_default();
            let delay = u16::try_from(random.below(LATE)).unwrap_or_default();
            let fault = Fault::Seal(small(random), delay);
            self.faults.push(FaultPlan { at, fault });
        }
        self.faults.sort_by_key(|fault| fault.at);
    }

    /// Gives the history a form whose sealed buckets are merged.
    pub(super) fn add_mergers(&mut self, random: &mut Random, forms: u64) {
        self.form = usize::try_from(forms - 1 - random.below(MERGED_FORMS)).unwrap_or_default();
        // Windows of one key follow each other more often.
        self.keys = 1;
        for _ in 0..3 {
            self.add_sealers(random);
        }
        for _ in 0..MERGES {
            let at = u32::try_from(random.below(2 * MESSAGES)).unwrap_or_default();
            let delay = u16::try_from(random.below(LATE / 4)).unwrap_or_default();
            let fault = Fault::Merge(delay);
            self.faults.push(FaultPlan { at, fault });
        }
        for FaultPlan { fault, .. } in &mut self.faults {
            if let Fault::Late(late) | Fault::SlowReply(late) = fault {
                *late = (*late).min(MOST_UNDER_WAY);
            }
        }
        self.faults.sort_by_key(|fault| fault.at);
    }
}
