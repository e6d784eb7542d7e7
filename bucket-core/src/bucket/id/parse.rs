//! Parses ids: the time and the sequence from the right, the key parts from the left.

use super::{Place, format::SEQUENCE, ordinal, template::separator_behind};
use crate::{
    error::IdError,
    model::spec::{BucketSpec, IdSegment},
    text::percent,
};

/// The position that an id names.
pub(crate) fn place(spec: &BucketSpec, text: &str) -> Result<Place, IdError> {
    let (key, place) = split_place(spec, text)?;
    split_key(spec, text, key)?;
    Ok(place)
}

/// Whether this is the id of a bucket of the key whose ids begin with the prefix.
pub(crate) fn is_of_key(spec: &BucketSpec, text: &str, prefix: &str) -> bool {
    // The id of another key may begin like that, too: `12_3_1698335223` is not of the key `12`.
    let is_before_time = |key: &str| match spec.id() {
        [.., IdSegment::Literal(separator), _] => key.len() + separator.len() == prefix.len(),
        _ => false,
    };
    text.starts_with(prefix) && split_place(spec, text).is_ok_and(|(key, _)| is_before_time(key))
}

/// The texts of the key parts, in the order of the model.
pub(super) fn key_texts(spec: &BucketSpec, text: &str) -> Result<Vec<String>, IdError> {
    let (key, _) = split_place(spec, text)?;
    let mut texts = vec![String::new(); spec.keys().len()];
    for (index, part) in split_key(spec, text, key)? {
        let part = percent::decode(part)
            .ok_or_else(|| IdError::new(text, format!("`{part}` is not percent-encoded")))?;
        if let Some(slot) = texts.get_mut(index) {
            *slot = part;
        }
    }
    Ok(texts)
}

/// The part before the time, and the position.
fn split_place<'a>(spec: &BucketSpec, text: &'a str) -> Result<(&'a str, Place), IdError> {
    let separator = match spec.id() {
        [
            ..,
            IdSegment::Literal(separator),
            IdSegment::Time(_) | IdSegment::Number,
        ] => *separator,
        _ => {
            return Err(IdError::new(
                text,
                "the model's template does not end with its time",
            ));
        }
    };
    let width = spec.id_unit().digits();
    if let Some((rest, sequence)) = text.rsplit_once(SEQUENCE)
        && let Some(sequence) = ordinal::read_sequence(sequence)
        && let Some((key, time)) = rest.rsplit_once(separator)
        && let Some(time) = ordinal::read_signed(time, width)
    {
        return Ok((key, Place { time, sequence }));
    }
    let (key, time) = text
        .rsplit_once(separator)
        .ok_or_else(|| IdError::new(text, "the time is missing"))?;
    let time = ordinal::read_signed(time, width)
        .or_else(|| ordinal::read_short(time, width))
        .ok_or_else(|| IdError::new(text, format!("`{time}` is not a time")))?;
    Ok((key, Place { time, sequence: 0 }))
}

/// The escaped key parts with their index in the model.
fn split_key<'a>(
    spec: &BucketSpec,
    text: &str,
    key: &'a str,
) -> Result<Vec<(usize, &'a str)>, IdError> {
    let mut rest = key;
    let mut parts = Vec::with_capacity(spec.keys().len());
    // The last two segments are the separator and the time, which were removed above.
    let segments = spec.id().len().saturating_sub(2);
    for segment in spec.id().iter().take(segments) {
        match segment {
            IdSegment::Literal(literal) => {
                rest = rest
                    .strip_prefix(literal)
                    .ok_or_else(|| IdError::new(text, format!("`{literal}` is missing")))?;
            }
            IdSegment::Key(index) => {
                let end = separator_behind(spec, *index).and_then(|separator| rest.find(separator));
                let (part, tail) = rest.split_at(end.unwrap_or(rest.len()));
                parts.push((*index, part));
                rest = tail;
            }
            IdSegment::Time(_) | IdSegment::Number => {}
        }
    }
    Ok(parts)
}
