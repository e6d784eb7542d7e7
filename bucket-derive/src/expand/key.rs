//! `TradeKey`: the key fields as one value, and its conversions.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Index, ext::IdentExt};

use crate::{
    expand::{Expand, docs, where_clause},
    model::{field::Field, types},
    typed_path,
};

/// The struct with the traits that every key has.
///
/// Derived traits would each report a field that is not a key. A key without parameters therefore calls
/// the traits through `BucketKey`, which requires them.
pub(super) fn derived(cx: &Expand<'_>) -> TokenStream {
    let declaration = declaration(cx);
    if cx.key_generics.params.is_empty() {
        return declaration;
    }
    quote! {
        #[derive(
            ::core::fmt::Debug,
            ::core::clone::Clone,
            ::core::cmp::PartialEq,
            ::core::cmp::Eq,
            ::core::hash::Hash,
        )]
        #declaration
    }
}

/// The struct without traits.
pub(super) fn declaration(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        model,
        key,
        key_generics,
        ..
    } = cx;
    let vis = &model.record.vis;
    let attrs = cx.type_attrs();
    let doc = docs::key(model);
    let bounds = &key_generics.where_clause;
    let fields = model.keys().map(|field| {
        let Field { ident, ty, .. } = field;
        let doc = docs::key_field(field);
        quote!(#doc #vis #ident: #ty)
    });
    quote! {
        #doc
        #attrs
        #vis struct #key #key_generics #bounds {
            #(#fields,)*
        }
    }
}

/// The bounds of a generic key: those that the supertraits of `RecordKey` require.
pub(super) fn bounds(cx: &Expand<'_>) -> Vec<TokenStream> {
    if cx.key_generics.params.is_empty() {
        return Vec::new();
    }
    let private = &cx.private;
    let types = cx.model.keys().map(|field| &field.ty);
    let mut bounds: Vec<_> = types.map(|ty| quote!(#ty: #private::BucketKey)).collect();
    bounds.push(quote! {
        Self: ::core::clone::Clone + ::core::cmp::Eq + ::core::hash::Hash + ::core::fmt::Debug
            + ::core::marker::Send + ::core::marker::Sync + 'static
    });
    bounds
}

/// The traits of a key without parameters.
pub(super) fn traits(cx: &Expand<'_>) -> TokenStream {
    let Expand { private, key, .. } = cx;
    if !cx.key_generics.params.is_empty() {
        return TokenStream::new();
    }
    let bounds = &cx.key_generics.where_clause;
    let name = key.to_string();
    let idents: Vec<_> = cx.model.keys().map(|field| &field.ident).collect();
    let labels = idents.iter().map(|ident| ident.unraw().to_string());
    let calls = |name: &str| -> Vec<TokenStream> {
        let types = cx.model.keys().map(|field| &field.ty);
        types
            .map(|ty| typed_path::of(ty, private, "BucketKey", name))
            .collect()
    };
    let (debug, clone, equal, hash) = (
        calls("__debug"),
        calls("__clone"),
        calls("__equal"),
        calls("__hash"),
    );
    quote! {
        #[automatically_derived]
        impl ::core::fmt::Debug for #key #bounds {
            fn fmt(&self, __f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let mut __fields = ::core::fmt::Formatter::debug_struct(__f, #name);
                #(::core::fmt::DebugStruct::field(&mut __fields, #labels, #debug(&self.#idents));)*
                ::core::fmt::DebugStruct::finish(&mut __fields)
            }
        }
        #[automatically_derived]
        impl ::core::clone::Clone for #key #bounds {
            fn clone(&self) -> Self {
                Self { #(#idents: #clone(&self.#idents)),* }
            }
        }
        #[automatically_derived]
        impl ::core::cmp::PartialEq for #key #bounds {
            fn eq(&self, __other: &Self) -> ::core::primitive::bool {
                #(#equal(&self.#idents, &__other.#idents))&&*
            }
        }
        #[automatically_derived]
        impl ::core::cmp::Eq for #key #bounds {}
        #[automatically_derived]
        impl ::core::hash::Hash for #key #bounds {
            fn hash<__H: ::core::hash::Hasher>(&self, __state: &mut __H) {
                #(#hash(&self.#idents, __state);)*
            }
        }
    }
}

