//! `TradeBucketFields` and `TradeItemFields`: the paths of all stored fields as constants.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::Generics;

use crate::{
    expand::{Expand, docs},
    model::serde_names::Storage,
};

/// A field of a path struct.
struct Path {
    ident: Ident,
    path: String,
}

/// Both structs.
pub(super) fn declarations(cx: &Expand<'_>) -> TokenStream {
    let bucket = declaration(cx, &cx.bucket, &bucket_paths(cx));
    let item = declaration(cx, &cx.item, &item_paths(cx));
    quote!(#bucket #item)
}

/// `TradeBucket::FIELDS` and `TradeItem::FIELDS`.
pub(super) fn constants(cx: &Expand<'_>) -> TokenStream {
    let all = &cx.model.record.generics;
    let bucket = constant(cx, &cx.bucket, all, &bucket_paths(cx));
    let item = constant(cx, &cx.item, &cx.item_generics, &item_paths(cx));
    quote!(#bucket #item)
}

fn bucket_paths(cx: &Expand<'_>) -> Vec<Path> {
    let path = |ident: Ident, path: &str| Path {
        ident,
        path: path.to_owned(),
    };
    let items = &cx.model.items;
    let keys = cx.model.bucket_keys();
    let own = cx.model.own_fields.iter();
    [path(format_ident!("id"), "_id")]
        .into_iter()
        .chain(keys.map(|field| path(field.ident.clone(), &field.name)))
        .chain(own.map(|field| path(field.role.ident(), &field.name)))
        .chain([path(items.ident.clone(), &items.name)])
        .collect()
}

fn item_paths(cx: &Expand<'_>) -> Vec<Path> {
    let named = cx
        .model
        .item_fields()
        .filter(|field| field.storage == Storage::Named);
    named
        .map(|field| Path {
            ident: field.ident.clone(),
            path: cx.model.item_path(field),
        })
        .collect()
}

fn declaration(cx: &Expand<'_>, of: &Ident, paths: &[Path]) -> TokenStream {
    let private = &cx.private;
    let vis = &cx.model.record.vis;
    let attrs = cx.type_attrs();
    let name = format_ident!("{of}Fields");
    let doc = docs::paths(of);
    let idents = paths.iter().map(|path| &path.ident);
    let docs = paths.iter().map(|path| docs::path(&path.path));
    quote! {
        #doc
        #attrs
        #[derive(::core::fmt::Debug, ::core::clone::Clone, ::core::marker::Copy)]
        #vis struct #name {
            #(#docs #vis #idents: #private::FieldPath,)*
        }
    }
}

fn constant(cx: &Expand<'_>, of: &Ident, generics: &Generics, paths: &[Path]) -> TokenStream {
    let private = &cx.private;
    let vis = &cx.model.record.vis;
    let name = format_ident!("{of}Fields");
    let (params, args, _) = generics.split_for_impl();
    let bounds = if *of == cx.bucket {
        super::bucket::bounds(cx)
    } else {
        super::where_clause(generics, &[])
    };
    let doc = docs::paths(of);
    let idents = paths.iter().map(|path| &path.ident);
    let texts = paths.iter().map(|path| &path.path);
    quote! {
        impl #params #of #args #bounds {
            #doc
            #vis const FIELDS: #name = #name {
                #(#idents: #private::FieldPath::new(#texts),)*
            };
        }
    }
}
