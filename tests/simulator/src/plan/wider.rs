//! Histories with more tasks, of more forms, and with all kinds of edits.

use super::{EditKind, FAULTS, FaultPlan, MESSAGES, Plan, fault, harmless, writer};
use crate::random::Random;

/// The most writers and editors of a history.
const TASKS: u64 = 8;

impl Plan {
    /// A history of any form, with up to eight tasks and all kinds of edits.
    pub(super) fn widen(
        &mut self,
        random: &mut Random,
        forms: u64,
        sources: bool,
        miscounts: bool,
    ) {
        self.form = usize::try_from(random.below(forms)).unwrap_or_default();
        let tasks = usize::try_from(TASKS - random.below(3)).unwrap_or_default();
        while self.writers.len() < tasks {
            if random.below(3) == 0 {
                let writer = writer(random, self.clients.len(), sources);
                self.writers.push(writer);
            } else {
                self.add_editor(random, false);
            }
        }
        for edit in self.writers.iter_mut().flat_map(|it| &mut it.calls) {
            if let Some(edit) = &mut edit.edit {
                edit.forgets = edit.kind.is_removal() && random.below(3) == 0;
                if edit.kind == EditKind::DeleteBetween && random.below(2) == 0 {
                    edit.kind = EditKind::DeleteWhere;
                }
            }
        }
        // More tasks send more messages.
        for _ in 0..FAULTS / 2 {
            let at = u32::try_from(MESSAGES + random.below(MESSAGES)).unwrap_or_default();
            let fault = if miscounts {
                harmless(random)
            } else {
                fault(random)
            };
            self.faults.push(FaultPlan { at, fault });
        }
        self.faults.sort_by_key(|fault| fault.at);
    }
}
