//! Which of two records with one id is kept.

use std::fmt;

use bucket_core::Record;

use crate::{Error, ErrorKind, Result, error::Context};

/// Whether the second record replaces the first one, which is stored.
pub(crate) struct Replaces<'a, T>(Box<Rule<'a, T>>);

type Rule<'a, T> = dyn Fn(&T, &T) -> bool + Send + Sync + 'a;

impl<'a, T: Record> Replaces<'a, T> {
    pub(crate) fn new(replaces: impl Fn(&T, &T) -> bool + Send + Sync + 'a) -> Self {
        Self(Box::new(replaces))
    }

    /// Refuses a model in which nothing can be replaced.
    pub(crate) fn check(context: &Context) -> Result<()> {
        if T::SPEC.unique().is_some() {
            return Ok(());
        }
        let message = "the model has no record ids, so there is nothing to replace: put `#[bucket(unique)]` on a \
                       field"
            .to_owned();
        Err(Error::new(ErrorKind::InvalidArgument { message }, context))
    }

    pub(super) fn function(&self) -> &(dyn Fn(&T, &T) -> bool + Send + Sync + 'a) {
        &*self.0
    }
}

impl<T> fmt::Debug for Replaces<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replaces")
    }
}
