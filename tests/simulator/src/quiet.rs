//! Keeps the panics of histories for the report instead of printing each of them during shrinking.

use std::{cell::RefCell, panic, sync::Once};

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    static IS_QUIET: RefCell<bool> = const { RefCell::new(false) };
}

/// While this exists, the panics of this thread are kept.
#[derive(Debug)]
pub(crate) struct Quiet;

/// From now on, keeps the panics of this thread.
pub(crate) fn keep_panics() -> Quiet {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if IS_QUIET.with(|quiet| *quiet.borrow()) {
                LAST.with(|last| *last.borrow_mut() = Some(info.to_string()));
            } else {
                others(info);
            }
        }));
    });
    IS_QUIET.with(|quiet| *quiet.borrow_mut() = true);
    Quiet
}

impl Drop for Quiet {
    fn drop(&mut self) {
        IS_QUIET.with(|quiet| *quiet.borrow_mut() = false);
    }
}

/// The last panic of this thread.
pub(crate) fn last_panic() -> String {
    let last = LAST.with(|last| last.borrow_mut().take());
    last.unwrap_or_else(|| "a panic".to_owned())
}
