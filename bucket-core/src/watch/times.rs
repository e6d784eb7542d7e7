//! What is known of the times of a bucket's records, for the event of its removal.

use bson::{DateTime, Document, RawBsonRef, RawDocument, doc};

use crate::{
    bucket::{
        edits::left,
        id::BucketId,
        record::Record,
        sealed::{FIRST, LAST, SEALED},
    },
    model::{form::Span, spec::BucketSpec},
    time::range::TimeRange,
};

/// The times of the items of a bucket whose form has no span, in the answer to a question for it.
const TIMES: &str = "_times";

/// What is known of the times of a bucket's records.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Times {
    /// The start of the bucket, in forms with a span.
    start: Option<DateTime>,
    /// And its end.
    end: Option<DateTime>,
    /// The date from which its age counts, in forms without a span.
    dated: Option<DateTime>,
}

impl Times {
    /// What a stored document says, or the parts of it that were read.
    pub(super) fn of(spec: &BucketSpec, stored: &RawDocument) -> Self {
        let mut times = Self::default();
        for (path, value) in stored.into_iter().map_while(Result::ok) {
            times.set(spec, path.as_str(), value);
        }
        times
    }

    /// Takes a field of the bucket.
    pub(super) fn set(&mut self, spec: &BucketSpec, path: &str, value: RawBsonRef<'_>) {
        let names = spec.names();
        if spec.form().has_span() {
            if path == names.start {
                self.start = value.as_datetime();
            } else if path == names.end {
                self.end = value.as_datetime();
            }
        } else if spec.dated_by() == Some(path) {
            self.dated = value.as_datetime();
        }
    }

    /// What these know, and the other ones where they do not.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            start: self.start.or(other.start),
            end: self.end.or(other.end),
            dated: self.dated.or(other.dated),
        }
    }

    /// What the id of a window says too: its start. Its length may be another one than that of the model: a
    /// key can have limits of its own, and they can change.
    pub(super) fn or_of_id<T: Record>(self, id: &BucketId<T>) -> Self {
        let has_start = T::SPEC.form().span() == Span::Window && !T::SPEC.object_ids();
        let start = has_start.then(|| id.opened_at());
        self.or(Self {
            start,
            ..Self::default()
        })
    }

    /// A span that has all records of the bucket; `None` if neither of its sides is known.
    pub(super) fn span(self, spec: &BucketSpec) -> Option<TimeRange> {
        span(spec, self.start, self.end)
    }

    /// Whether reads have hidden the bucket at this time.
    pub(super) fn is_expired(self, spec: &BucketSpec, at: DateTime) -> Option<bool> {
        let Some(last) = spec.expired_until(at) else {
            return Some(false);
        };
        self.end.or(self.dated).map(|date| date <= last)
    }
}

/// The fields that a question for a bucket asks for, so that its times are known.
pub(super) fn fields(spec: &BucketSpec) -> impl Iterator<Item = &'static str> {
    let names = spec.names();
    let of_span = [names.start, names.end];
    let of_span = of_span.into_iter().filter(|_| spec.form().has_span());
    of_span.chain(spec.dated_by())
}

/// The same for the times of its items, in forms where no field has them.
pub(super) fn project_items(spec: &BucketSpec, projection: &mut Document) {
    if spec.form().has_span() {
        return;
    }
    let items = format!("${}", spec.items());
    let time = format!("$$this.{}", spec.time().name);
    let times = doc! { "$map": { "input": left(&*items), "in": time } };
    let both = doc! { FIRST: { "$min": times.clone() }, LAST: { "$max": times } };
    projection.insert(
        TIMES,
        doc! { "$cond": [{ "$isArray": &items }, both, format!("${SEALED}")] },
    );
}

/// A span that has all records of a bucket with this start and this end.
pub(super) fn span(
    spec: &BucketSpec,
    start: Option<DateTime>,
    end: Option<DateTime>,
) -> Option<TimeRange> {
    let end = match spec.form().span() {
        Span::None => return None,
        Span::Window => end,
        Span::Records => end.and_then(just_after),
    };
    let span = TimeRange::new(start, end);
    (span != TimeRange::ALL).then_some(span)
}

/// The span of the items as the answer has it.
pub(super) fn span_of_items(head: &RawDocument) -> Option<TimeRange> {
    let times = head.get_document(TIMES).ok()?;
    let first = times.get_datetime(FIRST).ok()?;
    let last = times.get_datetime(LAST).ok()?;
    Some(TimeRange::new(Some(first), just_after(last)))
}

/// The end of a span whose last moment this is; `None` at the end of time.
fn just_after(last: DateTime) -> Option<DateTime> {
    let after = last.timestamp_millis().checked_add(1);
    after.map(DateTime::from_millis)
}
