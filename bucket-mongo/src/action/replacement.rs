//! What replaces records, for the models that ask for it.

use std::fmt;

use bucket_core::Record;

use super::{
    ActionFuture,
    insert_one::Inserted,
    insert_or_replace::{Begins, InsertOrReplace},
    replaces::Replaces,
    replacing::Replacing,
};
use crate::{Result, writer::Written};

/// Which of two records with one id is kept, and the calls that replace the other one.
///
/// These calls are an update. As pointers they are compiled for the models whose records replace each other, not for each one
/// whose records are stored.
pub(crate) struct Replacement<'a, T: Record> {
    replaces: Replaces<'a, T>,
    insert: for<'c> fn(InsertOrReplace<'c, T>) -> ActionFuture<'c, Result<Inserted>>,
    settle: for<'c> fn(Replacing<'c, T>, &'c mut Written) -> ActionFuture<'c, ()>,
}

impl<'a, T: Record> Replacement<'a, T> {
    pub(crate) fn new(replaces: impl Fn(&T, &T) -> bool + Send + Sync + 'a) -> Self {
        Self {
            replaces: Replaces::new(replaces),
            insert: |insert| Box::pin(insert.run(Begins::WithAnInsert)),
            settle: |replacing, written| Box::pin(replacing.settle(written)),
        }
    }

    /// What the model says, if its records replace each other.
    pub(crate) fn of_model() -> Option<Self> {
        // The compiler knows the condition, and leaves `new` out of the models that say nothing.
        if const { T::REPLACES.is_some() } {
            T::REPLACES.map(Self::new)
        } else {
            None
        }
    }

    pub(crate) fn replaces(&self) -> &Replaces<'a, T> {
        &self.replaces
    }

    /// Stores a record, or replaces the one that is stored under its id.
    pub(super) fn insert<'c>(
        &self,
        insert: InsertOrReplace<'c, T>,
    ) -> ActionFuture<'c, Result<Inserted>> {
        (self.insert)(insert)
    }

    /// Settles the contested records of a batch.
    pub(crate) fn settle<'c>(
        &self,
        replacing: Replacing<'c, T>,
        written: &'c mut Written,
    ) -> ActionFuture<'c, ()> {
        (self.settle)(replacing, written)
    }
}

impl<T: Record> fmt::Debug for Replacement<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replacement")
    }
}
