//! Headers: buckets whose records have expired, and of which only the statistics are kept.

use bson::{DateTime, RawDocument};

use super::{
    archived::Instead,
    sealed::{ARCHIVED, EXPIRED, SEALED, packed, unsealed},
};
use crate::{error::Damage, model::spec::BucketSpec};

/// Whether the records of a bucket have expired at `now`, and its statistics are kept. The archive, which has records, may have
/// removed its copy.
#[must_use]
pub fn has_expired(spec: &BucketSpec, stored: &RawDocument, now: DateTime) -> bool {
    let date = stored.get_datetime(spec.age_field()).ok();
    date.is_some_and(|date| spec.headers_until(now).is_some_and(|until| date <= until))
}

/// Whether the items of a bucket are elsewhere or gone, or this program cannot unpack them: nothing is wrong with what it has
/// instead.
pub(crate) fn has_no_items(spec: &BucketSpec, stored: &RawDocument) -> bool {
    matches!(
        unsealed(spec, stored),
        Err(Damage::Sealed { .. } | Damage::Archived | Damage::Expired { .. })
    )
}

/// Which of [`ARCHIVED`] and [`EXPIRED`] a bucket says of its items, in whose place another tool has put something else.
pub(crate) fn overwritten(spec: &BucketSpec, stored: &RawDocument) -> Option<&'static str> {
    if packed(spec.items(), stored).is_some() {
        return None;
    }
    let sealed = stored.get_document(SEALED).ok()?;
    let says = |name: &&str| matches!(sealed.get(name), Ok(Some(_)));
    [ARCHIVED, EXPIRED].into_iter().find(says)
}

/// Whether only the statistics of a bucket are kept. What was in the archive may be gone there already.
pub(crate) fn is_header(
    spec: &BucketSpec,
    stored: &RawDocument,
    damage: &Damage,
    now: DateTime,
) -> bool {
    if let Damage::Expired { .. } = damage {
        return spec.keep_stats().is_some();
    }
    let packed = packed(spec.items(), stored);
    let is_elsewhere = packed.is_some_and(|packed| Instead::read(packed).is_some());
    is_elsewhere && has_expired(spec, stored, now)
}
