//! From the model to tokens: one file for each generated item, which reads only the model.
//!
//! Generated code is data and one-line calls; behaviour lives in `bucket-core`. Public types are
//! siblings of the record struct, so that the user's paths resolve in them. Impls are in one
//! `const _`. Paths are absolute, and calls name their trait.

mod aggregates;
mod attribute_methods;
mod bucket;
mod conditional;
mod context;
mod docs;
mod fallback;
mod fields;
mod id;
mod item;
mod key;
mod marker;
mod own_fields;
mod record;
mod spec;
mod stats;
mod storage_bounds;
mod stored_fields;
mod view;

use proc_macro2::TokenStream;
use quote::quote;

use self::context::{Expand, option, ty};
use crate::{
    attribute_arrays::Array,
    model::{Model, generics::where_clause},
};

/// Expands a model without errors.
pub(crate) fn full(model: &Model) -> TokenStream {
    let cx = Expand::new(model, &model.arrays);
    let key = key::derived(&cx);
    let item = item::derived(&cx);
    let others = other_types(&cx);
    let filters = attribute_methods::types(&cx);
    let shared = shared_impls(&cx, &stored_fields::stored(&cx));
    let parts = [
        shared,
        key::traits(&cx),
        key::record_key(&cx),
        item::time(&cx),
        item::default(&cx),
        record::record(&cx),
        bucket::document(&cx),
        bucket::serde(&cx),
        bucket::methods(&cx),
        attribute_methods::methods(&cx),
    ];
    let impls = cx.block(&quote!(#(#parts)*));
    quote!(#key #item #others #filters #impls)
}

/// Expands a model with errors as far as possible: the same names and shapes, so that uses elsewhere
/// report no further errors.
pub(crate) fn fallback(model: &Model) -> TokenStream {
    let arrays: &[Array] = if model.arrays_are_sound {
        &model.arrays
    } else {
        &[]
    };
    let cx = Expand::new(model, arrays);
    let key = key::declaration(&cx);
    let item = item::declaration(&cx);
    let others = other_types(&cx);
    let filters = attribute_methods::types(&cx);
    let shared = shared_impls(&cx, &TokenStream::new());
    let impls = fallback::impls(&cx);
    let methods = attribute_methods::methods(&cx);
    let impls = cx.block(&quote!(#shared #impls #methods));
    quote!(#key #item #others #filters #impls)
}

/// The types that are the same with and without errors.
fn other_types(cx: &Expand<'_>) -> TokenStream {
    let bucket = bucket::declaration(cx);
    let id = id::alias(cx);
    let fields = fields::declarations(cx);
    let stats = stats::declarations(cx);
    quote!(#bucket #id #fields #stats)
}

/// The impls that are the same with and without errors, except for what the spec says of stored fields.
fn shared_impls(cx: &Expand<'_>, stored_fields: &TokenStream) -> TokenStream {
    let spec = spec::constants(cx, stored_fields);
    let fields = fields::constants(cx);
    let key = key::conversions(cx);
    let item = item::conditional(cx);
    let bucket = bucket::conditional(cx);
    let stats = stats::impls(cx);
    quote!(#spec #fields #key #item #bucket #stats)
}
