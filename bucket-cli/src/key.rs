//! Keys on the command line: `name=value`, or one JSON object.

use bucket_mongo::{
    Bucketed, KeyValue, RecordKey as _,
    bson::{Bson, Document},
};
use clap::Args;
use serde_json::{Map, Value};

use crate::{error::Error, json};

/// The key of a command that needs one.
#[derive(Debug, Clone, Args)]
pub(crate) struct KeyWords {
    /// The key: `name=value` for each of its fields, or one JSON object
    #[arg(value_name = "KEY", required = true, allow_negative_numbers = true)]
    pub(crate) key: Vec<String>,
}

/// The key of a command that works on all keys, too.
#[derive(Debug, Clone, Args)]
pub(crate) struct MaybeKey {
    /// Only this key: `name=value` for each of its fields, or one JSON object
    #[arg(value_name = "KEY", allow_negative_numbers = true)]
    pub(crate) key: Vec<String>,
}

/// The words again, at the end of another command.
pub(crate) fn words(key: &[String]) -> Vec<String> {
    let is_like_option = |word: &String| word.starts_with('-');
    let mark = key.iter().any(is_like_option).then(|| "--".to_owned());
    mark.into_iter().chain(key.iter().cloned()).collect()
}

/// The key of these words.
pub(crate) fn parse<T: Bucketed>(words: &[String]) -> Result<T::Key, Error> {
    let parts = match words {
        [word] if word.trim_start().starts_with('{') => of_json::<T>(word)?,
        _ => of_words::<T>(words)?,
    };
    let mut values = Vec::with_capacity(parts.len());
    for part in &parts {
        values.push(value(part).ok_or_else(|| Error::Usage(usage::<T>()))?);
    }
    T::Key::from_parts(&values).map_err(|error| Error::Usage(format!("{error}; {}", usage::<T>())))
}

/// The parts in the order of the model.
fn of_words<T: Bucketed>(words: &[String]) -> Result<Vec<Bson>, Error> {
    let keys = T::SPEC.keys();
    let mut parts: Vec<Option<Bson>> = vec![None; keys.len()];
    for word in words {
        let named = word.split_once('=').and_then(|(name, text)| {
            // A field may have the stored name of another one.
            let by_path = keys.iter().position(|key| key.path == name);
            let at = by_path.or_else(|| keys.iter().position(|key| key.field == name))?;
            Some((at, text))
        });
        let (at, text) = match named {
            Some(named) => named,
            // One key field needs no name.
            None if keys.len() == 1 && !word.contains('=') => (0, word.as_str()),
            None => {
                let message = format!("`{word}` is no field of the key; {}", usage::<T>());
                return Err(Error::Usage(message));
            }
        };
        if parts[at].replace(text.into()).is_some() {
            let message = format!("`{}` is given twice; {}", keys[at].path, usage::<T>());
            return Err(Error::Usage(message));
        }
    }
    all::<T>(parts)
}

fn of_json<T: Bucketed>(text: &str) -> Result<Vec<Bson>, Error> {
    let fields: Map<String, Value> = serde_json::from_str(text)
        .map_err(|error| Error::Usage(format!("the key is no JSON object: {error}")))?;
    let keys = T::SPEC.keys();
    let is_known = |name: &String| keys.iter().any(|key| key.path == name || key.field == name);
    if let Some(other) = fields.keys().find(|name| !is_known(name)) {
        let message = format!("`{other}` is no field of the key; {}", usage::<T>());
        return Err(Error::Usage(message));
    }
    let part = |value: &Value| {
        json::key_part(value)
            .ok_or_else(|| Error::Usage(format!("`{value}` is no part of a key; {}", usage::<T>())))
    };
    let parts = keys.iter().map(|key| {
        let value = fields.get(key.path).or_else(|| fields.get(key.field));
        value.map(part).transpose()
    });
    all::<T>(parts.collect::<Result<_, _>>()?)
}

fn all<T: Bucketed>(parts: Vec<Option<Bson>>) -> Result<Vec<Bson>, Error> {
    let missing = T::SPEC.keys().iter().zip(&parts);
    let missing = missing.filter(|(_, part)| part.is_none());
    let missing: Vec<&str> = missing.map(|(key, _)| key.path).collect();
    if missing.is_empty() {
        return Ok(parts.into_iter().flatten().collect());
    }
    let message = format!("the key lacks `{}`; {}", missing.join("`, `"), usage::<T>());
    Err(Error::Usage(message))
}

/// How a key of the model is written.
fn usage<T: Bucketed>() -> String {
    let fields = T::SPEC.keys().iter();
    let fields: Vec<String> = fields.map(|key| format!("{}=VALUE", key.path)).collect();
    format!(
        "a key of `{}` is: {}",
        T::SPEC.collection(),
        fields.join(" ")
    )
}

/// The part for the library: a text is read by the type of the field.
fn value(part: &Bson) -> Option<KeyValue<'_>> {
    Some(match part {
        Bson::Boolean(value) => KeyValue::Bool(*value),
        Bson::Int32(value) => KeyValue::Int32(*value),
        Bson::Int64(value) => KeyValue::Int64(*value),
        Bson::String(text) => KeyValue::Text(text),
        Bson::ObjectId(id) => KeyValue::ObjectId(*id),
        Bson::Binary(binary) => KeyValue::Uuid(json::uuid(binary)?.bytes()),
        _ => return None,
    })
}

/// The key as a bucket stores it.
pub(crate) fn document<T: Bucketed>(key: &T::Key) -> Document {
    let names = T::SPEC.keys().iter().map(|key| key.path.to_owned());
    names.zip(key.to_values()).collect()
}
