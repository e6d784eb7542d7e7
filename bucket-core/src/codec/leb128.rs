//! Numbers of as many bytes as they need: LEB128, signed ones in zigzag.

/// Small magnitudes become small numbers, whatever their sign.
pub(crate) const fn zigzag(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)).cast_unsigned()
}

pub(crate) const fn unzigzag(value: u128) -> i128 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

pub(crate) fn push(bytes: &mut Vec<u8>, mut value: u128) {
    loop {
        // Seven bits fit a byte.
        #[allow(clippy::cast_possible_truncation)]
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

pub(crate) fn pull(bytes: &mut &[u8]) -> Option<u128> {
    let mut value = 0;
    // Written numbers never take more than 11 bytes.
    for shift in (0..77).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
