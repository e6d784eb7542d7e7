//! What a form decides for its chains: which bucket takes the next records, and how to find it.

use bson::Document;

use super::{Chain, Known, Need, Step, Tail};
use crate::{
    bucket::id::Place,
    error::DamagedBucket,
    model::form::Kind,
    read::{self, FindPlan},
    write::{Action, Put},
};

pub(super) trait Rules {
    /// The statement for the pending records from `from` on; `None` if the tail must be seen first.
    fn next(&self, chain: &Chain, tail: &Tail, from: usize) -> Option<Step>;

    /// What a bucket that was read means for the next record.
    fn saw(&self, chain: &Chain, known: Known) -> Result<Tail, DamagedBucket>;

    /// What is needed if nothing is known about the tail.
    fn first_need(&self, _: &Chain) -> Need {
        Need::NewestBucket
    }

    /// The read that finds the open bucket.
    fn open_bucket(&self, chain: &Chain) -> FindPlan {
        read::open_buckets(chain.spec, &[&chain.key])
    }

    /// The read that finds the newest bucket.
    fn newest_bucket(&self, chain: &Chain) -> FindPlan;

    /// The read that finds the newest bucket that fulfils the condition.
    fn newest_with(&self, chain: &Chain, condition: &Document) -> FindPlan {
        read::newest_with(chain.spec, &chain.key, condition)
    }

    /// Where the bucket of the next record is; `None` if no bucket can follow it, or if it must be seen first.
    fn next_place(&self, _: &Chain) -> Option<Place> {
        None
    }

    /// Whether a record may go to a later bucket although this one is open.
    fn may_leave_open(&self) -> bool {
        false
    }

    /// Uses the id of the bucket that took the key's last record.
    fn guess(&self, chain: &mut Chain, id: String) {
        chain.guess = Some(id);
    }

    /// An append to a bucket of which only the id is known.
    fn guessed(&self, chain: &Chain, id: &str) -> Action {
        Action::Put(Put::lone(chain.spec, id, chain.kind.size()))
    }
}

impl Kind {
    pub(super) fn rules(&self) -> &dyn Rules {
        match self {
            Self::Count(rules) => rules,
            Self::Window(rules) => rules,
            Self::Hybrid(rules) => rules,
            Self::Late(rules) => rules,
            Self::Numbered(rules) => rules,
        }
    }
}
