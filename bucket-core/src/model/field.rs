//! Field paths: the dotted names that generated constants carry.

use std::fmt;

/// The dotted path of a stored field, such as `customerId` or `history.ticker`.
///
/// The derive makes one constant for each stored field, so that your own filters need no literal
/// names.
///
/// ```
/// use bucket_core::FieldPath;
///
/// const TICKER: FieldPath = FieldPath::new("history.ticker");
/// assert_eq!(TICKER.as_str(), "history.ticker");
/// assert_eq!(bson::doc! { TICKER: "MDB" }, bson::doc! { "history.ticker": "MDB" });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(&'static str);

impl FieldPath {
    /// A path from its dotted text.
    ///
    /// ```
    /// assert_eq!(bucket_core::FieldPath::new("count").to_string(), "count");
    /// ```
    #[must_use]
    pub const fn new(path: &'static str) -> Self {
        Self(path)
    }

    /// The dotted text.
    ///
    /// ```
    /// assert_eq!(bucket_core::FieldPath::new("a.b").as_str(), "a.b");
    /// ```
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl AsRef<str> for FieldPath {
    fn as_ref(&self) -> &str {
        self.0
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> Self {
        path.0.to_owned()
    }
}

impl From<FieldPath> for bson::Bson {
    fn from(path: FieldPath) -> Self {
        Self::String(path.0.to_owned())
    }
}
