//! The trait that gives a record type its handle.

use bucket_core::Record;
use mongodb::Database;

use super::Buckets;

/// A record type with buckets in MongoDB.
///
/// Every type with `#[derive(Bucketed)]` implements it. The name imports both the trait and the derive.
///
/// ```no_run
/// use bucket_mongo::{Bucketed, Buckets, mongodb::Database};
///
/// fn handle<T: Bucketed>(database: &Database) -> Buckets<T> {
///     T::buckets(database)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bucketed record",
    label = "this type has no buckets",
    note = "add `#[derive(Bucketed)]` and `#[bucket(collection = \"..\", items = \"..\", ..)]` to `{Self}`"
)]
pub trait Bucketed: Record {
    /// Returns a handle to the buckets of this type in `database`. It is cheap to make and to clone.
    #[must_use]
    fn buckets(database: &Database) -> Buckets<Self> {
        Buckets::new(database)
    }
}

#[diagnostic::do_not_recommend]
impl<T: Record> Bucketed for T {}
