//! Whether a command can have left: asked of the driver's choice of a server, which comes before
//! everything that is sent.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use mongodb::{ServerType, options::SelectionCriteria};

const WAITING: u8 = 0;
const CHOSEN: u8 = 1;
const CALLED_OFF: u8 = 2;

/// The choice of a server for one try of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    state: Arc<AtomicU8>,
}

impl Selection {
    /// Servers that take writes, unless the try was called off.
    pub(super) fn criteria(&self) -> SelectionCriteria {
        let state = Arc::clone(&self.state);
        SelectionCriteria::Predicate(Arc::new(move |server| {
            let takes_writes = matches!(
                server.server_type(),
                ServerType::RsPrimary
                    | ServerType::Standalone
                    | ServerType::Mongos
                    | ServerType::LoadBalancer
            );
            if !takes_writes {
                return false;
            }
            let chosen =
                state.compare_exchange(WAITING, CHOSEN, Ordering::AcqRel, Ordering::Acquire);
            !matches!(chosen, Err(CALLED_OFF))
        }))
    }

    /// A try sent nothing, so the next one chooses anew; unless one before `maybe` did.
    pub(super) fn reset(&self, maybe: bool) {
        if !maybe {
            // One that was called off stays so.
            let _ =
                self.state
                    .compare_exchange(CHOSEN, WAITING, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Calls the try off; whether that was in time, so that it sends nothing.
    pub(super) fn call_off(&self) -> bool {
        let called_off =
            self.state
                .compare_exchange(WAITING, CALLED_OFF, Ordering::AcqRel, Ordering::Acquire);
        matches!(called_off, Ok(_) | Err(CALLED_OFF))
    }
}

#[cfg(test)]
mod tests {
    use super::Selection;

    #[test]
    fn a_try_that_was_called_off_stays_so() {
        let selection = Selection::default();
        assert!(selection.call_off());
        assert!(selection.call_off());
    }
}
