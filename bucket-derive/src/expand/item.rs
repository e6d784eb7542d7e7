//! `TradeItem`: the record without its key, as the array stores it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use crate::{
    expand::{Expand, conditional::Conditional, docs, where_clause},
    model::{field::Field, generics, serde_attrs, serde_names::ContainerDefault},
    typed_path,
};

/// The struct with serde's traits.
pub(super) fn derived(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let serde = serde_attrs::item_container(cx.model, &cx.item_generics);
    let body = body(cx, |field| {
        serde_attrs::item_field(field, &cx.model.krate, &cx.item_ty(), &cx.item_generics)
    });
    let head = head(cx);
    quote! {
        #head
        #[derive(#private::serde::Serialize, #private::serde::Deserialize)]
        #serde
        #body
    }
}

/// The struct without traits.
pub(super) fn declaration(cx: &Expand<'_>) -> TokenStream {
    let head = head(cx);
    let body = body(cx, |_| TokenStream::new());
    quote!(#head #body)
}

fn head(cx: &Expand<'_>) -> TokenStream {
    let attrs = cx.type_attrs();
    let doc = docs::item(cx.model);
    quote!(#doc #attrs)
}

fn body(cx: &Expand<'_>, serde: impl Fn(&Field) -> TokenStream) -> TokenStream {
    let Expand {
        model,
        item,
        item_generics,
        ..
    } = cx;
    let vis = &model.record.vis;
    let bounds = &item_generics.where_clause;
    let fields = model.item_fields().map(|field| {
        let Field { ident, ty, vis, .. } = field;
        let doc = docs::item_field(model, field);
        let serde = serde(field);
        quote!(#doc #serde #vis #ident: #ty)
    });
    quote! {
        #vis struct #item #item_generics #bounds {
            #(#fields,)*
        }
    }
}

/// How serde writes and reads the time of an item.
pub(super) fn time(cx: &Expand<'_>) -> TokenStream {
    let Expand { model, private, .. } = cx;
    let Some(Field { ty, .. }) = model.time() else {
        return TokenStream::new();
    };
    let item = cx.item_ty();
    let (params, _, _) = cx.item_generics.split_for_impl();
    let bound = generics::mentions_any(&cx.item_generics, ty);
    let bound = bound.then(|| quote!(#ty: #private::BucketTime));
    let bounds = where_clause(&cx.item_generics, bound.as_slice());
    let to = typed_path::of(ty, private, "BucketTime", "to_bson_date");
    let from = typed_path::of(ty, private, "BucketTime", "from_bson_date");
    let from = typed_path::closure(ty, &from);
    quote! {
        #[automatically_derived]
        impl #params #private::ItemTime for #item #bounds {
            type Time = #ty;

            fn serialize_time<__S: #private::serde::Serializer>(
                __time: &#ty,
                __to: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                #private::bson_date::write(#to(__time), __to)
            }

            fn deserialize_time<'__de, __D: #private::serde::Deserializer<'__de>>(
                __from: __D,
            ) -> ::core::result::Result<#ty, __D::Error> {
                #private::bson_date::read(__from, #from)
            }
        }
    }
}

/// `Debug`, `Clone` and `PartialEq` where the fields have them.
pub(super) fn conditional(cx: &Expand<'_>) -> TokenStream {
    Conditional {
        ident: &cx.item,
        generics: &cx.item_generics,
        members: cx.model.item_fields().map(|field| &field.ident).collect(),
        types: cx
            .model
            .item_fields()
            .map(|field| field.ty.to_token_stream())
            .collect(),
        bounds: Vec::new(),
    }
    .impls()
}

/// `#[serde(default)]` of the record: missing fields come from the record's default.
pub(super) fn default(cx: &Expand<'_>) -> TokenStream {
    let record = cx.record_ty();
    let (value, bounds) = match &cx.model.serde.default {
        ContainerDefault::None => return TokenStream::new(),
        ContainerDefault::Trait => {
            let bound = quote!(#record: ::core::default::Default);
            let value = quote!(<#record as ::core::default::Default>::default());
            (
                value,
                if cx.is_generic() {
                    vec![bound]
                } else {
                    Vec::new()
                },
            )
        }
        ContainerDefault::Path(path) => (quote!(#path()), Vec::new()),
    };
    let item = cx.item_ty();
    let (params, _, _) = cx.item_generics.split_for_impl();
    let bounds = where_clause(&cx.item_generics, &bounds);
    let idents = cx.model.item_fields().map(|field| &field.ident);
    quote! {
        #[automatically_derived]
        impl #params ::core::default::Default for #item #bounds {
            fn default() -> Self {
                let __record: #record = #value;
                Self { #(#idents: __record.#idents),* }
            }
        }
    }
}
