//! What the code that is made for attributes needs to know of their struct.

use proc_macro2::{Ident, TokenStream};
use syn::Visibility;

use super::array::Array;

/// A struct whose attributes are asked for.
pub(crate) struct Asked<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) vis: &'a Visibility,
    pub(crate) private: &'a TokenStream,
    /// The slice of the arrays' specs.
    pub(crate) specs: TokenStream,
    pub(crate) arrays: &'a [Array],
}