/// The key's conversion to BSON and back.
pub(super) fn record_key(cx: &Expand<'_>) -> TokenStream {
    let Expand {
        private,
        key_generics,
        ..
    } = cx;
    let ty = cx.key_ty();
    let (params, _, _) = key_generics.split_for_impl();
    let bounds = where_clause(key_generics, &bounds(cx));
    let visits = visits(cx);
    let reads = cx.model.keys().map(|field| {
        let Field { ident, ty, .. } = field;
        let call = typed_path::of(ty, private, "BucketKey", "from_key");
        quote!(#ident: #call(#private::KeySource::part(__source)?)?)
    });
    quote! {
        #[automatically_derived]
        impl #params #private::RecordKey for #ty #bounds {
            fn visit(&self, __sink: &mut dyn #private::KeySink) {
                #visits
            }

            fn read(
                __source: &mut dyn #private::KeySource,
            ) -> ::core::result::Result<Self, #private::KeyError> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    }
}

/// Hands the key fields of `self` to `sink`.
pub(super) fn visits(cx: &Expand<'_>) -> TokenStream {
    let private = &cx.private;
    let visits = cx.model.keys().map(|field| {
        let Field { ident, ty, .. } = field;
        let call = typed_path::of(ty, private, "BucketKey", "to_key");
        quote!(#private::KeySink::part(__sink, #call(&self.#ident));)
    });
    quote!(#(#visits)*)
}

/// `From` the only key field, or from a tuple of values that convert to the key fields.
pub(super) fn conversions(cx: &Expand<'_>) -> TokenStream {
    let keys: Vec<&Field> = cx.model.keys().collect();
    match keys.as_slice() {
        [] => TokenStream::new(),
        [only] => from_one(cx, only),
        several => from_tuple(cx, several),
    }
}

fn from_one(cx: &Expand<'_>, field: &Field) -> TokenStream {
    let ty = cx.key_ty();
    let (params, _, bounds) = cx.key_generics.split_for_impl();
    let Field {
        ident,
        ty: field_ty,
        ..
    } = field;
    // The user may have a type of this name: the bound follows that type.
    let from_str = types::is_literally(field_ty, "String").then(|| {
        quote! {
            #[automatically_derived]
            impl ::core::convert::From<&::core::primitive::str> for #ty
            where
                for<'__a> #field_ty: ::core::convert::From<&'__a ::core::primitive::str>,
            {
                fn from(__value: &::core::primitive::str) -> Self {
                    Self { #ident: ::core::convert::From::from(__value) }
                }
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #params ::core::convert::From<#field_ty> for #ty #bounds {
            fn from(__value: #field_ty) -> Self {
                Self { #ident: __value }
            }
        }
        #from_str
    }
}

fn from_tuple(cx: &Expand<'_>, fields: &[&Field]) -> TokenStream {
    let ty = cx.key_ty();
    let parts: Vec<_> = (0..fields.len())
        .map(|index| format_ident!("__K{index}"))
        .collect();
    let idents: Vec<_> = fields.iter().map(|field| &field.ident).collect();
    let types = fields.iter().map(|field| &field.ty);
    let places = (0..fields.len()).map(Index::from);
    let mut generics = cx.key_generics.clone();
    for (part, ty) in parts.iter().zip(types) {
        generics
            .params
            .push(syn::parse_quote!(#part: ::core::convert::Into<#ty>));
    }
    let (params, _, bounds) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #params ::core::convert::From<(#(#parts,)*)> for #ty #bounds {
            fn from(__values: (#(#parts,)*)) -> Self {
                Self { #(#idents: ::core::convert::Into::into(__values.#places)),* }
            }
        }
    }
}
