//! How the template of an id separates its parts.

use crate::model::spec::{BucketSpec, IdSegment};

/// The first character of the separator after a key part, unless that is the last part.
pub(super) fn separator_behind(spec: &BucketSpec, part: usize) -> Option<char> {
    let mut segments = spec
        .id()
        .iter()
        .skip_while(|segment| **segment != IdSegment::Key(part));
    segments.next();
    match (segments.next(), segments.next()) {
        (Some(IdSegment::Literal(separator)), Some(IdSegment::Key(_))) => separator.chars().next(),
        _ => None,
    }
}
