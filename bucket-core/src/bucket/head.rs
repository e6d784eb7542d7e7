//! What a stored bucket says of itself beside its items, and the fields that it says it by.

use bson::{Bson, DateTime, RawBsonRef, RawDocument};

use super::BucketFields;
use crate::{
    error::Damage,
    form::Form,
    id::{Place, parse_place},
    key::whole_value,
    spec::{BucketSpec, ID},
};

/// What a stored bucket says of itself beside its items.
#[derive(Debug)]
pub(crate) struct Head {
    /// Where it stands among the buckets of its key.
    pub(crate) place: Place,
    pub(crate) fields: BucketFields,
    count: i64,
}

/// Reads what a bucket says of itself.
pub(crate) fn head(spec: &BucketSpec, stored: &RawDocument) -> Result<Head, Damage> {
    let fields = stored_fields(spec, stored)?;
    let place = match (field(stored, ID)?, spec.object_ids()) {
        (Some(RawBsonRef::String(text)), false) => {
            parse_place(spec, text).map_err(|error| wrong_id(&error))?
        }
        (_, true) => stored_place(spec, &fields, stored)?,
        (_, false) => return Err(wrong_field(ID, "a string")),
    };
    Ok(Head {
        place,
        fields,
        count: stored_count(spec, stored)?,
    })
}

/// Where a bucket stands in the order of its key's buckets, if what they are ordered by can be read.
pub(crate) fn place_alone(spec: &BucketSpec, stored: &RawDocument) -> Option<Place> {
    let names = spec.names();
    match (spec.form(), spec.object_ids()) {
        (Form::Numbered { .. }, _) => Some(Place {
            time: whole_field(stored, names.number).ok()?,
            sequence: 0,
        }),
        (_, true) => {
            let fields = BucketFields {
                start: date_field(stored, names.start).ok()?,
                ..BucketFields::default()
            };
            stored_place(spec, &fields, stored).ok()
        }
        (_, false) => match stored.get(ID) {
            Ok(Some(RawBsonRef::String(text))) => parse_place(spec, text).ok(),
            _ => None,
        },
    }
}

impl Head {
    /// The number of items, as far as it can be believed.
    pub(crate) fn capacity(&self, spec: &BucketSpec) -> usize {
        usize::try_from(self.count.clamp(0, i64::from(spec.size()))).unwrap_or(0)
    }

    /// The stored count, if it is the number of items that there are.
    pub(crate) fn check_count(&self, items: usize) -> Result<u32, Damage> {
        match u32::try_from(self.count) {
            Ok(count) if usize::try_from(count) == Ok(items) => Ok(count),
            _ => Err(Damage::CountMismatch {
                count: self.count,
                items,
            }),
        }
    }
}

/// The number of items as stored, of whatever numeric type.
pub(crate) fn stored_count(spec: &BucketSpec, stored: &RawDocument) -> Result<i64, Damage> {
    whole_field(stored, spec.names().count)
}

pub(crate) fn whole_field(stored: &RawDocument, name: &str) -> Result<i64, Damage> {
    let number = field(stored, name)?.and_then(whole_value);
    number.ok_or_else(|| wrong_field(name, "a whole number"))
}

pub(crate) fn date_field(stored: &RawDocument, name: &str) -> Result<DateTime, Damage> {
    match field(stored, name)? {
        Some(RawBsonRef::DateTime(date)) => Ok(date),
        _ => Err(wrong_field(name, "a date")),
    }
}

fn bool_field(stored: &RawDocument, name: &str) -> Result<bool, Damage> {
    match field(stored, name)? {
        Some(RawBsonRef::Boolean(value)) => Ok(value),
        _ => Err(wrong_field(name, "a boolean")),
    }
}

/// Where a bucket with an object id stands among the buckets of its key.
pub(crate) fn stored_place(
    spec: &BucketSpec,
    fields: &BucketFields,
    stored: &RawDocument,
) -> Result<Place, Damage> {
    if let Form::Numbered { .. } = spec.form() {
        return Ok(Place {
            time: i64::try_from(fields.number).unwrap_or(i64::MAX),
            sequence: 0,
        });
    }
    let part = match field(stored, spec.names().part)? {
        None => 0,
        Some(_) => whole_field(stored, spec.names().part)?,
    };
    Ok(Place {
        sequence: u64::try_from(part).map_err(|_| wrong_field(spec.names().part, "a number"))?,
        ..Place::at(fields.start, spec.id_unit())
    })
}

/// The fields that the model's form asks for.
pub(crate) fn stored_fields(
    spec: &BucketSpec,
    stored: &RawDocument,
) -> Result<BucketFields, Damage> {
    let names = spec.names();
    let mut fields = BucketFields::default();
    match spec.form() {
        Form::Count { .. } => {}
        Form::Window { .. } => {
            fields.start = date_field(stored, names.start)?;
            fields.end = date_field(stored, names.end)?;
        }
        Form::Hybrid { .. } => {
            fields.start = date_field(stored, names.start)?;
            fields.end = date_field(stored, names.end)?;
            fields.is_closed = bool_field(stored, names.closed)?;
            fields.is_late =
                field(stored, names.late)?.is_some_and(|late| late.as_bool() == Some(true));
        }
        Form::Numbered { .. } => {
            let positive = |name: &str| {
                let number = whole_field(stored, name)?;
                u64::try_from(number)
                    .ok()
                    .filter(|number| *number > 0)
                    .ok_or_else(|| wrong_field(name, "a positive number"))
            };
            fields.number = positive(names.number)?;
            fields.size = u32::try_from(positive(names.size)?).unwrap_or(u32::MAX);
            fields.is_full = bool_field(stored, names.full)?;
        }
    }
    // A bucket from before the model counted bytes has none.
    if spec.max_bytes().is_some() && field(stored, names.bytes)?.is_some() {
        let bytes = whole_field(stored, names.bytes)?;
        fields.bytes = u64::try_from(bytes).map_err(|_| wrong_field(names.bytes, "a size"))?;
    }
    if let Some(name) = names.created_at {
        // A bucket that was opened before the model asked for it has none.
        fields.created_at = field(stored, name)?.and_then(RawBsonRef::as_datetime);
    }
    if let Some(name) = spec.dated_by() {
        // Nor has one that was filled before the model had a limit.
        fields.expire_from = field(stored, name)?.and_then(RawBsonRef::as_datetime);
    }
    Ok(fields)
}

pub(crate) fn field<'a>(
    stored: &'a RawDocument,
    name: &str,
) -> Result<Option<RawBsonRef<'a>>, Damage> {
    stored.get(name).map_err(bson_damage)
}

pub(crate) fn bson_damage(source: bson::error::Error) -> Damage {
    Damage::Bson(source.into())
}

pub(super) fn wrong_id(error: &impl ToString) -> Damage {
    Damage::Id {
        message: error.to_string(),
    }
}

pub(crate) fn wrong_field(path: &str, expected: &'static str) -> Damage {
    Damage::Field {
        path: path.to_owned(),
        expected,
    }
}

/// The `_id` as it prints, for messages.
pub(crate) fn printed_id(stored: &RawDocument) -> String {
    match stored.get(ID) {
        Ok(Some(id)) => Bson::try_from(id).map_or_else(|_| "?".to_owned(), |id| id.to_string()),
        _ => "without an `_id`".to_owned(),
    }
}
