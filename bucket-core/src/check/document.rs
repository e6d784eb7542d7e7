//! Checks one stored document by itself.

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocument};

use super::{
    Finding, Problem,
    damage::problem,
    fields::{self, Own},
    items,
};
use crate::{
    bucket::{
        archived::REPLACED,
        edits::Edits,
        header::{is_header, overwritten},
        id::{self, Place},
        key_of,
        merged::Origins,
        packed::ends_of,
        record::Record,
        sealed::{ARCHIVED, EXPIRED, SEALED, archived_path, ends_of_sealed, packed},
        stored_count, unsealed,
    },
    error::Damage,
    model::{
        form::Form,
        limits::Limits,
        spec::{BucketSpec, ID},
        whole,
    },
    read::key_elements,
    stats::StoredStats,
    write::{SOURCES, Source},
};

/// What a document says of itself, for the comparison with its neighbours.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) id: Bson,
    /// The key fields as they are stored.
    pub(crate) fields_of_key: Document,
    /// The key fields as elements; `None` if they cannot be read.
    pub(crate) key: Option<Vec<u8>>,
    /// The part of the ids of its key before the time.
    pub(crate) prefix: String,
    /// Its position among the buckets of its key, if it has one.
    pub(crate) place: Option<Place>,
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    pub(crate) late: bool,
    /// Whether it is marked as full or closed; `None` if that cannot be read.
    pub(crate) marked: Option<bool>,
    /// Whether it takes a further record; `None` if that cannot be read.
    pub(crate) has_room: Option<bool>,
    /// The positions of sources, by their paths.
    pub(crate) positions: Vec<(String, i64)>,
    /// Where its items came from, if it is merged.
    pub(crate) origins: Option<Origins>,
}

impl Seen {
    /// Whether writers take it for the open bucket of its key, in a form that has one.
    pub(crate) fn is_open(&self, spec: &BucketSpec) -> bool {
        if spec.form().mark().is_some() {
            self.marked == Some(false)
        } else {
            self.has_room == Some(true)
        }
    }

    /// Whether one of these, the origins of a merged bucket, was at its place, or at that of one of its own.
    pub(crate) fn is_among(&self, origins: &Origins) -> bool {
        let own = self.origins.iter().flat_map(Origins::places);
        self.place
            .into_iter()
            .chain(own)
            .any(|place| origins.has(place))
    }

    pub(crate) fn finding(&self, problem: Problem) -> Finding {
        Finding::new(self.id.clone(), self.fields_of_key.clone(), problem)
    }
}

/// What a document is, and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) seen: Seen,
    pub(crate) problems: Vec<Problem>,
    pub(crate) records: u64,
}

/// Reads what a document says of itself, without its items.
pub(crate) fn head<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
) -> Checked {
    let spec = T::SPEC;
    let mut problems = Vec::new();
    let (mut key, mut prefix, mut form) = (None, String::new(), spec.form());
    match key_of::<T>(stored) {
        Ok(of) => {
            prefix = id::prefix(spec, &of);
            key = Some(key_elements::<T>(&of));
            // Limits that are refused are those of no bucket.
            form = limits(&of)
                .and_then(|limits| limits.apply(spec.form()).ok())
                .unwrap_or(form);
        }
        Err(damage) => problems.push(problem(damage)),
    }
    let own = Own::read(spec, form, stored, &mut problems);
    let mut place = None;
    if key.is_some() {
        match fields::place(spec, &own, stored, &prefix) {
            Ok(found) => place = found,
            Err(damage) => problems.push(problem(damage)),
        }
    }
    let positions = positions(spec, stored, &mut problems);
    let seen = Seen {
        id: id_of(stored),
        fields_of_key: fields_of_key(spec, stored),
        key,
        prefix,
        place,
        start: own.fields.start,
        end: own.fields.end,
        late: own.fields.is_late,
        marked: own.marked(spec),
        has_room: own.has_room(spec),
        positions,
        origins: own.origins.clone(),
    };
    own.check(spec, stored, &mut problems);
    Checked {
        seen,
        problems,
        records: 0,
    }
}

/// Checks a whole document.
pub(crate) fn document<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    now: DateTime,
) -> Checked {
    let mut checked = head::<T>(stored, &limits);
    let spec = T::SPEC;
    let unsealed = match unsealed(spec, stored) {
        Ok(unsealed) => unsealed,
        // What is left of it says nothing about its records.
        Err(damage) if is_header(spec, stored, &damage, now) => {
            let count = stored_count(spec, stored).unwrap_or_default();
            let count = u32::try_from(count).unwrap_or_default();
            let records = Edits::read(stored).unwrap_or_default().left_of(count);
            checked.records = records.into();
            checked
                .problems
                .extend(of_header(spec, stored, records, &damage));
            return checked;
        }
        Err(damage) => {
            checked.problems.extend(unmarked(stored, &damage));
            checked.problems.push(problem(damage));
            return checked;
        }
    };
    if let Some(problem) = replaced_items(spec, stored) {
        // The other fields describe the records that it had.
        checked.problems.push(problem);
        return checked;
    }
    checked
        .problems
        .extend(sealed_ends(spec, stored, &unsealed));
    let (packed, stored) = (stored, &*unsealed);
    let key = key_of::<T>(stored).ok();
    let form = key
        .as_ref()
        .and_then(|key| limits(key)?.apply(spec.form()).ok());
    let form: Form = form.unwrap_or(spec.form());
    let before = checked.problems.len();
    let own = Own::read(spec, form, stored, &mut Vec::new()).unpacked_from(packed);
    checked.records = items::check::<T>(stored, key.as_ref(), &own, now, &mut checked.problems);
    let is_of_count = |problem: &Problem| matches!(problem, Problem::Count { .. });
    if checked.problems[before..].iter().any(is_of_count) {
        // The count says nothing about the room, nor about the mark.
        checked.seen.has_room = None;
        checked.problems.retain(|problem| {
            !matches!(
                problem,
                Problem::NotMarked { .. } | Problem::MarkedWithRoom { .. } | Problem::OpenSealed
            )
        });
    }
    checked
}

