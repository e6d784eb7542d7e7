//! Which fields mend a problem, if they follow from the rest of the document.

use std::borrow::Cow;

use bson::{DateTime, Document, RawArrayBuf, RawBson, RawBsonRef, RawDocument, doc};

use super::{changes::Changes, full};
use crate::{
    bucket::{
        ItemReader,
        edits::{EDITS, is_removed},
        header::has_no_items,
        id::{Place, is_of_key, parse_place, prefix},
        item_time, items, key_of,
        merged::{MERGED, Origins},
        packed::ends_of,
        record::Record,
        sealed::{self, ARCHIVED, FIRST, LAST, SEALED, archived_path},
        unsealed,
    },
    check::{Own, Problem},
    error::Damage,
    model::{
        form::{Form, OwnField, Span},
        limits::Limits,
        spec::{BucketSpec, ID},
    },
    stats::Total,
    time::window::is_window,
};

/// The fields that mend this problem; `None` if they would be a guess.
pub(super) fn of<T: Record>(
    problem: &Problem,
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    now: DateTime,
    is_followed: bool,
) -> Option<Changes> {
    let spec = T::SPEC;
    let names = spec.names();
    // Before the items are read: each of them can have one of these, and none has a mend.
    if matches!(
        problem,
        Problem::Item { .. }
            | Problem::OtherType { .. }
            | Problem::Attribute { .. }
            | Problem::RepeatedId { .. }
    ) {
        return None;
    }
    if matches!(problem, Problem::OpenSealed) {
        return closing::<T>(stored, limits);
    }
    let packed = stored;
    // Some mends need no items.
    let rows = unsealed(spec, stored).or_else(|damage| {
        let stays = has_no_items(spec, stored);
        stays.then_some(Cow::Borrowed(stored)).ok_or(damage)
    });
    let stored = &*rows.ok()?;
    let bucket = Bucket::read::<T>(packed, stored, limits, is_followed);
    match problem {
        Problem::Count { .. } => bucket.count(),
        Problem::Removed { .. } => bucket.edits(),
        Problem::Aggregate { .. } | Problem::MissingAggregate { .. } => stats::<T>(&bucket),
        Problem::Bytes { expected, .. } => bucket.bytes(*expected),
        Problem::NotMarked { mark } | Problem::OpenLate { mark } => Changes::one(mark, true),
        Problem::RemovedEarly { .. } | Problem::RemovedLate { .. } => bucket.age(now),
        Problem::AttributeForm { index, array } => bucket.array(index.is_some(), array),
        Problem::Id { .. } | Problem::Window { .. } => bucket.start::<T>(),
        Problem::Outside { .. } => bucket.end_of_records(),
        // Its span is where its items came from.
        Problem::LongSpan { .. } if bucket.own.origins.is_some() => None,
        Problem::LongSpan { end, .. } => {
            let (first, _, latest) = bucket.times()?;
            if *end > latest {
                Changes::one(names.end, latest)
            } else {
                Changes::one(names.start, first)
            }
        }
        Problem::Field { path, .. } => bucket.field::<T>(path, now),
        // Only a person knows what was there, or nothing has to be done.
        Problem::Malformed { .. }
        | Problem::Packed { .. }
        | Problem::Sealed { .. }
        | Problem::OtherType { .. }
        | Problem::Key { .. }
        | Problem::Item { .. }
        | Problem::Attribute { .. }
        | Problem::RepeatedId { .. }
        | Problem::OverCapacity { .. }
        | Problem::Empty
        | Problem::MarkedWithRoom { .. }
        | Problem::Gap { .. }
        | Problem::RoomBefore { .. }
        | Problem::OpenBefore { .. }
        | Problem::TwoOpen { .. }
        | Problem::SamePlace { .. }
        | Problem::SharedId { .. }
        | Problem::Position { .. }
        | Problem::OpenSealed => None,
    }
}

/// Whether one mend is for both problems.
pub(super) fn are_mended_together(one: &Problem, other: &Problem) -> bool {
    match (one, other) {
        (
            Problem::AttributeForm { index, array },
            Problem::AttributeForm {
                index: of_other,
                array: other,
            },
        ) => array == other && index.is_some() == of_other.is_some(),
        _ => one == other,
    }
}

