//! Where the values of a list or a text end.

use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::ArrowError;

/// An offset, or the greatest one of what has none: then the column has no [`offsets`].
pub(super) fn end(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// These offsets, which rise.
///
/// # Errors
///
/// If the column is too long for them. [`is_full`](crate::BatchBuilder::is_full) says so before, but nobody has to ask.
pub(super) fn offsets(ends: Vec<i32>) -> Result<OffsetBuffer<i32>, ArrowError> {
    if ends.last() == Some(&i32::MAX) {
        return Err(ArrowError::OffsetOverflowError(ends.len() - 1));
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(ends)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_too_long_is_an_error() {
        let most = i32::MAX as usize;
        assert!(offsets(vec![0, end(most - 1)]).is_ok());
        for len in [most, most + 1, usize::MAX] {
            assert!(offsets(vec![0, 7, end(len)]).is_err(), "{len}");
        }
    }
}
