//! What a stored bucket contains besides its items, and the names of these fields.

use bson::{DateTime, RawBsonRef, RawDocument};

use super::{
    BucketFields,
    id::{Place, is_of_key, parse_place},
};
use crate::{
    error::Damage,
    model::{
        form::{OrderedBy, OwnField},
        spec::{BucketSpec, ID},
        whole,
    },
};

/// What a stored bucket contains besides its items.
#[derive(Debug)]
pub(crate) struct Head {
    /// Its position among the buckets of its key.
    pub(crate) place: Place,
    pub(crate) fields: BucketFields,
    /// The stored number of items, whatever it is.
    pub(super) count: i64,
}

/// Reads the header of a bucket.
pub(crate) fn head(spec: &BucketSpec, stored: &RawDocument) -> Result<Head, Damage> {
    let fields = stored_fields(spec, stored)?;
    let place = match (field(stored, ID)?, spec.object_ids()) {
        (Some(RawBsonRef::String(text)), false) => {
            let place = parse_place(spec, text).map_err(|error| wrong_id(&error))?;
            let number = i64::try_from(fields.number).unwrap_or(i64::MAX);
            if spec.ordered_by() == OrderedBy::Number && place.time != number {
                let message = format!("`{text}` is not the id of bucket {number}");
                return Err(Damage::Id { message });
            }
            place
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

/// Checks that the id of a bucket is one of its key, whose ids begin with the prefix. Reads rely on
/// it: they find the buckets of a key by their ids, and take a bucket's place from its id.
pub(crate) fn check_id(
    spec: &BucketSpec,
    stored: &RawDocument,
    prefix: &str,
) -> Result<(), Damage> {
    match field(stored, ID)? {
        _ if spec.object_ids() => Ok(()),
        Some(RawBsonRef::String(text)) if is_of_key(spec, text, prefix) => Ok(()),
        Some(RawBsonRef::String(text)) => Err(Damage::Id {
            message: format!("`{text}` is not an id of the bucket's key"),
        }),
        _ => Err(wrong_field(ID, "a string")),
    }
}

/// The position of a bucket in the order of its key, if the fields that decide the order can be
/// read.
pub(crate) fn place_alone(spec: &BucketSpec, stored: &RawDocument) -> Option<Place> {
    let names = spec.names();
    match spec.ordered_by() {
        OrderedBy::Number => Some(Place {
            time: whole_field(stored, names.number).ok()?,
            sequence: 0,
        }),
        OrderedBy::Start => {
            let fields = BucketFields {
                start: date_field(stored, names.start).ok()?,
                ..BucketFields::default()
            };
            stored_place(spec, &fields, stored).ok()
        }
        OrderedBy::Id => match stored.get(ID) {
            Ok(Some(RawBsonRef::String(text))) => parse_place(spec, text).ok(),
            _ => None,
        },
    }
}

/// The window of a bucket, if the buckets of its key are ordered by their start, and it can be read: the
/// position of its first part.
pub(crate) fn window_alone(spec: &BucketSpec, stored: &RawDocument) -> Option<Place> {
    let is_by_start = spec.ordered_by() == OrderedBy::Start;
    let start = date_field(stored, spec.names().start).ok();
    let start = start.filter(|_| is_by_start)?;
    Some(Place::at(start, spec.id_unit()))
}

impl Head {
    /// The number of items, as far as it is plausible.
    pub(crate) fn capacity(&self, spec: &BucketSpec) -> usize {
        usize::try_from(self.count.clamp(0, i64::from(spec.size()))).unwrap_or(0)
    }

    /// The stored count, if it matches the number of items.
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

/// The stored number of items, of any numeric type.
pub(crate) fn stored_count(spec: &BucketSpec, stored: &RawDocument) -> Result<i64, Damage> {
    whole_field(stored, spec.names().count)
}

pub(crate) fn whole_field(stored: &RawDocument, name: &str) -> Result<i64, Damage> {
    let number = field(stored, name)?.and_then(whole::of_raw);
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

/// The position of a bucket with an object id among the buckets of its key.
pub(crate) fn stored_place(
    spec: &BucketSpec,
    fields: &BucketFields,
    stored: &RawDocument,
) -> Result<Place, Damage> {
    if spec.ordered_by() == OrderedBy::Number {
        return Ok(Place {
            time: i64::try_from(fields.number).unwrap_or(i64::MAX),
            sequence: 0,
        });
    }
    let unit = spec.id_unit().millis();
    let is_whole = fields.start.timestamp_millis().rem_euclid(unit) == 0;
    // The first possible window starts with time itself, inside a unit.
    if !is_whole && fields.start > DateTime::MIN {
        // Rounded, two buckets could have one place.
        return Err(wrong_field(spec.names().start, "the start of a window"));
    }
    let part = match field(stored, spec.names().part)? {
        None => 0,
        Some(_) => whole_field(stored, spec.names().part)?,
    };
    // The first part has no number: with 0, two buckets would have one place.
    let is_stored = part != 0 || field(stored, spec.names().part)?.is_none();
    let part = u64::try_from(part).ok().filter(|_| is_stored);
    Ok(Place {
        sequence: part.ok_or_else(|| wrong_field(spec.names().part, "a number above 0"))?,
        ..Place::at(fields.start, spec.id_unit())
    })
}

/// The bucket's own fields.
pub(crate) fn stored_fields(
    spec: &BucketSpec,
    stored: &RawDocument,
) -> Result<BucketFields, Damage> {
    let mut fields = BucketFields::default();
    for own in spec.own_fields() {
        fields.read(own, own.name(spec.names()), stored)?;
    }
    Ok(fields)
}

impl BucketFields {
    /// Reads one of the fields.
    pub(crate) fn read(
        &mut self,
        own: OwnField,
        name: &str,
        stored: &RawDocument,
    ) -> Result<(), Damage> {
        let positive = || {
            let number = u64::try_from(whole_field(stored, name)?).ok();
            let number = number.filter(|number| *number > 0);
            number.ok_or_else(|| wrong_field(name, "a positive number"))
        };
        match own {
            OwnField::Start => self.start = date_field(stored, name)?,
            OwnField::End => self.end = date_field(stored, name)?,
            OwnField::Closed => self.is_closed = bool_field(stored, name)?,
            OwnField::Late => {
                let late = field(stored, name)?;
                self.is_late = late.and_then(RawBsonRef::as_bool) == Some(true);
            }
            OwnField::Number => self.number = positive()?,
            OwnField::Size => {
                let size = u32::try_from(positive()?);
                self.size = size.map_err(|_| wrong_field(name, "a number of records"))?;
            }
            OwnField::Full => self.is_full = bool_field(stored, name)?,
            // Buckets from before the model counted bytes have none.
            OwnField::Bytes if field(stored, name)?.is_some() => {
                let bytes = whole_field(stored, name)?;
                self.bytes = u64::try_from(bytes).map_err(|_| wrong_field(name, "a size"))?;
            }
            // Buckets that were opened before the model had these fields have none.
            OwnField::CreatedAt => {
                self.created_at = field(stored, name)?.and_then(RawBsonRef::as_datetime);
            }
            OwnField::ExpireFrom => {
                self.expire_from = field(stored, name)?.and_then(RawBsonRef::as_datetime);
            }
            // They are read separately.
            OwnField::Part | OwnField::Count | OwnField::Bytes => {}
        }
        Ok(())
    }
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
