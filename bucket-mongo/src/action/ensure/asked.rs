//! What a call of `ensure` asks for.

/// What the call may do about the validator of the collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Validator {
    /// Nothing.
    Ignored,
    /// Install the model's, if there is none.
    Installed,
    /// Install the model's in any case.
    Replaced,
}

impl Validator {
    pub(super) fn is_asked_for(self) -> bool {
        self > Self::Ignored
    }
}
