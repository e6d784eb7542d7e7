//! Whole numbers as bytes, and a reader that never passes the end.

use crate::error::{Read, UnpackError, damaged};

/// Writes seven bits in each byte, the lowest first; the high bit says that more follow.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// A length.
pub(crate) fn put_length(out: &mut Vec<u8>, length: usize) {
    // No platform has longer ones.
    put_varint(out, u64::try_from(length).unwrap_or(u64::MAX));
}

/// How many bytes the varint of a number with this many bits has.
pub(crate) fn varint_len(bits: u32) -> usize {
    usize::try_from(bits.max(1).div_ceil(7)).unwrap_or(usize::MAX)
}

/// The sign as the lowest bit: small magnitudes become small numbers.
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The number of [`zigzag`].
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// What is left to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Input<'a> {
    left: &'a [u8],
    /// How many bytes may still be read into memory.
    budget: usize,
}

impl<'a> Input<'a> {
    pub(crate) const fn new(bytes: &'a [u8], budget: usize) -> Self {
        Self {
            left: bytes,
            budget,
        }
    }

    pub(crate) fn take(&mut self, length: usize) -> Read<&'a [u8]> {
        let taken = self.left.split_at_checked(length);
        let (taken, left) = taken.ok_or(UnpackError::Damaged("they end early"))?;
        self.left = left;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let taken = self.left.split_first_chunk::<N>();
        let (taken, left) = taken.ok_or(UnpackError::Damaged("they end early"))?;
        self.left = left;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Read<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn varint(&mut self) -> Read<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7F);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        damaged("a number has more than 64 bits")
    }

    /// A number of things of which there are at most this many.
    pub(crate) fn length(&mut self, most: usize) -> Read<usize> {
        let length = usize::try_from(self.varint()?);
        let length = length.ok().filter(|length| *length <= most);
        length.ok_or(UnpackError::Damaged("a length is too large"))
    }

    pub(crate) const fn left(&self) -> &'a [u8] {
        self.left
    }

    /// Goes on with these, which are the end of what is left.
    pub(crate) const fn go_on(&mut self, left: &'a [u8]) {
        self.left = left;
    }

    /// This many values of this many bytes are about to be read. A few packed bytes can say that there are more of them
    /// than the memory holds.
    pub(crate) fn reserve(&mut self, values: usize, bytes: usize) -> Read<()> {
        let left = values.checked_mul(bytes);
        let left = left.and_then(|bytes| self.budget.checked_sub(bytes));
        self.budget = left.ok_or(UnpackError::Damaged(
            "they say that there is more than any documents have",
        ))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_read_as_it_was_written() {
        for value in (0..64).flat_map(|bits| [1_u64 << bits, (1 << bits) - 1, !(1 << bits)]) {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(64 - value.leading_zeros()));
            assert_eq!(Input::new(&out, 0).varint(), Ok(value));
            let signed = value.cast_signed();
            assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn a_number_that_goes_on_too_long_is_damage() {
        let mut long = vec![0xFF; 9];
        long.push(2);
        assert!(Input::new(&long, 0).varint().is_err());
        assert!(Input::new(&[0x80], 0).varint().is_err());
    }
}
