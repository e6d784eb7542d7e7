//! Strings of bytes: text, binary data, and values that have no columns.

use std::collections::HashMap;

use pco::wrapped::FileDecompressor;

use crate::{
    MOST_BYTES, MOST_ROWS,
    bytes::{Input, put_length},
    error::{PackError, Read, UnpackError, damaged},
    integers,
};

const CONSTANT: u8 = 0;
const DICTIONARY: u8 = 1;
const PLAIN: u8 = 2;

/// One for each of some rows.
#[derive(Debug, Clone)]
pub(crate) struct Blobs<'a> {
    /// Where each of the different ones ends.
    ends: Vec<usize>,
    bytes: &'a [u8],
    /// Which of them a row has; none if each row has its own.
    codes: Option<Vec<usize>>,
    /// All rows have the first one.
    is_constant: bool,
}

impl<'a> Blobs<'a> {
    /// That of a row that exists.
    pub(crate) fn get(&self, row: usize) -> &'a [u8] {
        let at = match &self.codes {
            _ if self.is_constant => 0,
            Some(codes) => codes.get(row).copied().unwrap_or_default(),
            None => row,
        };
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(at).copied().unwrap_or_default();
        self.bytes
            .get(start.copied().unwrap_or_default()..end)
            .unwrap_or_default()
    }
}

impl<'a> Blobs<'a> {
    /// All different ones.
    pub(crate) fn different(&self) -> impl Iterator<Item = &'a [u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = starts.zip(&self.ends);
        spans.map(|(start, end)| self.bytes.get(start..*end).unwrap_or_default())
    }
}

/// Writes the strings. None are no bytes.
pub(crate) fn pack(blobs: &[&[u8]], out: &mut Vec<u8>) -> Result<(), PackError> {
    let Some(first) = blobs.first() else {
        return Ok(());
    };
    if blobs.iter().all(|blob| blob == first) {
        out.push(CONSTANT);
        put_length(out, first.len());
        out.extend(*first);
        return Ok(());
    }
    if let Some((different, codes)) = different(blobs) {
        out.push(DICTIONARY);
        put_length(out, different.len());
        put(&different, out)?;
        return integers::pack_lengths(codes.into_iter(), out);
    }
    out.push(PLAIN);
    put(blobs, out)
}

fn put(blobs: &[&[u8]], out: &mut Vec<u8>) -> Result<(), PackError> {
    integers::pack_lengths(blobs.iter().map(|blob| blob.len()), out)?;
    for blob in blobs {
        out.extend(*blob);
    }
    Ok(())
}

/// The different ones in the order in which they come, and which each row has, if they repeat often enough.
fn different<'a>(blobs: &[&'a [u8]]) -> Option<(Vec<&'a [u8]>, Vec<usize>)> {
    let mut places: HashMap<&[u8], usize, foldhash::fast::RandomState> = HashMap::default();
    let mut different = Vec::new();
    let mut codes = Vec::with_capacity(blobs.len());
    for &blob in blobs {
        let code = *places.entry(blob).or_insert(different.len());
        if code == different.len() {
            if different.len() * 2 >= blobs.len() {
                return None;
            }
            different.push(blob);
        }
        codes.push(code);
    }
    Some((different, codes))
}

/// Reads those of this many rows.
pub(crate) fn unpack<'a>(
    input: &mut Input<'a>,
    format: &FileDecompressor,
    rows: usize,
) -> Read<Blobs<'a>> {
    let mut blobs = Blobs {
        ends: Vec::new(),
        bytes: &[],
        codes: None,
        is_constant: false,
    };
    if rows == 0 {
        return Ok(blobs);
    }
    match input.byte()? {
        CONSTANT => {
            let length = input.length(MOST_BYTES)?;
            blobs.is_constant = true;
            blobs.ends.push(length);
            blobs.bytes = input.take(length)?;
            input.reserve(rows, length)?;
        }
        PLAIN => {
            (blobs.ends, blobs.bytes) = take(input, format, rows)?;
            input.reserve(blobs.bytes.len(), 1)?;
        }
        DICTIONARY => {
            let different = input.length(rows.min(MOST_ROWS))?;
            (blobs.ends, blobs.bytes) = take(input, format, different)?;
            let codes = integers::unpack_below(input, format, rows, different)?;
            blobs.codes = Some(codes);
            let all = (0..rows).map(|row| blobs.get(row).len());
            input.reserve(all.fold(0, usize::saturating_add), 1)?;
        }
        _ => return damaged("a column of texts has an unknown form"),
    }
    Ok(blobs)
}

/// The ends of this many, and their bytes.
fn take<'a>(
    input: &mut Input<'a>,
    format: &FileDecompressor,
    count: usize,
) -> Read<(Vec<usize>, &'a [u8])> {
    let mut ends = integers::unpack_below(input, format, count, MOST_BYTES)?;
    let mut sum = 0_usize;
    for end in &mut ends {
        sum = sum
            .checked_add(*end)
            .ok_or(UnpackError::Damaged("a length is too large"))?;
        *end = sum;
    }
    Ok((ends, input.take(sum)?))
}
