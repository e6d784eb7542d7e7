//! Whole numbers: dates, counters, lengths, codes.

use pco::wrapped::FileDecompressor;

use crate::{
    bytes::{Input, put_varint, unzigzag, varint_len, zigzag},
    error::{PackError, Read, UnpackError, damaged},
    numbers::{self, Nature},
};

const CONSTANT: u8 = 0;
const STEPS: u8 = 1;
const VARINTS: u8 = 2;
const NARROW: u8 = 3;
const WIDE: u8 = 4;

/// Writes the numbers. None are no bytes.
pub(crate) fn pack(numbers: &[i64], out: &mut Vec<u8>) -> Result<(), PackError> {
    let (Some(&first), Some(&base)) = (numbers.first(), numbers.iter().min()) else {
        return Ok(());
    };
    if numbers.iter().all(|number| *number == first) {
        out.push(CONSTANT);
        put_varint(out, zigzag(first));
        return Ok(());
    }
    let steps = || numbers.windows(2).map(|two| two[1].wrapping_sub(two[0]));
    let step = steps().next().unwrap_or_default();
    // Two have always a step.
    if numbers.len() > 2 && steps().all(|other| other == step) {
        out.push(STEPS);
        put_varint(out, zigzag(first));
        put_varint(out, zigzag(step));
        return Ok(());
    }
    let above = || {
        numbers
            .iter()
            .map(|number| number.wrapping_sub(base).cast_unsigned())
    };
    let unit = above().fold(0, common).max(1);
    let bits = |number: u64| u64::BITS - number.leading_zeros();
    let own_bits: u32 = above().map(|number| bits(number / unit)).sum();
    let of_steps = |step: i64| bits(zigzag(step.wrapping_div(unit.cast_signed().max(1))));
    let nature = Nature {
        drifts: steps().map(of_steps).sum::<u32>() < own_bits,
        is_scaled: false,
    };
    let as_varints: usize = above().map(|number| varint_len(bits(number / unit))).sum();
    let mut packed = Vec::new();
    let mut form = NARROW;
    // Fewer are not worth a chunk of their own.
    if numbers.len() > 16 {
        let narrow = above().map(|number| u32::try_from(number / unit).ok());
        if let Some(narrow) = narrow.collect::<Option<Vec<u32>>>() {
            numbers::pack(&narrow, nature, &mut packed)?;
        } else {
            form = WIDE;
            let wide: Vec<u64> = above().map(|number| number / unit).collect();
            numbers::pack(&wide, nature, &mut packed)?;
        }
    }
    let has_packed = !packed.is_empty() && packed.len() < as_varints;
    out.push(if has_packed { form } else { VARINTS });
    put_varint(out, zigzag(base));
    put_varint(out, unit);
    if has_packed {
        out.extend(packed);
    } else {
        above().for_each(|number| put_varint(out, number / unit));
    }
    Ok(())
}

/// The greatest common divisor; with 0, the other number.
const fn common(mut one: u64, mut other: u64) -> u64 {
    if one == 1 {
        return 1;
    }
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Reads this many numbers.
pub(crate) fn unpack(
    input: &mut Input<'_>,
    format: &FileDecompressor,
    count: usize,
) -> Read<Vec<i64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let form = input.byte()?;
    let base = unzigzag(input.varint()?);
    if form == CONSTANT {
        return Ok(vec![base; count]);
    }
    let unit = input.varint()?;
    let number = |above: u64| base.wrapping_add(above.wrapping_mul(unit).cast_signed());
    match form {
        STEPS => {
            let step = unzigzag(unit);
            let next = |last: &i64| Some(last.wrapping_add(step));
            Ok(std::iter::successors(Some(base), next)
                .take(count)
                .collect())
        }
        VARINTS => (0..count).map(|_| input.varint().map(number)).collect(),
        NARROW => {
            let narrow: Vec<u32> = numbers::unpack(input, format, count)?;
            Ok(narrow
                .into_iter()
                .map(|above| number(above.into()))
                .collect())
        }
        WIDE => {
            let wide: Vec<u64> = numbers::unpack(input, format, count)?;
            Ok(wide.into_iter().map(number).collect())
        }
        _ => damaged("a column of whole numbers has an unknown form"),
    }
}

/// Reads this many lengths or places, each below the limit.
pub(crate) fn unpack_below(
    input: &mut Input<'_>,
    format: &FileDecompressor,
    count: usize,
    limit: usize,
) -> Read<Vec<usize>> {
    let numbers = unpack(input, format, count)?.into_iter();
    let below = numbers.map(|number| {
        usize::try_from(number)
            .ok()
            .filter(|number| *number < limit)
    });
    below
        .collect::<Option<_>>()
        .ok_or(UnpackError::Damaged("a length is too large"))
}

/// Writes lengths or places.
pub(crate) fn pack_lengths(
    lengths: impl Iterator<Item = usize>,
    out: &mut Vec<u8>,
) -> Result<(), PackError> {
    // None is above the size of all documents.
    let lengths: Vec<i64> = lengths
        .map(|length| i64::try_from(length).unwrap_or(i64::MAX))
        .collect();
    pack(&lengths, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_read_as_they_were_written(
            numbers in prop_oneof![
                prop::collection::vec(any::<i64>(), 0..300),
                prop::collection::vec(prop_oneof![Just(i64::MIN), Just(i64::MAX), Just(0)], 0..50),
                prop::collection::vec(-1_000..1_000_i64, 0..600),
                (any::<i64>(), any::<i64>(), 0..100_usize).prop_map(|(first, step, count)| {
                    (0_i64..).take(count).map(|n| first.wrapping_add(step.wrapping_mul(n))).collect()
                }),
                (0..1_i64 << 40, prop::collection::vec(0..9_i64, 0..300)).prop_map(|(mut at, steps)| {
                    steps.into_iter().map(|step| { at += step * 60_000; at }).collect()
                }),
            ]
        ) {
            let mut out = numbers::header().unwrap();
            pack(&numbers, &mut out).unwrap();
            let mut input = Input::new(&out, 0);
            let format = numbers::format(&mut input).unwrap();
            let read = unpack(&mut input, &format, numbers.len()).unwrap();
            prop_assert!(input.left().is_empty());
            prop_assert_eq!(read, numbers);
        }
    }
}
