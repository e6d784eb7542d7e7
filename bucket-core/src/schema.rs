//! What a collection knows of its model.
//!
//! | question | file |
//! | --- | --- |
//! | which documents the server accepts, if it is asked to look | `validator` |
//! | whether a collection has that validator | `validation` |
//! | what is known without the model | `description` |
//! | what of that differs from a model, and what a model adds to it | `compare` |
//! | which buckets lack an aggregate that is newer than they are | `partial` |

mod compare;
mod description;
mod partial;
mod validation;
mod validator;

pub use self::{
    description::{AggregateDescription, CollectionDescription, FieldDescription, MODELS},
    partial::PartialAggregate,
    validation::{Validation, validation},
};
