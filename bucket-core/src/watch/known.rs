//! What is known of the buckets that changed lately.

use std::{collections::HashMap, mem};

use bson::{RawDocument, RawDocumentBuf, Timestamp};
use foldhash::fast::RandomState;

use super::times::Times;
use crate::{
    bucket::{merged::MERGED, stored_count},
    codec::raw::{RawWriter, elements},
    model::spec::BucketSpec,
};

/// The most buckets of a generation; two are kept.
const MOST: usize = 5_000;

/// What is known of a bucket.
#[derive(Debug, Clone, Default)]
pub(super) struct Bucket {
    /// The number of its items.
    pub(super) count: Option<u32>,
    /// Its key fields, and the arrays of attributes that it holds for its items.
    pub(super) fields: Option<RawDocumentBuf>,
    /// The time of a change after which the fields are not known. Later events of its transaction have the same time,
    /// and what the server says of the moment before is from before the transaction.
    pub(super) lost: Option<Timestamp>,
    /// The times of its records.
    pub(super) times: Times,
}

impl Bucket {
    /// What a stored document says, or the parts of it that were read.
    pub(super) fn of(spec: &BucketSpec, stored: &RawDocument) -> Self {
        let is_kept = |name: &str| {
            // The origins of its items are read with its start.
            let is_of_merged = name == MERGED || name == spec.names().start;
            spec.keys().iter().any(|key| key.path == name)
                || (spec.merge().is_some() && is_of_merged)
                || spec.shared_arrays().any(|array| array.name == name)
        };
        let fields = RawWriter::build(|writer| {
            for element in elements(stored).map_while(Result::ok) {
                if is_kept(element.name) {
                    writer.raw(element.kind, element.name, element.bytes);
                }
            }
        });
        let count = stored_count(spec, stored).ok();
        Self {
            count: count.and_then(|count| u32::try_from(count).ok()),
            fields: Some(fields),
            lost: None,
            times: Times::of(spec, stored),
        }
    }

    /// Whether others were merged into it, as far as is known.
    pub(super) fn is_merged(&self) -> bool {
        let fields = self.fields.as_ref();
        fields.is_some_and(|fields| !matches!(fields.get(MERGED), Ok(None)))
    }
}

/// What is known of the buckets that changed lately, in bounded memory: nothing depends on it, since the server
/// can be asked.
#[derive(Debug, Default)]
pub(super) struct Known {
    young: HashMap<String, Bucket, RandomState>,
    old: HashMap<String, Bucket, RandomState>,
}

impl Known {
    /// Takes what is known of this bucket.
    pub(super) fn take(&mut self, id: &str) -> Bucket {
        let young = self.young.remove(id);
        let old = self.old.remove(id);
        young.or(old).unwrap_or_default()
    }

    pub(super) fn keep(&mut self, id: &str, bucket: Bucket) {
        if self.young.len() >= MOST {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(id.to_owned(), bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, Known, MOST};

    #[test]
    fn memory_is_bounded_and_the_latest_are_kept() {
        let mut known = Known::default();
        for number in 0..10 * MOST {
            let bucket = Bucket {
                count: u32::try_from(number).ok(),
                ..Bucket::default()
            };
            known.keep(&number.to_string(), bucket);
            assert!(known.young.len() + known.old.len() <= 2 * MOST);
        }
        let last = 10 * MOST - 1;
        let kept = known.take(&last.to_string()).count;
        assert_eq!(kept, u32::try_from(last).ok());
        assert_eq!(known.take(&last.to_string()).count, None);
        assert_eq!(known.take("0").count, None);
    }
}
