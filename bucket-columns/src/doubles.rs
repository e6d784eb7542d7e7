//! Floating-point numbers, to the bit.

use pco::wrapped::FileDecompressor;

use crate::{
    bytes::Input,
    error::{PackError, Read, damaged},
    integers,
    numbers::{self, Nature},
};

const CONSTANT: u8 = 0;
const PLAIN: u8 = 1;
const PACKED: u8 = 2;
const WHOLE: u8 = 3;

/// Writes the numbers. None are no bytes.
pub(crate) fn pack(doubles: &[f64], out: &mut Vec<u8>) -> Result<(), PackError> {
    let Some(first) = doubles.first() else {
        return Ok(());
    };
    if doubles
        .iter()
        .all(|double| double.to_bits() == first.to_bits())
    {
        out.push(CONSTANT);
        out.extend(first.to_le_bytes());
        return Ok(());
    }
    let whole: Option<Vec<i64>> = doubles.iter().map(|double| whole(*double)).collect();
    if let Some(whole) = whole {
        out.push(WHOLE);
        return integers::pack(&whole, out);
    }
    let mut packed = Vec::new();
    // Fewer are not worth a chunk of their own.
    if doubles.len() > 8 {
        let nature = Nature {
            drifts: drifts(doubles),
            is_scaled: true,
        };
        numbers::pack(doubles, nature, &mut packed)?;
    }
    if packed.is_empty() || packed.len() >= 8 * doubles.len() {
        out.push(PLAIN);
        for double in doubles {
            out.extend(double.to_le_bytes());
        }
    } else {
        out.push(PACKED);
        out.extend(packed);
    }
    Ok(())
}

/// The same number, if it is a whole one that comes back to the bit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "it is compared"
)]
fn whole(double: f64) -> Option<i64> {
    let whole = double as i64;
    // Neither -0.0, a NaN nor what has another fraction.
    ((whole as f64).to_bits() == double.to_bits() && whole.unsigned_abs() < 1 << 53)
        .then_some(whole)
}

/// Whether differences are smaller than the numbers, in the order of all doubles.
fn drifts(doubles: &[f64]) -> bool {
    let ordered = |double: &f64| {
        let bits = double.to_bits().cast_signed();
        bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
    };
    let smallest = doubles.iter().map(ordered).min().unwrap_or_default();
    let bits =
        |from: i64, to: i64| u64::BITS - to.wrapping_sub(from).unsigned_abs().leading_zeros();
    let own: u32 = doubles
        .iter()
        .map(|double| bits(smallest, ordered(double)))
        .sum();
    let steps = doubles
        .windows(2)
        .map(|two| bits(ordered(&two[0]), ordered(&two[1])) + 1);
    steps.sum::<u32>() < own
}

/// Reads this many numbers.
pub(crate) fn unpack(
    input: &mut Input<'_>,
    format: &FileDecompressor,
    count: usize,
) -> Read<Vec<f64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    match input.byte()? {
        CONSTANT => Ok(vec![f64::from_le_bytes(input.array()?); count]),
        PLAIN => (0..count)
            .map(|_| input.array().map(f64::from_le_bytes))
            .collect(),
        PACKED => numbers::unpack(input, format, count),
        WHOLE => {
            let whole = integers::unpack(input, format, count)?.into_iter();
            #[expect(clippy::cast_precision_loss, reason = "at most 53 bits were written")]
            Ok(whole.map(|whole| whole as f64).collect())
        }
        _ => damaged("a column of doubles has an unknown form"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn special() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            Just(-0.0),
            Just(0.0),
            Just(f64::INFINITY),
            Just(f64::from_bits(0x7FF8_0000_0000_0001)),
            Just(f64::from_bits(0xFFF0_0000_0000_0001)),
            Just(f64::MIN_POSITIVE / 2.0),
        ]
    }

    proptest! {
        #[test]
        fn doubles_are_read_to_the_bit(
            doubles in prop_oneof![
                prop::collection::vec(special(), 0..300),
                prop::collection::vec((0..10_000_i32).prop_map(|n| f64::from(n) / 100.0), 0..600),
                prop::collection::vec((-9..9_i32).prop_map(f64::from), 0..600),
                (prop::collection::vec((0..10_000_i32).prop_map(|n| f64::from(n) * 0.1), 100..300), special())
                    .prop_map(|(mut doubles, special)| { doubles.push(special); doubles }),
            ]
        ) {
            let mut out = numbers::header().unwrap();
            pack(&doubles, &mut out).unwrap();
            let mut input = Input::new(&out, 0);
            let format = numbers::format(&mut input).unwrap();
            let read = unpack(&mut input, &format, doubles.len()).unwrap();
            prop_assert!(input.left().is_empty());
            let bits = |doubles: &[f64]| doubles.iter().map(|it| it.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&read), bits(&doubles));
        }
    }
}
