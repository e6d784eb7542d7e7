//! Texts or bytes, one after the other in one buffer.

use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::ArrowError;

use super::offsets::{end, offsets};

/// The texts and where each ends.
#[derive(Debug)]
pub(super) struct Texts {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            ends: vec![0],
            bytes: Vec::new(),
        }
    }
}

impl Texts {
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(end(self.bytes.len()));
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + 4 * self.ends.len()
    }

    /// The offsets and the bytes; empty afterwards.
    pub(super) fn take(&mut self) -> Result<(OffsetBuffer<i32>, Buffer), ArrowError> {
        let Self { ends, bytes } = std::mem::take(self);
        Ok((offsets(ends)?, Buffer::from_vec(bytes)))
    }
}
