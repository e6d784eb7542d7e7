//! The elements of a BSON document, strictly: what is read here is written again byte by byte.

/// The types of BSON that have columns of their own; see the [specification](https://bsonspec.org/spec.html).
pub(crate) mod kind {
    pub(crate) const DOUBLE: u8 = 0x01;
    pub(crate) const TEXT: u8 = 0x02;
    pub(crate) const DOCUMENT: u8 = 0x03;
    pub(crate) const ARRAY: u8 = 0x04;
    pub(crate) const BINARY: u8 = 0x05;
    pub(crate) const UNDEFINED: u8 = 0x06;
    pub(crate) const OBJECT_ID: u8 = 0x07;
    pub(crate) const BOOL: u8 = 0x08;
    pub(crate) const DATE: u8 = 0x09;
    pub(crate) const NULL: u8 = 0x0A;
    pub(crate) const REGEX: u8 = 0x0B;
    pub(crate) const DB_POINTER: u8 = 0x0C;
    pub(crate) const CODE: u8 = 0x0D;
    pub(crate) const SYMBOL: u8 = 0x0E;
    pub(crate) const CODE_WITH_SCOPE: u8 = 0x0F;
    pub(crate) const INT32: u8 = 0x10;
    pub(crate) const TIMESTAMP: u8 = 0x11;
    pub(crate) const INT64: u8 = 0x12;
    pub(crate) const DECIMAL: u8 = 0x13;
    pub(crate) const MAX_KEY: u8 = 0x7F;
    pub(crate) const MIN_KEY: u8 = 0xFF;
}

/// An element: its type, its name without the NUL, and the bytes of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) kind: u8,
    pub(crate) name: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// The elements of a document; the last is `None` if it is not what a document should be.
pub(crate) fn elements(document: &[u8]) -> impl Iterator<Item = Option<Element<'_>>> {
    let mut left = body(document);
    std::iter::from_fn(move || match left {
        Some([]) => None,
        None => {
            left = Some(&[]);
            Some(None)
        }
        Some(bytes) => {
            let next = element(bytes);
            left = next.map(|(_, left)| left);
            let element = next.map(|(element, _)| element);
            if element.is_none() {
                left = Some(&[]);
            }
            Some(element)
        }
    })
}

/// Whether these bytes are one value of the type.
pub(crate) fn is_value(kind: u8, bytes: &[u8]) -> bool {
    let is_closed = match kind {
        kind::DOCUMENT | kind::ARRAY => body(bytes).is_some(),
        _ => true,
    };
    is_closed && length(kind, bytes) == Some(bytes.len())
}

/// What is between the length and the final NUL.
fn body(document: &[u8]) -> Option<&[u8]> {
    let (length, body) = document.split_first_chunk::<4>()?;
    let is_whole = usize::try_from(i32::from_le_bytes(*length)) == Ok(document.len());
    is_whole.then_some(body)?.strip_suffix(&[0])
}

fn element(bytes: &[u8]) -> Option<(Element<'_>, &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (name, rest) = rest.split_at_checked(end)?;
    let rest = rest.get(1..)?;
    let (value, left) = rest.split_at_checked(length(kind, rest)?)?;
    Some((Element { kind, name, value }, left))
}

/// How long the value at the beginning of these bytes is.
fn length(kind: u8, bytes: &[u8]) -> Option<usize> {
    let prefix = || {
        let length = bytes.first_chunk::<4>()?;
        usize::try_from(i32::from_le_bytes(*length)).ok()
    };
    Some(match kind {
        kind::UNDEFINED | kind::NULL | kind::MIN_KEY | kind::MAX_KEY => 0,
        kind::BOOL => (*bytes.first()? <= 1).then_some(1)?,
        kind::INT32 => 4,
        kind::DOUBLE | kind::DATE | kind::TIMESTAMP | kind::INT64 => 8,
        kind::OBJECT_ID => 12,
        kind::DECIMAL => 16,
        kind::TEXT | kind::CODE | kind::SYMBOL => {
            let end = prefix()?.checked_add(4)?;
            // With the NUL at its end.
            (end >= 5 && *bytes.get(end - 1)? == 0).then_some(end)?
        }
        kind::DOCUMENT | kind::ARRAY | kind::CODE_WITH_SCOPE => {
            prefix().filter(|length| *length >= 5)?
        }
        kind::BINARY => prefix()?.checked_add(5)?,
        kind::DB_POINTER => prefix()?.checked_add(16)?,
        kind::REGEX => {
            let pattern = bytes.iter().position(|byte| *byte == 0)? + 1;
            let options = bytes.get(pattern..)?;
            pattern + options.iter().position(|byte| *byte == 0)? + 1
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use bson::{rawdoc, spec::BinarySubtype};

    use super::*;

    #[test]
    fn what_is_no_document_ends_with_none() {
        let whole = rawdoc! {
            "text": "x", "binary": bson::Binary { subtype: BinarySubtype::Generic, bytes: vec![1] },
            "is": true, "in": { "regex": bson::Regex { pattern: bson::cstr!("a").to_owned(), options: bson::cstr!("i").to_owned() } },
        };
        let whole = whole.as_bytes();
        assert_eq!(elements(whole).flatten().count(), 4);
        for end in 0..whole.len() {
            assert_eq!(elements(&whole[..end]).last(), Some(None), "{end}");
        }
        let mut other = whole.to_vec();
        // The bool.
        let at = whole
            .windows(4)
            .position(|bytes| bytes == b"is\0\x01")
            .unwrap()
            + 3;
        other[at] = 2;
        assert_eq!(elements(&other).last(), Some(None));
    }
}
