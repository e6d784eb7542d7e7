//! The field by which types of a generic record depend on it and hold none of it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::expand::Expand;

/// Its declaration; none where the record is not generic.
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
