//! Checks the id of a bucket and the fields that its form gives it.

use bson::{DateTime, RawBsonRef, RawDocument};

use super::{Problem, damage::problem};
use crate::{
    bucket::{
        BucketFields, check_id, field,
        id::{Place, parse_place},
        merged::Origins,
        sealed::was_sealed,
        stored_count, stored_place, wrong_field,
    },
    error::Damage,
    model::{
        form::{Form, OrderedBy, OwnField, Span},
        spec::{BucketSpec, ID},
    },
    time::window::is_window,
};

/// The fields of a bucket besides its key, its aggregates and its items.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) fields: BucketFields,
    /// The form with the limits of the key.
    pub(crate) form: Form,
    /// The stored count, if it can be read.
    pub(crate) count: Option<i64>,
    /// Those that cannot be read.
    unreadable: Vec<OwnField>,
    has_bytes: bool,
    /// It takes no more records.
    pub(crate) sealed: bool,
    /// Where its items came from, if it is merged.
    pub(crate) origins: Option<Origins>,
}

impl Own {
    /// Reads them, each by itself.
    pub(crate) fn read(
        spec: &BucketSpec,
        form: Form,
        stored: &RawDocument,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let names = spec.names();
        let mut own = Self {
            fields: BucketFields::default(),
            form,
            count: None,
            unreadable: Vec::new(),
            has_bytes: false,
            sealed: was_sealed(stored),
            origins: None,
        };
        for of in spec.own_fields() {
            let read = own.fields.read(of, of.name(names), stored);
            if let Err(damage) = read {
                own.unreadable.push(of);
                problems.push(problem(damage));
            }
        }
        match Origins::read(spec, stored) {
            Ok(origins) => own.origins = origins,
            Err(damage) => problems.push(problem(damage)),
        }
        own.has_bytes = matches!(stored.get(names.bytes), Ok(Some(_)));
        match stored_count(spec, stored) {
            Ok(count) => own.count = Some(count),
            Err(damage) => problems.push(problem(damage)),
        }
        own
    }

    /// Those of a bucket whose items were unpacked from this one.
    pub(crate) fn unpacked_from(self, packed: &RawDocument) -> Self {
        let sealed = was_sealed(packed);
        Self { sealed, ..self }
    }

    pub(crate) fn is_readable(&self, own: OwnField) -> bool {
        !self.unreadable.contains(&own)
    }

    /// The number of records that the bucket takes.
    pub(super) fn size(&self) -> u32 {
        match self.fields.size {
            0 => self.form.size(),
            size => size,
        }
    }

    /// Whether it is marked as full or closed; `None` if that cannot be read or if its form has no
    /// mark.
    pub(super) fn marked(&self, spec: &BucketSpec) -> Option<bool> {
        let mark = spec.form().mark()?;
        self.is_readable(mark)
            .then_some(self.fields.is_full || self.fields.is_closed)
    }

    /// The size that keeps a bucket with this many items closed which takes no more records, whatever its items say: the
    /// index on open buckets tells by the count and the size.
    pub(super) fn least_bytes(&self, spec: &BucketSpec, items: u64) -> u64 {
        let is_counted = matches!(self.form, Form::Count { .. });
        let may_be_open = items < u64::from(spec.open_below(self.form.size()));
        match spec.max_bytes() {
            Some(max) if is_counted && self.sealed && may_be_open => u64::from(max),
            _ => 0,
        }
    }

    /// Whether the index on open buckets has it although it takes no more records.
    fn blocks(&self, spec: &BucketSpec) -> bool {
        let is_counted = matches!(self.form, Form::Count { .. });
        let below = i64::from(spec.open_below(self.form.size()));
        let has_count = self.count.is_some_and(|count| count < below);
        is_counted && self.sealed && has_count && self.has_bytes_left(spec) == Some(true)
    }

    /// Whether its bytes leave room.
    fn has_bytes_left(&self, spec: &BucketSpec) -> Option<bool> {
        let Some(max) = spec.max_bytes() else {
            return Some(true);
        };
        if !self.is_readable(OwnField::Bytes) {
            return None;
        }
        // A bucket from before the model counted bytes takes no more.
        Some(self.has_bytes && self.fields.bytes < u64::from(max))
    }

    /// Whether it takes a further record.
    pub(super) fn has_room(&self, spec: &BucketSpec) -> Option<bool> {
        if self.sealed || spec.form().in_parts() {
            return Some(false);
        }
        if !self.is_readable(OwnField::Size) {
            return None;
        }
        let mut size = self.size();
        if matches!(spec.form(), Form::Count { .. }) {
            // A bucket of the smaller capacity may be full with that.
            size = spec.open_below(size);
        }
        Some(self.count? < i64::from(size) && self.has_bytes_left(spec)?)
    }

    /// Checks the marks, the dates and the window.
    pub(super) fn check(
        &self,
        spec: &BucketSpec,
        stored: &RawDocument,
        problems: &mut Vec<Problem>,
    ) {
        check_optional(spec, stored, problems);
        self.check_marks(spec, problems);
        if self.blocks(spec) {
            problems.push(Problem::OpenSealed);
        }
        let are_readable = self.is_readable(OwnField::Start) && self.is_readable(OwnField::End);
        let BucketFields { start, end, .. } = self.fields;
        if !are_readable {
            return;
        }
        let is_right = match (spec.form().span(), &self.origins) {
            (Span::Window, None) => is_window(start, end),
            (Span::Window | Span::Records, Some(origins)) => origins.spans(start, end),
            (Span::Records | Span::None, _) => true,
        };
        if !is_right {
            problems.push(Problem::Window { start, end });
        }
    }

