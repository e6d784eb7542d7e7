//! The trait that gives a type with attributes its handle.

use bucket_core::attribute;
use mongodb::Database;

use super::Documents;

/// A type whose attributes are stored in arrays, in MongoDB.
///
/// Every type with `#[derive(Attributed)]` implements it. The name imports both the trait and the derive.
///
/// ```no_run
/// use bucket_mongo::{Attributed, Documents, mongodb::Database};
///
/// fn handle<T: Attributed>(database: &Database) -> Documents<T> {
///     T::documents(database)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no attributes",
    label = "this type has no arrays of attributes",
    note = "add `#[derive(Attributed)]` and `#[bucket(collection = \"..\")]` to `{Self}`, and \
            `#[bucket(attribute(array = \"..\", k = \"..\"))]` to its attributes",
    note = "if `{Self}` is generic, the types of its attributes must be `AttributeValue`"
)]
pub trait Attributed: attribute::Attributed {
    /// Returns a handle to the documents of this type in `database`. It is cheap to make and to clone.
    #[must_use]
    fn documents(database: &Database) -> Documents<Self> {
        Documents::new(database)
    }
}

#[diagnostic::do_not_recommend]
impl<T: attribute::Attributed> Attributed for T {}
