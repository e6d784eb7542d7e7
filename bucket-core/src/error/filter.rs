//! A filter that a read of records cannot evaluate.

use std::fmt;

/// A filter on records that a read cannot evaluate. Filters from typed conditions on the fields of the model
/// are never refused; one with documents of your own may be.
///
/// ```
/// use bucket_core::FilterError;
///
/// fn explain(error: &FilterError) -> String {
///     match error {
///         FilterError::Operator { operator, .. } => format!("use no `{operator}` here"),
///         other => other.to_string(),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilterError {
    /// The path is not that of a field of the items.
    #[non_exhaustive]
    Path {
        /// The path.
        path: String,
        /// The name of the array of the items.
        items: &'static str,
    },
    /// The filter has this operator, which reads of records do not know.
    #[non_exhaustive]
    Operator {
        /// The operator.
        operator: String,
    },
    /// Conditions do not compare with a value of this type.
    #[non_exhaustive]
    Value {
        /// The operator.
        operator: String,
    },
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path { path, items } => write!(
                f,
                "`{path}` is not a field of the records in `{items}`: filter records by fields of their item \
                 type and by their attributes"
            ),
            Self::Operator { operator } => write!(
                f,
                "reads of records cannot evaluate `{operator}`: use the conditions of fields and attributes, or \
                 filter the records that the read gives"
            ),
            Self::Value { operator } => write!(
                f,
                "conditions do not compare with the type of value that `{operator}` has: use a number, text, a \
                 date, a boolean, an object id or binary data, and `is_missing()` for null"
            ),
        }
    }
}

impl std::error::Error for FilterError {}
