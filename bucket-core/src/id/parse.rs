//! Taking ids apart.

use super::{Place, is_separator, ordinal, text::SEQUENCE};
use crate::{
    error::IdError,
    spec::{BucketSpec, IdSegment},
};

/// The place that an id names.
pub(crate) fn place(spec: &BucketSpec, text: &str) -> Result<Place, IdError> {
    let (_, time) = split(spec, text)?;
    let (time, sequence) = match time.split_once(SEQUENCE) {
        Some((time, sequence)) => (time, Some(sequence)),
        None => (time, None),
    };
    let width = spec.id_unit().digits();
    let time = ordinal::read_signed(time, width)
        .ok_or_else(|| IdError::new(text, format!("`{time}` is no time")))?;
    let sequence = match sequence {
        None => 0,
        Some(sequence) => ordinal::read_sequence(sequence)
            .ok_or_else(|| IdError::new(text, format!("`{sequence}` is no sequence")))?,
    };
    Ok(Place { time, sequence })
}

/// The texts of the key parts, in the order of the model.
pub(super) fn key_texts(spec: &BucketSpec, text: &str) -> Result<Vec<String>, IdError> {
    let (parts, _) = split(spec, text)?;
    let mut texts = vec![String::new(); spec.keys().len()];
    for (index, part) in parts {
        let part = unescape(part)
            .ok_or_else(|| IdError::new(text, format!("`{part}` is not percent-encoded")))?;
        if let Some(slot) = texts.get_mut(index) {
            *slot = part;
        }
    }
    Ok(texts)
}

/// The escaped key parts with their index in the model, and the text of the time.
#[allow(clippy::type_complexity)]
fn split<'a>(
    spec: &BucketSpec,
    text: &'a str,
) -> Result<(Vec<(usize, &'a str)>, &'a str), IdError> {
    let mut rest = text;
    let mut parts = Vec::with_capacity(1);
    for segment in spec.id() {
        match segment {
            IdSegment::Literal(literal) => {
                rest = rest
                    .strip_prefix(literal)
                    .ok_or_else(|| IdError::new(text, format!("`{literal}` is missing")))?;
            }
            IdSegment::Key(index) => {
                let end = rest.find(|c| is_separator(spec, c)).unwrap_or(rest.len());
                let (part, tail) = rest.split_at(end);
                parts.push((*index, part));
                rest = tail;
            }
            IdSegment::Time(_) if rest.is_empty() => {
                return Err(IdError::new(text, "the time is missing"));
            }
            IdSegment::Time(_) => {}
        }
    }
    Ok((parts, rest))
}

fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let (hex, tail) = tail.split_at_checked(2)?;
            let hex = std::str::from_utf8(hex).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}
