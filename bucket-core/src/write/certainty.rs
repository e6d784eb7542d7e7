//! What a reply leaves open if an earlier attempt of its command had no reply.
//!
//! A command without a reply is sent again unchanged, and the server applies each statement once. But the
//! first attempt may arrive late, after a reply that refused a statement, and succeed. Most refusals are
//! permanent (a full bucket stays full, a taken id stays taken). One is not: if a bucket could not be opened
//! because another one of its key was open, it can be opened once that one is full.

use super::{Batch, Step};

/// How far a reply can be relied on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The reply says everything.
    Full,
    /// An earlier attempt may have arrived after the reply, but none will from now on.
    Overtaken,
    /// An earlier attempt may still arrive: refused statements may still be applied.
    Open,
}

/// A bucket that could not be opened, or that an earlier attempt has opened since.
#[derive(Debug)]
pub struct Uncertain {
    pub(super) chain: usize,
    /// The statement that opens it, and those after it.
    pub(super) steps: Vec<Step>,
}

impl Uncertain {
    /// The `_id` to look for: if no bucket has it, nothing was applied.
    #[must_use]
    pub fn id(&self) -> &str {
        self.steps.first().map_or("", |step| step.action().id())
    }
}

impl Batch {
    /// No bucket with that id was found: the statement was only refused.
    pub fn refused_after_all(&mut self, doubtful: &Uncertain) {
        let chain = self.chains_mut().get_mut(doubtful.chain);
        if let (Some(chain), Some(step)) = (chain, doubtful.steps.first()) {
            chain.missed(step);
        }
    }

    /// It is unknown whether these statements were applied; their records are not tried again. Returns their
    /// indexes.
    pub fn left_unknown(&mut self, doubtful: &Uncertain) -> Vec<usize> {
        let Some(chain) = self.chains_mut().get_mut(doubtful.chain) else {
            return Vec::new();
        };
        let steps = doubtful.steps.iter();
        let unknown = steps.flat_map(|step| chain.abandon(step)).collect();
        self.set_held_back_aside();
        unknown
    }
}
