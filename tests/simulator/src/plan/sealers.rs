//! Those who seal and unseal buckets while others write to them.

use super::{Fault, FaultPlan, MESSAGES, Plan, small};
use crate::random::Random;

/// How often a bucket is read to be sealed or unsealed.
const SEALS: usize = 30;
/// The most milliseconds between the read and the statement.
const LATE: u64 = 300;

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
}
