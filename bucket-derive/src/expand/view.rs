//! `TradePriceStats`: the aggregates of one field, read from the stats of a bucket.

use std::collections::HashSet;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Generics, Type};

use crate::{
    expand::{
        Expand, aggregates, docs,
        marker::{of_nothing, of_record},
        where_clause,
    },
    model::aggregates::{Method, Reads, View},
    typed_path,
};

/// The parameters of a view: the lifetime of the stats, then those of the record.
fn generics(cx: &Expand<'_>) -> Generics {
    let mut generics = cx.model.record.generics.clone();
    generics.params.insert(0, syn::parse_quote!('stats));
    generics
}

/// The type of a view, with the lifetime `'_` if `elided`.
pub(super) fn ty(cx: &Expand<'_>, view: &View, elided: bool) -> TokenStream {
    let mut generics = cx.model.record.generics.clone();
    let lifetime = if elided { "'_" } else { "'stats" };
    let lifetime = syn::Lifetime::new(lifetime, proc_macro2::Span::call_site());
    generics.params.insert(
        0,
        syn::GenericParam::Lifetime(syn::LifetimeParam::new(lifetime)),
    );
    super::ty(&view.ident, &generics)
}

/// The structs.
pub(super) fn declarations(cx: &Expand<'_>) -> TokenStream {
    let Expand { model, private, .. } = cx;
    let vis = &model.record.vis;
    let attrs = cx.type_attrs();
    let generics = generics(cx);
    let bounds = &generics.where_clause;
    let of = of_record(cx);
    let traits = (!cx.is_generic())
        .then(|| quote!(#[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]));
    let views = model.aggregates.views.iter().map(|view| {
        let ident = &view.ident;
        let doc = docs::view(model, &view.field);
        quote! {
            #doc
            #attrs
            #traits
            #vis struct #ident #generics #bounds {
                parts: &'stats #private::StoredStats,
                #of
            }
        }
    });
    quote!(#(#views)*)
}

/// The methods, and the traits of a generic view: derived ones would depend on the parameters.
pub(super) fn impls(cx: &Expand<'_>) -> TokenStream {
    let generics = generics(cx);
    let (params, _, _) = generics.split_for_impl();
    let bounds = where_clause(&cx.model.record.generics, &aggregates::bounds(cx));
    let parts = quote!(self.parts);
    let views = cx.model.aggregates.views.iter().map(|view| {
        let ty = ty(cx, view, false);
        let mut taken = HashSet::new();
        let distinct = |method: &&Method| taken.insert(method.ident.to_string());
        let methods = view.methods.iter().filter(distinct);
        let methods = methods.map(|each| method(cx, Some(view), each, &parts));
        let traits = cx.is_generic().then(|| traits(cx, view, &generics));
        quote! {
            impl #params #ty #bounds {
                #(#methods)*
            }
            #traits
        }
    });
    quote!(#(#views)*)
}

fn traits(cx: &Expand<'_>, view: &View, generics: &Generics) -> TokenStream {
    let (params, _, own) = generics.split_for_impl();
    let (ty, name, of) = (ty(cx, view, false), view.ident.to_string(), of_nothing(cx));
    let ident = &view.ident;
    quote! {
        #[automatically_derived]
        impl #params ::core::fmt::Debug for #ty #own {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::DebugStruct::finish(::core::fmt::DebugStruct::field(
                    &mut ::core::fmt::Formatter::debug_struct(__f, #name),
                    "parts",
                    &self.parts,
                ))
            }
        }
        #[automatically_derived]
        impl #params ::core::clone::Clone for #ty #own {
            fn clone(&self) -> Self {
                #ident { parts: self.parts, #of }
            }
        }
        #[automatically_derived]
        impl #params ::core::marker::Copy for #ty #own {}
    }
}

/// A method that reads `parts`; the methods of the time have no view.
pub(super) fn method(
    cx: &Expand<'_>,
    view: Option<&View>,
    method: &Method,
    parts: &TokenStream,
) -> TokenStream {
    let private = &cx.private;
    let vis = &cx.model.record.vis;
    let ident = &method.ident;
    let doc = docs::method(cx.model, method);
    let (params, arguments, output, body) = body(private, view, method.reads, parts);
    quote! {
        #doc
        #[must_use]
        #vis fn #ident #params (&self #arguments) -> #output {
            #body
        }
    }
}

