//! Where the values of a list or a text end.

use arrow_buffer::{OffsetBuffer, ScalarBuffer};

/// An offset. `BatchBuilder` ends a batch long before it has 2^31 items or bytes.
pub(super) fn end(len: usize) -> i32 {
    i32::try_from(len).unwrap_or(i32::MAX)
}

/// These offsets, which rise.
pub(super) fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}