    fn check_marks(&self, spec: &BucketSpec, problems: &mut Vec<Problem>) {
        let (Some(own), Some(marked)) = (spec.form().mark(), self.marked(spec)) else {
            return;
        };
        let mark = own.name(spec.names()).to_owned();
        let is_numbered = matches!(spec.form(), Form::Numbered { .. });
        match (self.has_room(spec), marked) {
            (_, false) if self.fields.is_late => problems.push(Problem::OpenLate { mark }),
            (Some(false), false) => problems.push(Problem::NotMarked { mark }),
            // The limit of bytes may have been another one.
            (Some(true), true) if is_numbered && spec.max_bytes().is_none() => {
                problems.push(Problem::MarkedWithRoom { mark });
            }
            _ => {}
        }
    }

    /// Checks the span of a hybrid bucket with the times of its records: the first stored, the
    /// earliest and the latest.
    pub(super) fn check_span(
        &self,
        times: (DateTime, DateTime, DateTime),
        problems: &mut Vec<Problem>,
    ) {
        let (first, earliest, latest) = times;
        let BucketFields { start, end, .. } = self.fields;
        let are_readable = self.is_readable(OwnField::Start) && self.is_readable(OwnField::End);
        if self.form.span() != Span::Records || !are_readable {
            return;
        }
        // A bucket of late records starts at a multiple of the longest duration.
        let starts_early = !self.fields.is_late && start < first && start <= earliest;
        if end > latest || starts_early {
            problems.push(Problem::LongSpan { start, end });
        }
    }

    /// The span of the bucket that the item at this index came from: its own, unless it is merged.
    pub(super) fn span_of(&self, index: usize) -> (DateTime, DateTime) {
        let origins = self.origins.as_ref();
        let merged = origins.and_then(|origins| origins.span_of(index));
        merged.unwrap_or((self.fields.start, self.fields.end))
    }

    /// Whether the item at this index, which has this time, is where reads of a span look for it.
    pub(super) fn covers(&self, index: usize, time: DateTime) -> bool {
        let (start, end) = self.span_of(index);
        let are_readable = self.is_readable(OwnField::Start) && self.is_readable(OwnField::End);
        match self.form.span() {
            _ if !are_readable => true,
            Span::None => true,
            // The last possible window ends with time itself, and includes that moment.
            Span::Window => start <= time && (time < end || end == DateTime::MAX),
            Span::Records => start <= time && time <= end,
        }
    }
}

/// The fields that a bucket need not have, but only with one type.
fn check_optional(spec: &BucketSpec, stored: &RawDocument, problems: &mut Vec<Problem>) {
    for own in spec.own_fields() {
        let path = own.name(spec.names());
        let value = match stored.get(path) {
            Ok(Some(value)) => value,
            Ok(None) => continue,
            Err(_) => RawBsonRef::Undefined,
        };
        let path = path.to_owned();
        match (own, value) {
            // Reads of the newest bucket leave out all that have the field.
            (OwnField::Late, value) if value != RawBsonRef::Boolean(true) => {
                let expected = "true".to_owned();
                problems.push(Problem::Field { path, expected });
            }
            (OwnField::ExpireFrom, value) if value.as_datetime().is_none() => {
                let expected = "a date".to_owned();
                problems.push(Problem::Field { path, expected });
            }
            (OwnField::CreatedAt, value) if value.as_datetime().is_none() => {
                let expected = "a date".to_owned();
                problems.push(Problem::OtherType { path, expected });
            }
            _ => {}
        }
    }
}

/// The position of a bucket among those of its key, whose ids begin with the prefix; `None` if the
/// field that decides it cannot be read, which was reported already.
pub(super) fn place(
    spec: &BucketSpec,
    own: &Own,
    stored: &RawDocument,
    prefix: &str,
) -> Result<Option<Place>, Damage> {
    let decides = match spec.ordered_by() {
        OrderedBy::Number => Some(OwnField::Number),
        OrderedBy::Start => Some(OwnField::Start),
        OrderedBy::Id => None,
    };
    let is_readable = decides.is_none_or(|decides| own.is_readable(decides));
    match field(stored, ID)? {
        Some(RawBsonRef::ObjectId(_)) if spec.object_ids() => is_readable
            .then(|| stored_place(spec, &own.fields, stored))
            .transpose(),
        Some(RawBsonRef::String(text)) if !spec.object_ids() => {
            check_id(spec, stored, prefix)?;
            let place = parse_place(spec, text).map_err(|error| Damage::Id {
                message: error.to_string(),
            })?;
            match of_fields(spec, own) {
                Some(time) if time != place.time => Err(Damage::Id {
                    message: format!("`{text}` is not the id that its fields give it"),
                }),
                _ => Ok(is_readable.then_some(place)),
            }
        }
        _ if spec.object_ids() => Err(wrong_field(ID, "an object id")),
        _ => Err(wrong_field(ID, "a string")),
    }
}

/// The time or the number that the id must have by the bucket's fields.
fn of_fields(spec: &BucketSpec, own: &Own) -> Option<i64> {
    match spec.form() {
        Form::Count { .. } => None,
        Form::Numbered { .. } => own
            .is_readable(OwnField::Number)
            .then(|| i64::try_from(own.fields.number).unwrap_or(i64::MAX)),
        Form::Window { .. } | Form::Hybrid { .. } => own
            .is_readable(OwnField::Start)
            .then(|| Place::at(own.fields.start, spec.id_unit()).time),
    }
}
