//! Numbers by `pco`, without its framing: the number of values is known, and there is one header for all columns.

use std::fmt::Display;

use pco::{
    ChunkConfig, DeltaSpec, ModeSpec,
    data_types::Number,
    wrapped::{FileCompressor, FileDecompressor},
};

use crate::{
    bytes::Input,
    error::{PackError, Read, UnpackError},
};

/// What is known of the numbers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nature {
    /// Their differences are smaller than they are.
    pub(crate) drifts: bool,
    /// They may be multiples of something: finding that out takes time.
    pub(crate) is_scaled: bool,
}

/// The header, which names the version of `pco`'s own format.
pub(crate) fn header() -> Result<Vec<u8>, PackError> {
    FileCompressor::default()
        .write_header(Vec::new())
        .map_err(failed)
}

/// Writes the numbers, of which there is at least one.
pub(crate) fn pack<T: Number>(
    numbers: &[T],
    nature: Nature,
    out: &mut Vec<u8>,
) -> Result<(), PackError> {
    let mode = if nature.is_scaled {
        ModeSpec::Auto
    } else {
        ModeSpec::Classic
    };
    let delta = if nature.drifts {
        DeltaSpec::TryConsecutive(1)
    } else {
        DeltaSpec::NoOp
    };
    let config = ChunkConfig::default()
        .with_mode_spec(mode)
        .with_delta_spec(delta);
    let mut chunk = FileCompressor::default()
        .chunk_compressor(numbers, &config)
        .map_err(failed)?;
    chunk.write_meta(&mut *out).map_err(failed)?;
    // At most 2^18 numbers are a page.
    for page in 0..chunk.n_per_page().len() {
        chunk.write_page(page, &mut *out).map_err(failed)?;
    }
    Ok(())
}

/// Reads `pco`'s header.
pub(crate) fn format(input: &mut Input<'_>) -> Read<FileDecompressor> {
    let (format, left) = FileDecompressor::new(input.left()).map_err(broken)?;
    input.go_on(left);
    Ok(format)
}

/// Reads this many numbers.
pub(crate) fn unpack<T: Number>(
    input: &mut Input<'_>,
    format: &FileDecompressor,
    count: usize,
) -> Read<Vec<T>> {
    let (mut chunk, mut left) = format.chunk_decompressor(input.left()).map_err(broken)?;
    let mut numbers = vec![T::default(); count];
    let pages = pco::PagingSpec::default()
        .n_per_page(count)
        .map_err(broken)?;
    let mut rest = numbers.as_mut_slice();
    for length in pages {
        let (page, others) = rest.split_at_mut_checked(length).unwrap_or_default();
        rest = others;
        let mut decompressor = chunk.page_decompressor(left, length).map_err(broken)?;
        decompressor.read(page).map_err(broken)?;
        left = decompressor.into_src();
    }
    input.go_on(left);
    Ok(numbers)
}

fn failed(error: impl Display) -> PackError {
    PackError::Numbers(error.to_string())
}

fn broken(_: impl Display) -> UnpackError {
    UnpackError::Damaged("numbers cannot be read")
}
