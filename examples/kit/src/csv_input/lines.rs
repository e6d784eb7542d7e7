//! Lines of a file: numbered, without their ends, never more than one in memory.

use std::io::{self, BufRead, Read as _};

/// Many times the longest sensible row; a file without line breaks must not fill the memory.
const MAX_BYTES: u64 = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A cursor over the lines that are not blank.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    bytes: u64,
    buffer: Vec<u8>,
    is_whole: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            number: 0,
            bytes: 0,
            buffer: Vec::new(),
            is_whole: true,
        }
    }

    /// Goes to the next line that is not blank; returns whether there is one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        while self.read()? {
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line, without its end; none if it is too long.
    pub(super) fn text(&self) -> Option<&[u8]> {
        self.is_whole.then_some(self.buffer.as_slice())
    }

    /// The number of the line, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The bytes up to the end of the line.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        let read = self
            .input
            .by_ref()
            .take(MAX_BYTES)
            .read_until(b'\n', &mut self.buffer)?;
        self.bytes += read as u64;
        if read == 0 {
            return Ok(false);
        }
        self.number += 1;
        self.is_whole = self.buffer.ends_with(b"\n") || (read as u64) < MAX_BYTES;
        if !self.is_whole {
            self.bytes += self.input.skip_until(b'\n')? as u64;
        }
        if self.number == 1 && self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.buffer.drain(..BYTE_ORDER_MARK.len());
        }
        for end in [b'\n', b'\r'] {
            if self.buffer.last() == Some(&end) {
                self.buffer.pop();
            }
        }
        Ok(true)
    }
}
