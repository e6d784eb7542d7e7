//! Drift as text.

use std::fmt;

use super::Drift;
use crate::index::{removal::Removal, same_index::expire_after};

/// What to do about a description that does not fit the model.
const RESOLVE: &str =
    "change the model back, or store the records anew and call `ensure().replace_description()`";

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index {
                name,
                expected,
                found,
            } => {
                write!(
                    f,
                    "index `{name}` is {found}, but the model needs {expected}"
                )?;
                let limits = [found, expected].map(expire_after);
                match limits {
                    [Some(found), Some(expected)] if found != expected => write!(
                        f,
                        "; call `ensure().replace_indexes().change_expiry()` once to let the server remove by the \
                         model's limit"
                    ),
                    _ => Ok(()),
                }
            }
            Self::Capacity { name, expected } => {
                let expected = expected.as_deref().unwrap_or("none");
                write!(
                    f,
                    "index `{name}` belongs to another capacity, but the model needs `{expected}`; call \
                     `ensure().replace_indexes()` once no writer uses that capacity"
                )
            }
            Self::OtherModel { index, form } => {
                match index {
                    Some(name) => write!(f, "index `{name}` belongs to {form} buckets")?,
                    None => write!(f, "the collection holds {form} buckets")?,
                }
                f.write_str(" of another model; give each model a collection of its own")?;
                match index {
                    Some(name) => write!(
                        f,
                        ", or drop `{name}` if a call that was killed left it there"
                    ),
                    None => Ok(()),
                }
            }
            Self::RecordIds { name } => write!(
                f,
                "index `{name}` is on record ids, but the model has none; drop `{name}` once no writer \
                 uses a model with record ids"
            ),
            Self::Expiry {
                name,
                expected,
                found,
                removes,
            } => expiry(f, name, *expected, *found, removes.as_ref()),
            Self::Collation { locale } => {
                write!(
                    f,
                    "the collection has the collation `{locale}`, but ids need the simple collation"
                )
            }
            Self::Compression { expected, found } => {
                let found = match found.as_str() {
                    "" => "without storage options".to_owned(),
                    found => format!("with the storage options `{found}`"),
                };
                write!(
                    f,
                    "the collection was created {found}, but the model asks for the compressor \
                     `{expected}`"
                )
            }
            Self::Described { .. }
            | Self::Unreadable { .. }
            | Self::Field { .. }
            | Self::Aggregate { .. }
            | Self::PartialAggregate { .. } => self.of_description(f),
            Self::Validator { is_own, .. } => {
                let whose = if *is_own {
                    "a validator of another model or version"
                } else {
                    "a validator that is not the library's"
                };
                write!(
                    f,
                    "the collection has {whose}, or does not refuse what fails it; `ensure().replace_validator()` \
                     replaces it with the model's"
                )
            }
            Self::Kind { found } => {
                write!(
                    f,
                    "the name belongs to a {found}, but the model needs a plain collection"
                )
            }
        }
    }
}

impl Drift {
    /// What a description says otherwise than the model.
    fn of_description(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Described {
                what,
                described,
                expected,
            } => write!(
                f,
                "{what} is described as `{described}`, but the model has `{expected}`; {RESOLVE}"
            ),
            Self::Unreadable { message } => write!(
                f,
                "the document about this collection in `bucket_models` is no description ({message}); \
                 `ensure().replace_description()` replaces it"
            ),
            Self::Field {
                name,
                described: Some(described),
                expected,
            } => write!(
                f,
                "items have the field `{name}` as {described}, but the model reads {expected}; {RESOLVE}"
            ),
            Self::Field {
                name,
                described: None,
                expected,
            } => write!(
                f,
                "the field `{name}` ({expected}) is new, and items without it cannot be read: give it \
                 `#[serde(default)]`, or make it an `Option`; {RESOLVE}"
            ),
            Self::Aggregate {
                path,
                described,
                expected,
            } => write!(
                f,
                "the aggregate `{path}` is described as {described}, but the model stores {expected} there; \
                 {RESOLVE}"
            ),
            Self::PartialAggregate { path, since } => {
                let since = since.map(|since| format!(", which the model has since {since}"));
                write!(
                    f,
                    "some buckets are older than the aggregate `{path}`{}, and do not have it; `repair` computes it \
                     from their items",
                    since.unwrap_or_default()
                )
            }
            _ => Ok(()),
        }
    }
}

fn expiry(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    expected: Option<u32>,
    found: Option<u32>,
    removes: Option<&Removal>,
) -> fmt::Result {
    let Some(expected) = expected else {
        let found = found.unwrap_or_default();
        return write!(
            f,
            "index `{name}` removes buckets after {found} s, but the model has no such index; \
             `ensure().change_expiry()` drops it"
        );
    };
    match found {
        Some(found) => write!(
            f,
            "index `{name}` removes buckets after {found} s, but the model's limit is {expected} s; "
        ),
        None => write!(
            f,
            "the model's limit is {expected} s, but the collection has data and no index `{name}`, so nothing is \
             removed; "
        ),
    }?;
    write!(f, "`ensure().change_expiry()` applies the model's limit")?;
    match removes {
        None => Ok(()),
        Some(removes) => write!(
            f,
            ": the server then removes {} buckets with {} records, all from {} or earlier",
            removes.buckets, removes.records, removes.until
        ),
    }
}
