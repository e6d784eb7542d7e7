//! Reads that a failover cannot roll back.
//!
//! A primary shows its writes before a majority has them. If it dies then, the next primary continues without
//! them, and so without what a writer has seen. If something is built on what was seen, a writer that waits
//! for a majority reads only what a majority has. That data is not stale for it: the reply to a refused
//! statement comes only once a majority has what refused it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bson::{Document, RawDocumentBuf, Timestamp, raw::cstr};
use bucket_core::read::ReadLevel;
use mongodb::options::{Acknowledgment, WriteConcern};

/// Whether a writer reads only what a majority has.
#[derive(Debug)]
pub(super) struct Commitment {
    is_for_good: bool,
    /// The server's operation time of the last look.
    seen: AtomicU64,
}

impl Commitment {
    /// Writes with less than a majority may be lost whatever was read. A majority may also lag far, so such
    /// writers read what the primary has. Without a concern the server's default applies, which is the
    /// majority.
    pub(super) fn of(concern: Option<&WriteConcern>) -> Self {
        let acknowledged_by = concern.map(|concern| &concern.w);
        Self {
            is_for_good: matches!(acknowledged_by, None | Some(Some(Acknowledgment::Majority))),
            seen: AtomicU64::new(0),
        }
    }

    /// Whether acknowledged writes are permanent.
    pub(super) fn is_for_good(&self) -> bool {
        self.is_for_good
    }

    /// Makes later causal reads see at least what this reply's read saw.
    pub(super) fn saw(&self, reply: &Document) {
        if let Ok(Timestamp { time, increment }) = reply.get_timestamp("operationTime") {
            let seen = u64::from(time) << 32 | u64::from(increment);
            self.seen.fetch_max(seen, Relaxed);
        }
    }

    /// The read concern of a read outside a transaction; `None` for the server's default, `local`.
    pub(super) fn read_concern(&self, level: ReadLevel) -> Option<RawDocumentBuf> {
        if !self.is_for_good || level == ReadLevel::Local {
            return None;
        }
        let mut concern = RawDocumentBuf::new();
        concern.append(cstr!("level"), "majority");
        let seen = self.seen.load(Relaxed);
        if level == ReadLevel::CausalMajority && seen > 0 {
            let [time, increment] = [seen >> 32, seen & u64::from(u32::MAX)]
                .map(|half| u32::try_from(half).unwrap_or(u32::MAX));
            concern.append(cstr!("afterClusterTime"), Timestamp { time, increment });
        }
        Some(concern)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Timestamp, doc};
    use bucket_core::read::ReadLevel;
    use mongodb::options::WriteConcern;

    use super::Commitment;

    fn concern(commitment: &Commitment, level: ReadLevel) -> Option<bson::Document> {
        let concern = commitment.read_concern(level)?;
        Some(bson::Document::try_from(concern).unwrap())
    }

    #[test]
    fn a_read_that_must_not_see_less_names_the_time_of_the_latest_look() {
        let commitment = Commitment::of(Some(&WriteConcern::majority()));
        let majority = doc! { "level": "majority" };
        let causal = concern(&commitment, ReadLevel::CausalMajority);
        assert_eq!(causal, Some(majority.clone()));
        let at = |time, increment| Timestamp { time, increment };
        commitment.saw(&doc! { "operationTime": at(7, u32::MAX) });
        commitment.saw(&doc! { "operationTime": at(7, 3) });
        commitment.saw(&doc! { "ok": 1 });
        let causal = concern(&commitment, ReadLevel::CausalMajority);
        let expected = doc! { "level": "majority", "afterClusterTime": at(7, u32::MAX) };
        assert_eq!(causal, Some(expected));
        assert_eq!(concern(&commitment, ReadLevel::Majority), Some(majority));
        assert_eq!(concern(&commitment, ReadLevel::Local), None);
    }

    #[test]
    fn a_writer_with_less_than_a_majority_reads_what_the_primary_has() {
        let weak = WriteConcern::nodes(1);
        let commitment = Commitment::of(Some(&weak));
        assert_eq!(concern(&commitment, ReadLevel::CausalMajority), None);
        assert!(!commitment.is_for_good());
        assert!(Commitment::of(None).is_for_good());
    }
}