/// The fields of a bucket that takes no more records; `None` if it needs marks, and has no item whose time they can have.
pub(super) fn closing<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
) -> Option<Changes> {
    if let Some(mark) = T::SPEC.form().mark() {
        return Changes::one(mark.name(T::SPEC.names()), true);
    }
    if !matches!(T::SPEC.form(), Form::Count { .. }) {
        return None;
    }
    if let Some(max) = T::SPEC.max_bytes() {
        // It needs no items, which may be elsewhere.
        let mut changes = Changes::one(T::SPEC.names().bytes, i64::from(max))?;
        changes.extend(full::counted_edit(stored)?);
        return Some(changes);
    }
    let rows = match unsealed(T::SPEC, stored) {
        Ok(rows) => rows,
        Err(Damage::Expired { .. }) => {
            let bucket = Bucket::read::<T>(stored, stored, limits, true);
            return full::filled_without_items(T::SPEC, stored, bucket.full());
        }
        Err(_) => return None,
    };
    let bucket = Bucket::read::<T>(stored, &rows, limits, true);
    full::filled(T::SPEC, &rows, bucket.full())
}

/// A document to mend.
struct Bucket<'a> {
    spec: &'static BucketSpec,
    stored: &'a RawDocument,
    own: Own,
    /// With the limits of the key.
    form: Form,
    /// Its items are stored as columns.
    is_packed: bool,
    /// The key has a bucket after it.
    is_followed: bool,
}

impl<'a> Bucket<'a> {
    /// Reads a bucket as it is stored, and with its items unpacked.
    fn read<T: Record>(
        packed: &RawDocument,
        stored: &'a RawDocument,
        limits: impl Fn(&T::Key) -> Option<Limits>,
        is_followed: bool,
    ) -> Self {
        let spec = T::SPEC;
        let form = key_of::<T>(stored).ok().and_then(|key| limits(&key));
        let form = form.and_then(|limits| limits.apply(spec.form()).ok());
        let form = form.unwrap_or(spec.form());
        Self {
            spec,
            stored,
            own: Own::read(spec, form, stored, &mut Vec::new()).unpacked_from(packed),
            form,
            is_packed: sealed::packed(spec.items(), packed).is_some(),
            is_followed,
        }
    }

    /// A field that is missing or has another type.
    fn field<T: Record>(&self, path: &str, now: DateTime) -> Option<Changes> {
        let (spec, names) = (self.spec, self.spec.names());
        if path == names.count {
            return self.count();
        }
        if path == EDITS
            || path
                .strip_prefix(EDITS)
                .is_some_and(|it| it.starts_with('.'))
        {
            return self.edits();
        }
        if path == MERGED {
            return self.start::<T>();
        }
        if path == SEALED {
            let (first, last) = ends_of(spec, self.stored)?;
            return Changes::one(SEALED, doc! { FIRST: first, LAST: last });
        }
        if path == archived_path() {
            let sealed = self.stored.get_document(SEALED).ok();
            let sealed = sealed.and_then(|sealed| Document::try_from(sealed).ok());
            let mut sealed = sealed.unwrap_or_default();
            // Until now nobody knew it.
            sealed.insert(ARCHIVED, now);
            return Changes::one(SEALED, sealed);
        }
        if spec.aggregates().iter().any(|of| of.path == path) {
            return stats::<T>(self);
        }
        let own = spec.own_fields().find(|own| own.name(names) == path)?;
        match own {
            // Closed is always safe: the next writer opens another bucket.
            OwnField::Closed | OwnField::Full => Changes::one(path, true),
            // The right size is then the next problem.
            OwnField::Bytes => self.items().and_then(|_| self.bytes(0)),
            OwnField::ExpireFrom => self.age(now),
            OwnField::End if self.form.sorts() && self.own.origins.is_none() => {
                Changes::one(path, self.times()?.2)
            }
            OwnField::Start | OwnField::End => self.start::<T>(),
            OwnField::Number => {
                let number = self.place_of_id::<T>()?.time;
                (number > 0).then(|| Changes::one(path, number)).flatten()
            }
            _ => None,
        }
    }