/// Parameters, arguments, output and body.
fn body(
    private: &TokenStream,
    view: Option<&View>,
    reads: Reads,
    parts: &TokenStream,
) -> (TokenStream, TokenStream, TokenStream, TokenStream) {
    let option = quote!(::core::option::Option);
    let float = quote!(#option<::core::primitive::f64>);
    let call = |name: TokenStream, arguments: TokenStream| quote!(#private::StoredStats::#name(#parts, #arguments));
    let measure = view.map(|view| &view.measure);
    let of = |method: &str, at: usize, from: &str| {
        let read = |ty| read_as(private, ty, method, parts, at, ("Measure", from));
        measure.map(read).unwrap_or_default()
    };
    let output = |name: &str| {
        let value = |ty| typed_path::of(ty, private, "Measure", name);
        let wrapped = |ty| typed_path::wrapped(ty, &option, &value(ty));
        measure.map(wrapped).unwrap_or_default()
    };
    let plain = |output: TokenStream, body: TokenStream| {
        (TokenStream::new(), TokenStream::new(), output, body)
    };
    match reads {
        Reads::Min(at) | Reads::Max(at) => {
            plain(output("Value"), of("number_as", at, "from_number"))
        }
        Reads::Sum(at) => plain(output("Sum"), of("number_as", at, "sum_from")),
        Reads::SumOfSquares(at) => plain(
            float,
            call(quote!(value::<::core::primitive::f64>), index(at)),
        ),
        Reads::First(at) | Reads::Last(at) => {
            plain(output("Value"), of("number_in_time", at, "from_number"))
        }
        Reads::Avg { sum, count } => {
            let (sum, count) = (index(sum), aggregates::index(count));
            plain(float, call(quote!(avg), quote!(#sum, #count)))
        }
        Reads::Variance {
            sum,
            squares,
            count,
        }
        | Reads::StdDev {
            sum,
            squares,
            count,
        } => {
            let (sum, squares, count) = (index(sum), index(squares), aggregates::index(count));
            let name = if matches!(reads, Reads::StdDev { .. }) {
                quote!(std_dev)
            } else {
                quote!(variance)
            };
            plain(float, call(name, quote!(#sum, #squares, #count)))
        }
        Reads::Count(at) | Reads::CountIf(at) => plain(
            quote!(::core::primitive::u64),
            call(quote!(count), index(at)),
        ),
        Reads::Tally(at) => {
            let key = view.map(|view| &view.tallied);
            let from = ("BucketKey", "from_key");
            let read = |ty| read_as(private, ty, "tally_as", parts, at, from);
            plain(
                quote!(::std::vec::Vec<(#key, ::core::primitive::u64)>),
                key.map(read).unwrap_or_default(),
            )
        }
        Reads::MappedTally(at) => (
            quote!(<__K: #private::BucketKey>),
            TokenStream::new(),
            quote!(::std::vec::Vec<(__K, ::core::primitive::u64)>),
            call(quote!(tally::<__K>), index(at)),
        ),
        Reads::Percentile { at, error_ppm } => {
            let (at, error) = (index(at), Literal::u32_unsuffixed(error_ppm));
            let body = call(quote!(percentile), quote!(#at, #error, __q));
            (
                TokenStream::new(),
                quote!(, __q: ::core::primitive::f64),
                float,
                body,
            )
        }
        Reads::Sketch { at, error_ppm } => {
            let (at, error) = (index(at), Literal::u32_unsuffixed(error_ppm));
            plain(
                quote!(#private::Sketch),
                call(quote!(sketch), quote!(#at, #error)),
            )
        }
        Reads::FirstTime(at) | Reads::LastTime(at) => plain(
            quote!(#option<#private::bson::DateTime>),
            call(quote!(time), index(at)),
        ),
    }
}

/// A call of `StoredStats` that reads values of the user's type by a function of its trait.
fn read_as(
    private: &TokenStream,
    ty: &Type,
    method: &str,
    parts: &TokenStream,
    at: usize,
    (of, from): (&str, &str),
) -> TokenStream {
    let from = typed_path::closure(ty, &typed_path::of(ty, private, of, from));
    let (method, at) = (format_ident!("{method}"), index(at));
    let method = quote!(#private::StoredStats::#method);
    typed_path::call(ty, &method, quote!(#parts, #at, #from))
}

fn index(at: usize) -> TokenStream {
    Literal::usize_unsuffixed(at).to_token_stream()
}
