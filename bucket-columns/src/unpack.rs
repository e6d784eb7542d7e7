//! From bytes to columns.

use crate::{
    MOST_BYTES, MOST_FOR_EACH, MOST_ROWS, VERSION,
    bytes::Input,
    error::{UnpackError, damaged},
    numbers,
    rows::{Part, Rows},
};

/// Packed documents, read.
#[derive(Debug)]
pub struct Columns<'a> {
    len: usize,
    part: Part<'a>,
}

impl<'a> Columns<'a> {
    /// Reads what [`pack`](crate::pack) has written. The [crate's page](crate) has an example.
    ///
    /// # Errors
    ///
    /// [`UnpackError::Version`] for those of a later version, [`UnpackError::Checksum`] for bytes that changed, and
    /// [`UnpackError::Damaged`] for what nobody has packed.
    pub fn read(packed: &'a [u8]) -> Result<Self, UnpackError> {
        match packed.first() {
            Some(&VERSION) => {}
            Some(&version) => return Err(UnpackError::Version(version)),
            None => return damaged("they are empty"),
        }
        let (body, checksum) = packed
            .split_last_chunk::<4>()
            .ok_or(UnpackError::Checksum)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(UnpackError::Checksum);
        }
        let mut input = Input::new(body, MOST_FOR_EACH * MOST_BYTES);
        input.byte()?;
        let len = input.length(MOST_ROWS)?;
        let format = numbers::format(&mut input)?;
        let part = Part::read(&mut input, &format, len, 0)?;
        if !input.left().is_empty() {
            return damaged("they go on after their end");
        }
        Ok(Self { len, part })
    }

    /// The number of documents.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The documents, one after the other.
    #[must_use]
    pub fn into_rows(self) -> Rows<'a> {
        Rows::new(self.part, self.len)
    }
}
