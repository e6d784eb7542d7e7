//! What one batch leaves for the next: the bucket that a chain's last record went into.
//!
//! It is hearsay. A statement that goes by it and finds the bucket otherwise changes nothing, and
//! then the tail is read.

use super::{Chain, Kind, Known, Tail};

/// The bucket that took the last record of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recollection {
    id: String,
    /// How it stood after that, where that is known.
    open: Option<Known>,
    /// How far the source of the records had been stored then.
    position: Option<i64>,
}

impl Chain {
    /// What a later batch gains by, if it does: a bucket that still has room.
    #[must_use]
    pub fn recollection(&self, lone: bool) -> Option<Recollection> {
        let id = self.last.clone()?;
        let open = match &self.tail {
            Tail::Open(known) if known.id == id => Some(known.clone()),
            _ => None,
        };
        match self.kind {
            // Late records of one time come once.
            Kind::Late { .. } => None,
            // Without its count it is good for a lone record alone, whose miss shows.
            _ => (lone || open.is_some()).then_some(Recollection {
                id,
                open,
                position: self.reached(),
            }),
        }
    }

    /// Goes by what an earlier batch has left. Gives the indexes of the records that are stored
    /// already.
    pub(in crate::write) fn recall(&mut self, earlier: &Recollection, lone: bool) -> Vec<usize> {
        let gone_by = if lone {
            self.guess(earlier.id.clone());
            true
        } else {
            self.recall_tail(earlier)
        };
        match earlier.position {
            Some(position) if gone_by => self.recall_watermark(position),
            _ => Vec::new(),
        }
    }

    /// Whether it is of use here.
    fn recall_tail(&mut self, earlier: &Recollection) -> bool {
        let Some(known) = &earlier.open else {
            return false;
        };
        let mut known = known.clone();
        if !matches!(self.kind, Kind::Numbered { .. }) {
            // Limits may have been changed since.
            known.size = self.kind.size();
        }
        if !known.id.starts_with(&self.prefix) || !known.has_room(self.spec) {
            return false;
        }
        self.tail = Tail::Open(known);
        self.recalled = Recalled::Hearsay;
        true
    }

    /// Whether what was recalled turned out to be out of date.
    #[must_use]
    pub fn recalled_in_vain(&self) -> bool {
        self.recalled == Recalled::InVain
    }
}

/// What became of a recollection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recalled {
    Nothing,
    Hearsay,
    InVain,
}
