//! Whether a command can have been sent: observed in the driver's server selection, which precedes everything
//! that is sent.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use mongodb::{ServerType, options::SelectionCriteria};
use tokio::{sync::Notify, time::Instant};

use super::deadline::GRACE;

/// No server is chosen: nothing can have been sent.
const WAITING: u8 = 0;
/// A server is chosen: the command may have been sent.
const CHOSEN: u8 = 1;
/// A server is chosen, and the command is not retried unless it may have been sent.
const LET_GO: u8 = 2;
/// Nothing was sent, and nothing will be.
const CALLED_OFF: u8 = 3;

/// The server selection for the attempts of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: AtomicU8,
    called_off: Notify,
}

impl Selection {
    /// Accepts servers that take writes, unless the command was called off. Accepts none once it is late: a
    /// runtime that did not run for a while may ask only then.
    pub(super) fn criteria(&self, deadline: Instant) -> SelectionCriteria {
        let shared = Arc::clone(&self.shared);
        SelectionCriteria::Predicate(Arc::new(move |server| {
            let takes_writes = matches!(
                server.server_type(),
                ServerType::RsPrimary
                    | ServerType::Standalone
                    | ServerType::Mongos
                    | ServerType::LoadBalancer
            );
            takes_writes && shared.goes(deadline + GRACE)
        }))
    }

    /// An attempt sent nothing: the next one selects a server again, unless the command was let go. With
    /// `maybe`, an earlier attempt may have sent it, and it is retried in any case.
    pub(super) fn reset(&self, maybe: bool) {
        if maybe {
            return;
        }
        self.shared.change(CHOSEN, WAITING);
        self.shared.change(LET_GO, CALLED_OFF);
    }

    /// Calls the command off, or lets it go if it may have been sent. Returns whether it was called off in
    /// time, so that nothing is sent.
    pub(super) fn call_off(&self) -> bool {
        loop {
            // A server may be chosen, or the selection reset, between these steps.
            self.shared.change(WAITING, CALLED_OFF);
            self.shared.change(CHOSEN, LET_GO);
            match self.shared.state.load(Ordering::Acquire) {
                CALLED_OFF => return true,
                LET_GO => return false,
                _ => {}
            }
        }
    }

    /// Whether the command was called off: nothing of it was sent.
    pub(super) fn is_called_off(&self) -> bool {
        self.shared.state.load(Ordering::Acquire) == CALLED_OFF
    }

    /// Ends when the command is called off.
    pub(super) async fn called_off(&self) {
        while !self.is_called_off() {
            self.shared.called_off.notified().await;
        }
    }
}

impl Shared {
    /// A server is chosen. Returns false if the command was called off, or after its end.
    fn goes(&self, end: Instant) -> bool {
        if Instant::now() >= end {
            return false;
        }
        self.change(WAITING, CHOSEN);
        self.state.load(Ordering::Acquire) != CALLED_OFF
    }

    fn change(&self, from: u8, to: u8) {
        let changed = self
            .state
            .compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire);
        // In any other state there is nothing to change.
        if changed.is_ok() && to == CALLED_OFF {
            self.called_off.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Selection;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    #[test]
    fn a_server_that_is_chosen_too_late_gets_nothing() {
        let selection = Selection::default();
        assert!(!selection.shared.goes(Instant::now()));
        assert!(selection.call_off(), "nothing was sent");
    }

    #[test]
    fn a_command_that_was_called_off_stays_called_off() {
        let selection = Selection::default();
        assert!(selection.call_off());
        assert!(selection.call_off());
        assert!(!selection.shared.goes(later()));
        selection.reset(false);
        assert!(selection.is_called_off());
    }

    #[test]
    fn a_command_that_may_have_been_sent_is_not_called_off() {
        let selection = Selection::default();
        assert!(selection.shared.goes(later()));
        assert!(!selection.call_off());
        assert!(selection.shared.goes(later()));
        // It may have been applied, so it is followed to its outcome.
        selection.reset(true);
        assert!(!selection.is_called_off());
    }

    #[test]
    fn a_command_that_was_let_go_and_not_sent_is_not_retried() {
        let selection = Selection::default();
        assert!(selection.shared.goes(later()));
        assert!(!selection.call_off());
        selection.reset(false);
        assert!(selection.is_called_off());
        assert!(!selection.shared.goes(later()));
    }

    #[test]
    fn an_unsent_command_is_retried_while_someone_waits() {
        let selection = Selection::default();
        assert!(selection.shared.goes(later()));
        selection.reset(false);
        assert!(!selection.is_called_off());
        assert!(selection.shared.goes(later()));
    }
}
