//! What a failover cannot take back.
//!
//! A primary shows its writes before a majority has them. Should it die then, the next one goes on without
//! them, and so without what a writer has seen. Where something is built on what was seen, a
//! writer that waits for the majority itself reads only what a majority has. That is not behind for it:
//! the reply to a refused statement comes once a majority has what was in its way.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bson::{Document, RawDocumentBuf, Timestamp, raw::cstr};
use bucket_core::read::ReadLevel;
use mongodb::options::{Acknowledgment, WriteConcern};

/// How far a writer goes by what a majority has.
#[derive(Debug)]
pub(super) struct Commitment {
    is_for_good: bool,
    /// The time of the last look, as the server counts it.
    seen: AtomicU64,
}

impl Commitment {
    /// What is written with less than a majority may be gone tomorrow whatever was read. A majority may
    /// be far behind it, too, so such writers read what the primary has. Without a concern the
    /// server's own counts, which is the majority.
    pub(super) fn of(concern: Option<&WriteConcern>) -> Self {
        let acknowledged_by = concern.map(|concern| &concern.w);
        Self {
            is_for_good: matches!(acknowledged_by, None | Some(Some(Acknowledgment::Majority))),
            seen: AtomicU64::new(0),
        }
    }

    /// Whether what is acknowledged stays.
    pub(super) fn is_for_good(&self) -> bool {
        self.is_for_good
    }

    /// Later reads that must not see less than this one will not.
    pub(super) fn saw(&self, reply: &Document) {
        if let Ok(Timestamp { time, increment }) = reply.get_timestamp("operationTime") {
            let seen = u64::from(time) << 32 | u64::from(increment);
            self.seen.fetch_max(seen, Relaxed);
        }
    }

    /// The read concern of a read outside of a transaction; none for the server's default, `local`.
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
    fn who_writes_with_less_than_a_majority_reads_what_the_primary_has() {
        let weak = WriteConcern::nodes(1);
        let commitment = Commitment::of(Some(&weak));
        assert_eq!(concern(&commitment, ReadLevel::CausalMajority), None);
        assert!(!commitment.is_for_good());
        assert!(Commitment::of(None).is_for_good());
    }
}