/// What is wrong with what is left of a bucket whose records have expired: all that reads need of it.
fn of_header(
    spec: &BucketSpec,
    stored: &RawDocument,
    records: u32,
    damage: &Damage,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let count = stored_count(spec, stored);
    if count
        .as_ref()
        .is_ok_and(|count| u32::try_from(*count).is_err())
    {
        problems.push(Problem::Field {
            path: spec.names().count.to_owned(),
            expected: "a number of records".to_owned(),
        });
    }
    match StoredStats::read(spec, stored, records) {
        Ok(stats) => problems.extend(stats.lacks(spec).map(|path| Problem::MissingAggregate {
            path: path.to_owned(),
        })),
        Err(damage) => problems.push(problem(damage)),
    }
    if let Err(damage) = Edits::read(stored) {
        problems.push(problem(damage));
    }
    if let (Ok(count), Ok(Some(origins))) = (count, Origins::read(spec, stored))
        && let Err(damage) = origins.check_count(u32::try_from(count).unwrap_or(u32::MAX))
    {
        problems.push(problem(damage));
    }
    let says_so = stored
        .get_document(SEALED)
        .is_ok_and(|sealed| sealed.get_datetime(EXPIRED).is_ok());
    let is_gone = matches!(damage, Damage::Expired { .. });
    if ends_of_sealed(stored).is_none() || is_gone && !says_so {
        problems.push(Problem::Field {
            path: SEALED.to_owned(),
            expected: "the times of its first and its last record, and since when they are gone"
                .to_owned(),
        });
    }
    problems
}

/// What is wrong with a bucket whose items are in the archive, or gone, if something else is in their place.
fn replaced_items(spec: &BucketSpec, stored: &RawDocument) -> Option<Problem> {
    let message = if overwritten(spec, stored)? == ARCHIVED {
        REPLACED
    } else {
        "they have expired, and something else is in their place"
    };
    Some(Problem::Packed {
        message: message.to_owned(),
    })
}

/// A bucket whose items are in the archive, and that does not say so where it is looked for.
fn unmarked(stored: &RawDocument, damage: &Damage) -> Option<Problem> {
    let sealed = stored.get_document(SEALED);
    let says_so = sealed.is_ok_and(|sealed| sealed.get_datetime(ARCHIVED).is_ok());
    (matches!(damage, Damage::Archived) && !says_so).then(|| Problem::Field {
        path: archived_path(),
        expected: "since when its items are in the archive".to_owned(),
    })
}

/// Whether a sealed bucket says when its first and its last record are.
fn sealed_ends(spec: &BucketSpec, stored: &RawDocument, rows: &RawDocument) -> Option<Problem> {
    packed(spec.items(), stored)?;
    let own = ends_of_sealed(stored);
    (own.is_none() || own != ends_of(spec, rows)).then(|| Problem::Field {
        path: SEALED.to_owned(),
        expected: "the times of its first and its last record".to_owned(),
    })
}

fn id_of(stored: &RawDocument) -> Bson {
    let id = stored.get(ID).ok().flatten();
    id.and_then(|id| Bson::try_from(id).ok())
        .unwrap_or(Bson::Null)
}

fn fields_of_key(spec: &BucketSpec, stored: &RawDocument) -> Document {
    let fields = spec.keys().iter().filter_map(|key| {
        let value = Bson::try_from(stored.get(key.path).ok()??).ok()?;
        Some((key.path.to_owned(), value))
    });
    fields.collect()
}

/// The positions of sources.
fn positions(
    spec: &BucketSpec,
    stored: &RawDocument,
    problems: &mut Vec<Problem>,
) -> Vec<(String, i64)> {
    // A model may have a field of this name, and hybrid buckets have no sources.
    if spec.form().sorts() || Source::new(spec, "a").is_err() {
        return Vec::new();
    }
    let mut wrong = |path: String, expected: &str| {
        problems.push(Problem::Field {
            path,
            expected: expected.to_owned(),
        });
    };
    let sources = match stored.get(SOURCES) {
        Ok(Some(RawBsonRef::Document(sources))) => sources,
        Ok(None) => return Vec::new(),
        _ => {
            wrong(SOURCES.to_owned(), "a document of positions");
            return Vec::new();
        }
    };
    let mut positions = Vec::new();
    for element in sources {
        let Ok((name, value)) = element else {
            wrong(SOURCES.to_owned(), "a document of positions");
            break;
        };
        let path = format!("{SOURCES}.{name}");
        match whole::of_raw(value) {
            Some(position) => positions.push((path, position)),
            None => wrong(path, "a whole number"),
        }
    }
    positions
}
