//! The models of a program, as a tuple of record types.

use bucket_mongo::Bucketed;
use serde::de::DeserializeOwned;

use crate::model::{Adaptor, Model};

mod sealed {
    use super::Model;

    /// The models without their types.
    #[derive(Debug)]
    pub struct List(pub(crate) Vec<Box<dyn Model>>);

    pub trait Sealed {
        fn add_to(models: &mut List);
    }
}

pub(crate) use sealed::List;
use sealed::Sealed;

/// Tuples of one to eight record types, each with `#[derive(Deserialize, Bucketed)]`. It is sealed.
///
/// ```
/// use bucket_cli::Models;
///
/// fn start<M: Models>() -> std::process::ExitCode {
///     bucket_cli::run::<M>()
/// }
/// ```
pub trait Models: Sealed {}

macro_rules! models {
    ($($name:ident)+) => {
        impl<$($name: Bucketed + DeserializeOwned),+> Models for ($($name,)+) {}

        impl<$($name: Bucketed + DeserializeOwned),+> Sealed for ($($name,)+) {
            fn add_to(models: &mut List) {
                $(models.0.push(Box::new(Adaptor::<$name>::new()));)+
            }
        }
    };
}

models!(A);
models!(A B);
models!(A B C);
models!(A B C D);
models!(A B C D E);
models!(A B C D E F);
models!(A B C D E F G);
models!(A B C D E F G H);
