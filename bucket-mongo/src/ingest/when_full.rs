//! What a push does when the buffer is full.

#[cfg(doc)]
use super::Ingestor;
#[cfg(doc)]
use crate::ErrorKind;

/// What [`Ingestor::push`] does when the buffer is full.
///
/// ```
/// use bucket_mongo::WhenFull;
///
/// assert_eq!(WhenFull::default(), WhenFull::Wait);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Waits until there is room: the server sets the pace.
    #[default]
    Wait,
    /// Refuses the record with [`ErrorKind::Overloaded`] at once.
    Refuse,
}
