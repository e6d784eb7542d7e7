//! The marker field of types that depend on a generic record without holding one.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::Expand;

/// Its declaration, if the record is generic.
pub(super) fn of_record(cx: &Expand<'_>) -> Option<TokenStream> {
    let record = cx.record_ty();
    cx.is_generic()
        .then(|| quote!(of: ::core::marker::PhantomData<fn() -> #record>,))
}

/// Its value.
pub(super) fn of_nothing(cx: &Expand<'_>) -> Option<TokenStream> {
    cx.is_generic()
        .then(|| quote!(of: ::core::marker::PhantomData,))
}