    fn count(&self) -> Option<Changes> {
        let names = self.spec.names();
        let count = self.items()?;
        let mut right = Changes::one(names.count, i32::try_from(count).ok()?)?;
        let full = self.full();
        if !self.stays_full() || count >= full {
            return Some(right);
        }
        match self.spec.max_bytes() {
            // Columns lose no items.
            None if self.is_packed => {}
            None => return full::filled(self.spec, self.stored, full),
            // A bucket from before the model counted bytes takes no more.
            Some(_) if !matches!(self.stored.get(names.bytes), Ok(Some(_))) => {}
            Some(max) => right.extend(self.closed_by_bytes(max)?),
        }
        Some(right)
    }

    fn bytes(&self, expected: u64) -> Option<Changes> {
        let is_full = |bytes: u64| {
            self.spec
                .max_bytes()
                .is_some_and(|max| bytes >= u64::from(max))
        };
        if self.stays_full() && !is_full(expected) && self.items()? < self.full() {
            return self.closed_by_bytes(self.spec.max_bytes()?);
        }
        Changes::one(
            self.spec.names().bytes,
            i64::try_from(expected).unwrap_or(i64::MAX),
        )
    }

    /// From this count on the index on open buckets does not have it.
    fn full(&self) -> u32 {
        self.spec.open_below(self.form.size())
    }

    /// Whether it takes no more records, whatever its items say: where room follows from the count and the bytes, one
    /// bucket of a key may have any.
    fn stays_full(&self) -> bool {
        let is_counted = matches!(self.form, Form::Count { .. });
        is_counted && (self.is_followed || self.own.sealed)
    }

    /// Only an edited bucket may count more bytes than it has.
    fn closed_by_bytes(&self, max: u32) -> Option<Changes> {
        let bytes = self.own.fields.bytes.max(u64::from(max));
        let mut changes = Changes::one(self.spec.names().bytes, i64::try_from(bytes).ok()?)?;
        changes.extend(self.edits()?);
        Some(changes)
    }

    fn items(&self) -> Option<u32> {
        let items = items(self.spec, self.stored).ok()?;
        items.into_iter().try_fold(0_u32, |count, item| {
            item.ok()?;
            count.checked_add(1)
        })
    }

    fn edits(&self) -> Option<Changes> {
        full::edits(self.spec, self.stored, 0)
    }

    /// The first, the earliest and the latest time of the items.
    fn times(&self) -> Option<(DateTime, DateTime, DateTime)> {
        let mut times = None;
        for (index, item) in items(self.spec, self.stored).ok()?.into_iter().enumerate() {
            let time = item_time(self.spec, index, item.ok()?).ok()?;
            times = Some(match times {
                None => (time, time, time),
                Some((first, earliest, latest)) => (first, time.min(earliest), time.max(latest)),
            });
        }
        times
    }

    /// A record in the future counts as one of now.
    fn age(&self, now: DateTime) -> Option<Changes> {
        let (_, _, latest) = self.times()?;
        Changes::one(self.spec.names().expire_from, latest.min(now))
    }

    /// The place that the id names, if it is one of the key.
    fn place_of_id<T: Record>(&self) -> Option<Place> {
        let key = key_of::<T>(self.stored).ok()?;
        let Ok(Some(RawBsonRef::String(id))) = self.stored.get(ID) else {
            return None;
        };
        let is_own = is_of_key(self.spec, id, &prefix(self.spec, &key));
        is_own.then(|| parse_place(self.spec, id).ok()).flatten()
    }

    /// The start of a window from the id, if it fits the end and all items; of a hybrid bucket from its first record, if the id
    /// agrees; of a merged bucket its end, too, from where the items came from.
    fn start<T: Record>(&self) -> Option<Changes> {
        let place = self.place_of_id::<T>()?;
        let unit = self.spec.id_unit();
        let (first, earliest, latest) = self.times()?;
        if let Some(origins) = Origins::at_place(self.spec, self.stored, place) {
            return self.merged_span(&origins, earliest, latest);
        }
        let start = match self.form {
            Form::Window { .. } => {
                let start = DateTime::from_millis(place.time.checked_mul(unit.millis())?);
                let end = self
                    .own
                    .is_readable(OwnField::End)
                    .then_some(self.own.fields.end)?;
                let fits = is_window(start, end) && start <= earliest && latest < end;
                fits.then_some(start)?
            }
            Form::Hybrid { .. } => {
                let is_first = Place::at(first, unit).time == place.time && first <= earliest;
                (is_first && !self.own.fields.is_late).then_some(first)?
            }
            Form::Count { .. } | Form::Numbered { .. } => return None,
        };
        Changes::one(self.spec.names().start, start)
    }

