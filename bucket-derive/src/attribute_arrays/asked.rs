//! What the code generators of attributes need to know about a struct.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Generics, Visibility};

use super::{array::Array, bounds};

/// A struct with attributes to query.
pub(crate) struct Asked<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) vis: &'a Visibility,
    pub(crate) private: &'a TokenStream,
    /// The slice of the arrays' specs.
    pub(crate) specs: TokenStream,
    /// The trait that has them: a generic struct implements it for some arguments only.
    pub(crate) has_specs: TokenStream,
    pub(crate) arrays: &'a [Array],
}

impl Asked<'_> {
    pub(super) fn is_generic(&self) -> bool {
        !self.generics.params.is_empty()
    }

    /// `Bottle<V>`.
    pub(crate) fn ty(&self) -> TokenStream {
        self.with_args(self.ident)
    }

    /// `BottleSpecs<V>`: the specs depend on all parameters, and so does each filter type.
    pub(super) fn with_args(&self, ident: &Ident) -> TokenStream {
        let (_, args, _) = self.generics.split_for_impl();
        quote!(#ident #args)
    }

    /// What the fields of a generic struct must have.
    pub(crate) fn bounds(&self) -> Vec<TokenStream> {
        bounds::of_attributes(self.generics, self.arrays, self.private)
    }
}
