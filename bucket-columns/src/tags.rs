//! Small numbers of which few are different: types of values, subtypes, and truth.

use crate::{
    bytes::{Input, put_length},
    error::{Read, UnpackError, damaged},
};

const CONSTANT: u8 = 0;
const PACKED: u8 = 1;
const RUNS: u8 = 2;
const PLAIN: u8 = 3;

/// One for each of some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tags {
    /// The same for all.
    Constant(u8),
    /// As many as there are rows.
    Each(Vec<u8>),
}

impl Tags {
    /// That of a row that exists.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> u8 {
        match self {
            Self::Constant(tag) => *tag,
            Self::Each(tags) => tags.get(row).copied().unwrap_or_default(),
        }
    }

    /// The different ones in ascending order, and how many rows have each.
    pub(crate) fn counts(&self, rows: usize) -> Vec<(u8, usize)> {
        let mut counts = [0_usize; 256];
        match self {
            Self::Constant(tag) => counts[usize::from(*tag)] = rows,
            Self::Each(tags) => tags.iter().for_each(|tag| counts[usize::from(*tag)] += 1),
        }
        let counts = (0..=u8::MAX).zip(counts);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}

/// Writes the shortest of the forms.
pub(crate) fn pack(tags: &[u8], out: &mut Vec<u8>) {
    let Some(first) = tags.first() else {
        return;
    };
    let mut runs: Vec<(u8, usize)> = Vec::new();
    for run in tags.chunk_by(|one, other| one == other) {
        if let Some(tag) = run.first() {
            runs.push((*tag, run.len()));
        }
    }
    if runs.len() == 1 {
        out.extend([CONSTANT, *first]);
        return;
    }
    let mut different: Vec<u8> = runs.iter().map(|(tag, _)| *tag).collect();
    different.sort_unstable();
    different.dedup();
    let mut in_runs = vec![RUNS];
    put_length(&mut in_runs, runs.len());
    for (tag, length) in runs {
        in_runs.push(tag);
        put_length(&mut in_runs, length);
    }
    let mut shortest = in_runs;
    if let Some(bits) = bits_for(different.len()) {
        let mut packed = vec![PACKED];
        put_length(&mut packed, different.len());
        packed.extend(&different);
        let each = 8 / bits;
        for some in tags.chunks(each) {
            let code = |tag: &u8| different.binary_search(tag).unwrap_or_default();
            let codes = some.iter().map(code).enumerate();
            let byte = codes.fold(0_usize, |byte, (at, code)| byte | code << (at * bits));
            packed.push(byte.to_le_bytes()[0]);
        }
        if packed.len() < shortest.len() {
            shortest = packed;
        }
    }
    if tags.len() < shortest.len() {
        out.push(PLAIN);
        out.extend(tags);
    } else {
        out.extend(shortest);
    }
}

/// How many bits a code has, if at most four are enough.
const fn bits_for(different: usize) -> Option<usize> {
    match different {
        2 => Some(1),
        3..=4 => Some(2),
        5..=16 => Some(4),
        _ => None,
    }
}

/// Reads those of this many rows.
pub(crate) fn unpack(input: &mut Input<'_>, rows: usize) -> Read<Tags> {
    if rows == 0 {
        return Ok(Tags::Each(Vec::new()));
    }
    match input.byte()? {
        CONSTANT => Ok(Tags::Constant(input.byte()?)),
        PLAIN => Ok(Tags::Each(input.take(rows)?.to_vec())),
        RUNS => {
            let runs = input.length(rows)?;
            let mut tags = Vec::with_capacity(rows);
            for _ in 0..runs {
                let tag = input.byte()?;
                let length = input.length(rows - tags.len())?;
                tags.resize(tags.len() + length, tag);
            }
            if tags.len() != rows {
                return damaged("a column has another length");
            }
            Ok(Tags::Each(tags))
        }
        PACKED => {
            let different = input.length(16)?;
            let bits =
                bits_for(different).ok_or(UnpackError::Damaged("there are no such codes"))?;
            let different = input.take(different)?;
            let each = 8 / bits;
            let mask = (1_usize << bits) - 1;
            let mut tags = Vec::with_capacity(rows);
            for byte in input.take(rows.div_ceil(each))? {
                for at in 0..each.min(rows - tags.len()) {
                    let code = usize::from(*byte) >> (at * bits) & mask;
                    let tag = different.get(code);
                    tags.push(*tag.ok_or(UnpackError::Damaged("there is no such code"))?);
                }
            }
            Ok(Tags::Each(tags))
        }
        _ => damaged("a column of small numbers has an unknown form"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn tags_are_read_as_they_were_written(
            tags in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                prop::collection::vec(0..2_u8, 0..2_000),
                prop::collection::vec(0..5_u8, 0..200),
                prop::collection::vec((any::<u8>(), 1..50_usize), 0..20).prop_map(|runs| {
                    runs.into_iter().flat_map(|(tag, length)| vec![tag; length]).collect()
                }),
            ]
        ) {
            let mut out = Vec::new();
            pack(&tags, &mut out);
            let mut input = Input::new(&out, 0);
            let read = unpack(&mut input, tags.len()).unwrap();
            prop_assert!(input.left().is_empty());
            prop_assert!(out.len() <= tags.len() + 1);
            let back: Vec<u8> = (0..tags.len()).map(|row| read.get(row)).collect();
            prop_assert_eq!(back, tags);
        }
    }
}