    /// The span of all buckets that were merged, if they account for all items.
    fn merged_span(
        &self,
        origins: &Origins,
        earliest: DateTime,
        latest: DateTime,
    ) -> Option<Changes> {
        let names = self.spec.names();
        let (start, end) = (origins.start(), origins.end());
        let items = self.items()?;
        let is_before_end = match self.form.span() {
            Span::Records => latest <= end,
            Span::Window | Span::None => latest < end,
        };
        let fits = start <= earliest && is_before_end && origins.check_count(items).is_ok();
        let mut span = Changes::one(names.start, start)?;
        span.extend(Changes::one(names.end, end)?);
        fits.then_some(span)
    }

    /// The end of a hybrid bucket is the time of its latest record, as long as it covers no more than one may.
    fn end_of_records(&self) -> Option<Changes> {
        let Form::Hybrid { max_duration, .. } = self.form else {
            return None;
        };
        if self.own.origins.is_some() {
            return None;
        }
        let (_, earliest, latest) = self.times()?;
        let (start, end) = (self.own.fields.start, self.own.fields.end);
        let span = latest
            .timestamp_millis()
            .checked_sub(start.timestamp_millis())?;
        let fits = start <= earliest && end < latest && span <= max_duration;
        fits.then(|| Changes::one(self.spec.names().end, latest))
            .flatten()
    }

    /// An array of attributes as the library writes it, of all items that have one, or of the bucket.
    fn array(&self, of_items: bool, name: &str) -> Option<Changes> {
        let reader = ItemReader::new(self.spec, self.stored).ok()?;
        let all = items(self.spec, self.stored).ok()?;
        let right = |item: &RawDocument| -> Option<RawBson> {
            let encoded = reader.encoded(item);
            let value = encoded.get(name).ok()??;
            Some(value.into())
        };
        if !of_items {
            for item in all {
                let RawBsonRef::Document(item) = item.ok()? else {
                    continue;
                };
                let has_own = matches!(item.get(name), Ok(Some(_)));
                if !has_own && !is_removed(item) {
                    return Some(Changes::raw(name, right(item)?));
                }
            }
            return None;
        }
        let mut mended = RawArrayBuf::new();
        for item in all {
            let item = item.ok()?;
            let right = match item {
                RawBsonRef::Document(of) if matches!(of.get(name), Ok(Some(_))) => {
                    right(of).and_then(|right| Changes::raw(name, right).apply(of))
                }
                _ => None,
            };
            mended.push(match right {
                Some(right) => RawBson::Document(right),
                None => RawBson::from(item),
            });
        }
        Some(Changes::raw(self.spec.items(), RawBson::Array(mended)))
    }
}

/// The aggregates of the items.
fn stats<T: Record>(bucket: &Bucket<'_>) -> Option<Changes> {
    let key = key_of::<T>(bucket.stored).ok()?;
    let reader = ItemReader::new(bucket.spec, bucket.stored).ok()?;
    let mut total = Total::new(bucket.spec, bucket.form.size());
    for (index, item) in items(bucket.spec, bucket.stored)
        .ok()?
        .into_iter()
        .enumerate()
    {
        let item = item.ok()?;
        let time = item_time(bucket.spec, index, item).ok()?;
        if item.as_document().is_some_and(is_removed) {
            continue;
        }
        let record = T::assemble(key.clone(), reader.decode(index, item).ok()?);
        total.add_record(time, |sink| record.visit_inputs(sink));
    }
    let expected = total.finish().ok()?;
    let mut changes = Changes::default();
    let mut is_possible = Some(());
    expected.each(bucket.spec, |path, value| {
        let set = changes.at_path(bucket.stored, path, value);
        is_possible = is_possible.and(set);
    });
    is_possible?;
    Some(changes)
}
