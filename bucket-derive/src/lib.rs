//! Derive macros of `bucket-mongo`; depend on that crate and not on this one.
//!
//! A derive runs in three phases, each a folder: `syntax` reads the syntax of `#[bucket(..)]`,
//! `model` checks it against the struct and serde's names, `expand` writes tokens. Mistakes
//! are collected in `diagnostics` and reported together; a struct with mistakes still gets its
//! impls, so that its uses elsewhere report nothing. The folders `syntax`, `model` and `expand` are for
//! `Bucketed`; each other derive has its own folder, `derive_..`. `attribute_arrays` is for documents and
//! items.

mod attribute_arrays;
mod derive_attribute_value;
mod derive_attributed;
mod derive_bucket_key;
mod diagnostics;
mod expand;
#[cfg(test)]
mod generated;
mod locals;
mod model;
mod symbol;
mod syntax;
mod typed_path;

use proc_macro::TokenStream;
use syn::DeriveInput;

use crate::diagnostics::Diagnostics;

#[doc = include_str!("docs/bucketed.md")]
#[doc = include_str!("docs/generated.md")]
#[proc_macro_derive(Bucketed, attributes(bucket))]
pub fn derive_bucketed(input: TokenStream) -> TokenStream {
    run(input, model::build, expand::full, expand::fallback)
}

#[doc = include_str!("docs/bucket_key.md")]
#[proc_macro_derive(BucketKey, attributes(bucket))]
pub fn derive_bucket_key(input: TokenStream) -> TokenStream {
    run(
        input,
        derive_bucket_key::build,
        derive_bucket_key::full,
        derive_bucket_key::fallback,
    )
}

#[doc = include_str!("docs/attributed.md")]
#[proc_macro_derive(Attributed, attributes(bucket))]
pub fn derive_attributed(input: TokenStream) -> TokenStream {
    run(
        input,
        derive_attributed::build,
        derive_attributed::full,
        derive_attributed::fallback,
    )
}

#[doc = include_str!("docs/attribute_value.md")]
#[proc_macro_derive(AttributeValue, attributes(bucket))]
pub fn derive_attribute_value(input: TokenStream) -> TokenStream {
    run(
        input,
        derive_attribute_value::build,
        derive_attribute_value::full,
        derive_attribute_value::fallback,
    )
}

/// Builds a model and expands it, or reports its errors together with a fallback.
fn run<M>(
    input: TokenStream,
    build: impl FnOnce(&mut Diagnostics, &DeriveInput) -> M,
    full: impl FnOnce(&M) -> proc_macro2::TokenStream,
    fallback: impl FnOnce(&M) -> proc_macro2::TokenStream,
) -> TokenStream {
    let input = match syn::parse::<DeriveInput>(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error().into(),
    };
    let mut cx = Diagnostics::new();
    let model = build(&mut cx, &input);
    let tokens = match cx.finish() {
        None => full(&model),
        Some(errors) => {
            let fallback = fallback(&model);
            quote::quote!(#errors #fallback)
        }
    };
    tokens.into()
}
