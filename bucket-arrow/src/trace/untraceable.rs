//! Why a type has no samples.

/// Why a type has no samples.
#[derive(Debug)]
pub(crate) struct Untraceable {
    /// The path of the value that nothing fits; empty for the whole.
    pub(crate) path: String,
    /// What its `Deserialize` says.
    pub(crate) message: String,
}
