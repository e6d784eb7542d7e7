//! What a reply leaves open where an earlier try of its command had none.
//!
//! A command without a reply is sent again as it is, and the server applies each statement once. But
//! the first try may arrive late: after a reply that says that a statement was refused, and find
//! that it is not refused any more. Most refusals are for good (a bucket that is full stays full,
//! an id that is taken stays taken). One is not: a bucket that could not be opened because another
//! one of its key was open can be opened once that one is full.

use super::{Batch, Step};

/// How far a reply can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It says everything.
    None,
    /// An earlier try may have arrived after it; none will any more.
    Overtaken,
    /// An earlier try may still arrive: what was refused may be applied yet.
    Open,
}

/// A bucket that could not be opened, or has been opened since by an earlier try.
#[derive(Debug)]
pub struct Doubtful {
    pub(super) chain: usize,
    /// The statement that opens it, and those behind it.
    pub(super) steps: Vec<Step>,
}

impl Doubtful {
    /// The `_id` to look for: where there is no bucket of it, nothing was applied.
    #[must_use]
    pub fn id(&self) -> &str {
        self.steps.first().map_or("", |step| step.action().id())
    }
}

impl Batch {
    /// No bucket of that id was found: the statement was refused, and that is all.
    pub fn refused_after_all(&mut self, doubtful: &Doubtful) {
        let chain = self.chains_mut().get_mut(doubtful.chain);
        if let (Some(chain), Some(step)) = (chain, doubtful.steps.first()) {
            chain.missed(step);
        }
    }

    /// It is not known whether these statements were applied; their records are not tried again.
    /// Gives their indexes.
    pub fn left_unknown(&mut self, doubtful: &Doubtful) -> Vec<usize> {
        let Some(chain) = self.chains_mut().get_mut(doubtful.chain) else {
            return Vec::new();
        };
        let steps = doubtful.steps.iter();
        let unknown = steps.flat_map(|step| chain.abandon(step)).collect();
        self.set_held_back_aside();
        unknown
    }
}
