//! What can go wrong.

use std::fmt;

/// Why documents could not be packed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PackError {
    /// The documents have more than 64 MiB together: pack fewer.
    TooLarge,
    /// The numbers of a field could not be packed.
    Numbers(String),
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => {
                f.write_str("the documents have more than 64 MiB together: pack fewer of them")
            }
            Self::Numbers(reason) => write!(f, "numbers could not be packed: {reason}"),
        }
    }
}

impl std::error::Error for PackError {}

/// Why packed documents could not be read. Nothing of them is given then.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnpackError {
    /// They were packed by a later version: this is the version of their format.
    Version(u8),
    /// The checksum is not that of the bytes.
    Checksum,
    /// The bytes have the right checksum, but are not what this crate writes.
    Damaged(&'static str),
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                f,
                "the packed documents have version {version} of the format, and this release reads version {}: read \
                 them with a later release",
                crate::VERSION
            ),
            Self::Checksum => {
                f.write_str("the packed documents are damaged: their checksum is another")
            }
            Self::Damaged(what) => write!(f, "the packed documents are damaged: {what}"),
        }
    }
}

impl std::error::Error for UnpackError {}

/// A result of reading.
pub(crate) type Read<T> = Result<T, UnpackError>;

/// Damage.
pub(crate) const fn damaged<T>(what: &'static str) -> Read<T> {
    Err(UnpackError::Damaged(what))
}
