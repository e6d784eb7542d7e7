//! `TradeStats`: the aggregates of a bucket, with a method for each aggregated field.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::{
    expand::{
        Expand,
        conditional::Conditional,
        docs,
        marker::{of_nothing, of_record},
        ty, view, where_clause,
    },
    model::aggregates::Method,
};

/// The structs of the stats, of the views and of the typed paths.
pub(super) fn declarations(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        stats,
        ..
    } = cx;
    if model.aggregates.is_empty() {
        return TokenStream::new();
    }
    let all = &model.record.generics;
    let bounds = &all.where_clause;
    let vis = &model.record.vis;
    let attrs = cx.type_attrs();
    let doc = docs::stats(model);
    let of = of_record(cx);
    let views = view::declarations(cx);
    let (paths, paths_doc) = (format_ident!("{stats}Fields"), docs::paths(stats));
    let stored = &model.aggregates.stored;
    let labels = stored.iter().map(|stored| &stored.label);
    let docs = stored.iter().map(docs::aggregate_path);
    quote! {
        #doc
        #attrs
        #vis struct #stats #all #bounds {
            parts: #private::StoredStats,
            #of
        }
        #views
        #paths_doc
        #attrs
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        #vis struct #paths {
            #(#docs #vis #labels: #private::FieldPath,)*
        }
    }
}

/// The impls of the stats and their views.
pub(super) fn impls(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        stats,
        ..
    } = cx;
    if model.aggregates.is_empty() {
        return TokenStream::new();
    }
    let all = &model.record.generics;
    let (params, _, _) = all.split_for_impl();
    let members = [format_ident!("parts"), format_ident!("of")];
    let traits = Conditional {
        ident: stats,
        generics: all,
        members: members
            .iter()
            .take(1 + usize::from(cx.is_generic()))
            .collect(),
        types: Vec::new(),
        bounds: Vec::new(),
    }
    .impls();
    let stats_ty = ty(stats, all);
    let own = where_clause(all, &[]);
    let (paths, methods, views) = (paths(cx), methods(cx), view::impls(cx));
    let accessors = accessor_of_bucket(cx);
    let of = of_nothing(cx);
    quote! {
        #traits
        #[automatically_derived]
        impl #params ::core::convert::From<#private::StoredStats> for #stats_ty #own {
            fn from(__parts: #private::StoredStats) -> Self {
                Self { parts: __parts, #of }
            }
        }
        #[doc(hidden)]
        #[automatically_derived]
        impl #params ::core::convert::AsRef<#private::StoredStats> for #stats_ty #own {
            fn as_ref(&self) -> &#private::StoredStats {
                &self.parts
            }
        }
        impl #params #stats_ty #own {
            #paths
        }
        #methods
        #views
        #accessors
    }
}

/// `TradeStats::FIELDS`.
fn paths(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        private,
        stats,
        ..
    } = cx;
    let vis = &model.record.vis;
    let (paths, doc) = (format_ident!("{stats}Fields"), docs::paths(stats));
    let stored = &model.aggregates.stored;
    let labels = stored.iter().map(|stored| &stored.label);
    let texts = stored.iter().map(|stored| &stored.path);
    quote! {
        #doc
        #vis const FIELDS: #paths = #paths {
            #(#labels: #private::FieldPath::new(#texts),)*
        };
    }
}

/// A view of each field, what is kept of the time, and the methods of the only view.
fn methods(cx: &Expand<'_>) -> TokenStream {
    let model = cx.model;
    let vis = &model.record.vis;
    let stats = ty(&cx.stats, &model.record.generics);
    let (params, _, _) = model.record.generics.split_for_impl();
    let bounds = where_clause(&model.record.generics, &super::aggregates::bounds(cx));
    let of = of_nothing(cx);
    let mut taken = HashSet::new();
    let accessors: Vec<TokenStream> = model
        .aggregates
        .views
        .iter()
        .map(|view| {
            taken.insert(view.field.to_string());
            let (field, view_ty, ident) = (&view.field, view::ty(cx, view, true), &view.ident);
            let doc = docs::view_of(&view.field);
            quote! {
                #doc
                #[must_use]
                #vis fn #field(&self) -> #view_ty {
                    #ident { parts: &self.parts, #of }
                }
            }
        })
        .collect();
    let parts = quote!(&self.parts);
    let mut distinct = |method: &&Method| taken.insert(method.ident.to_string());
    let times = model.aggregates.times.iter();
    let times: Vec<TokenStream> = times
        .filter(&mut distinct)
        .map(|method| view::method(cx, None, method, &parts))
        .collect();
    let promoted = model.aggregates.only_view().into_iter().flat_map(|view| {
        let methods = view.methods.iter();
        methods.map(move |method| (view, method))
    });
    let promoted: Vec<TokenStream> = promoted
        .filter(|(_, method)| distinct(method))
        .map(|(view, method)| view::method(cx, Some(view), method, &parts))
        .collect();
    quote! {
        impl #params #stats #bounds {
            #(#accessors)*
            #(#times)*
            #(#promoted)*
        }
    }
}

/// `TradeBucket::stats`.
fn accessor_of_bucket(cx: &Expand<'_>) -> TokenStream {
    let model = cx.model;
    let vis = &model.record.vis;
    let (params, _, _) = model.record.generics.split_for_impl();
    let (bucket, stats) = (cx.bucket_ty(), ty(&cx.stats, &model.record.generics));
    let bounds = super::bucket::bounds(cx);
    quote! {
        impl #params #bucket #bounds {
            /// The aggregates of this bucket.
            #[must_use]
            #vis fn stats(&self) -> &#stats {
                &self.stats
            }
        }
    }
}
