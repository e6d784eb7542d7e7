//! A model without its type: what the program dispatches to.

use std::{fmt, future::Future, pin::Pin};

use bucket_mongo::{BucketSpec, Bucketed, Buckets};
use serde::de::DeserializeOwned;

use crate::{
    at::{At, Session},
    command::{self, Command},
    error::Error,
    exit::Outcome,
};

/// A running command.
pub(crate) type Running<'a> = Pin<Box<dyn Future<Output = Result<Outcome, Error>> + 'a>>;

/// A model whose type is hidden.
pub(crate) trait Model: fmt::Debug {
    /// What the derive read from its struct.
    fn spec(&self) -> &'static BucketSpec;

    /// Runs a command on its buckets.
    fn run<'a>(&'a self, session: Session<'a>, command: Command) -> Running<'a>;
}

/// Changes the settings of a handle.
type Settings<T> = Box<dyn Fn(Buckets<T>) -> Buckets<T>>;

/// The model of a record type.
pub(crate) struct Adaptor<T: Bucketed> {
    settings: Settings<T>,
}

impl<T: Bucketed + DeserializeOwned> Adaptor<T> {
    /// The model with the handle that `T::buckets` makes.
    pub(crate) fn new() -> Self {
        Self::with(|buckets| buckets)
    }

    /// The model with a handle of other settings.
    pub(crate) fn with(settings: impl Fn(Buckets<T>) -> Buckets<T> + 'static) -> Self {
        Self {
            settings: Box::new(settings),
        }
    }
}

impl<T: Bucketed> fmt::Debug for Adaptor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptor")
            .field("record", &T::SPEC.record())
            .finish_non_exhaustive()
    }
}

impl<T: Bucketed + DeserializeOwned> Model for Adaptor<T> {
    fn spec(&self) -> &'static BucketSpec {
        T::SPEC
    }

    fn run<'a>(&'a self, session: Session<'a>, command: Command) -> Running<'a> {
        let buckets = (self.settings)(T::buckets(&session.database));
        Box::pin(command::run(At::new(session, buckets), command))
    }
}
