//! An event of the server, taken apart.

use bson::{DateTime, RawBsonRef, RawDocument, Timestamp};

use crate::{
    bucket::{bson_damage, field, wrong_field},
    error::Damage,
    model::spec::ID,
};

/// An event of the server.
#[derive(Debug)]
pub(super) struct RawChange<'a> {
    /// The server's token: the place after the event.
    pub(super) token: &'a RawDocument,
    /// When it happened, in the server's time.
    pub(super) time: Timestamp,
    /// The same by the clock of the server.
    pub(super) at: DateTime,
    /// Not before it by that clock, whatever its precision is.
    pub(super) until: DateTime,
    /// The `_id` of the document.
    pub(super) id: Option<RawBsonRef<'a>>,
    pub(super) kind: Kind<'a>,
}

/// What happened to the document.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Inserted(&'a RawDocument),
    Replaced(&'a RawDocument),
    /// With the `updateDescription`.
    Updated(&'a RawDocument),
    Deleted,
    /// The stream ends here.
    Ended,
    /// Nothing that concerns records.
    Other,
}

impl<'a> RawChange<'a> {
    /// Takes the event apart.
    pub(super) fn read(event: &'a RawDocument) -> Result<Self, Damage> {
        let document = |name: &str| event.get_document(name).map_err(value_damage);
        let kind = match event.get_str("operationType").map_err(value_damage)? {
            "insert" => Kind::Inserted(document("fullDocument")?),
            "replace" => Kind::Replaced(document("fullDocument")?),
            "update" => Kind::Updated(document("updateDescription")?),
            "delete" => Kind::Deleted,
            "invalidate" => Kind::Ended,
            _ => Kind::Other,
        };
        let Some(RawBsonRef::Timestamp(time)) = field(event, "clusterTime")? else {
            return Err(wrong_field("clusterTime", "a timestamp"));
        };
        let by_clock = field(event, "wallTime")?.and_then(RawBsonRef::as_datetime);
        let of_second = |millis: i64| {
            DateTime::from_millis(i64::from(time.time).saturating_mul(1_000) + millis)
        };
        let id = match field(event, "documentKey")? {
            Some(RawBsonRef::Document(key)) => field(key, ID)?,
            _ => None,
        };
        Ok(Self {
            token: document(ID)?,
            time,
            at: by_clock.unwrap_or_else(|| of_second(0)),
            until: by_clock.unwrap_or_else(|| of_second(999)),
            id,
            kind,
        })
    }
}

fn value_damage(error: impl std::fmt::Display) -> Damage {
    Damage::Id {
        message: format!("the server's event cannot be read: {error}"),
    }
}

/// The fields that an update set, by their paths.
pub(super) fn updated_fields(update: &RawDocument) -> Result<&RawDocument, Damage> {
    match field(update, "updatedFields")? {
        Some(RawBsonRef::Document(fields)) => Ok(fields),
        _ => Err(wrong_field("updatedFields", "a document")),
    }
}

/// Whether the update took something from this field: parts of it, or the end of an array.
pub(super) fn takes_from(update: &RawDocument, name: &str) -> Result<bool, Damage> {
    let is_of = |path: &str| is_at_or_in(path, name);
    if let Some(RawBsonRef::Array(removed)) = field(update, "removedFields")? {
        for path in removed {
            let path = path.map_err(bson_damage)?;
            if path.as_str().is_none_or(is_of) {
                return Ok(true);
            }
        }
    }
    if let Some(RawBsonRef::Array(truncated)) = field(update, "truncatedArrays")? {
        for array in truncated {
            let array = array.map_err(bson_damage)?;
            let path = array
                .as_document()
                .and_then(|array| array.get_str("field").ok());
            if path.is_none_or(is_of) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether the path is this field, or something inside of it.
pub(super) fn is_at_or_in(path: &str, name: &str) -> bool {
    path.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
