//! `TradePriceStats`: the aggregates of one field, read off the stats of a bucket.

use std::collections::HashSet;

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Generics, spanned::Spanned};

use crate::{
    expand::{
        Expand, aggregates, docs,
        marker::{of_nothing, of_record},
        where_clause,
    },
    model::aggregates::{Method, Reads, View},
};

/// The parameters of a view: those of the record behind the lifetime of the stats.
fn generics(cx: &Expand<'_>) -> Generics {
    let mut generics = cx.model.record.generics.clone();
    generics.params.insert(0, syn::parse_quote!('stats));
    generics
}

/// The type of a view; of an unnamed lifetime where `elided`.
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

/// The methods, and the traits where they cannot be derived: of a generic view they would depend
/// on the parameters.
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

/// A method that reads `parts`; one of the time has no view.
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
    // The span of the user's type: that is where a type that cannot be aggregated is reported.
    let measure = view.map(|view| &view.measure);
    let of = |name: TokenStream, index: usize| {
        let (private, index) = (super::at(measure.span(), private), self::index(index));
        quote_spanned! {measure.span()=>
            #private::StoredStats::#name::<#measure>(#parts, #index)
        }
    };
    let output = |name: TokenStream| {
        let private = super::at(measure.span(), private);
        quote_spanned!(measure.span()=> #option<<#measure as #private::Measure>::#name>)
    };
    let plain = |output: TokenStream, body: TokenStream| {
        (TokenStream::new(), TokenStream::new(), output, body)
    };
    match reads {
        Reads::Min(at) | Reads::Max(at) => plain(output(quote!(Value)), of(quote!(value), at)),
        Reads::Sum(at) => plain(output(quote!(Sum)), of(quote!(sum), at)),
        Reads::SumOfSquares(at) => plain(
            float,
            call(quote!(value::<::core::primitive::f64>), index(at)),
        ),
        Reads::First(at) | Reads::Last(at) => {
            plain(output(quote!(Value)), of(quote!(value_in_time), at))
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
            let name = quote_spanned!(key.span()=> tally::<#key>);
            plain(
                quote!(::std::vec::Vec<(#key, ::core::primitive::u64)>),
                call(name, index(at)),
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

fn index(at: usize) -> TokenStream {
    Literal::usize_unsuffixed(at).to_token_stream()
}
