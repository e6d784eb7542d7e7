//! `#[derive(AttributeValue)]`: a user's type as an attribute's value.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::{Data, DataEnum, DeriveInput, Fields, Type};

use crate::{
    diagnostics::Diagnostics,
    locals,
    model::serde_names,
    symbol::{SERDE, serde},
    syntax::{crate_path::CratePath, entry, key_type},
    typed_path,
};

/// A checked value type.
pub(crate) struct ValueType {
    ident: Ident,
    krate: CratePath,
    form: Shape,
    /// It has parameters, so it gets no fallback.
    generic: bool,
}

/// How the type is stored.
enum Shape {
    /// As the text of the variant.
    Names(Vec<(Ident, String)>),
    /// As what the variant holds.
    Values(Vec<Ident>),
    /// As its only field.
    Newtype(Box<Type>),
    /// An error was reported.
    Broken,
}

/// Reads and checks a value type.
pub(crate) fn build(cx: &mut Diagnostics, input: &DeriveInput) -> ValueType {
    let form = match &input.data {
        Data::Enum(data) => of_enum(cx, input, data),
        Data::Struct(data) => match (&data.fields, data.fields.iter().next()) {
            (Fields::Unnamed(fields), Some(field)) if fields.unnamed.len() == 1 => {
                Shape::Newtype(Box::new(field.ty.clone()))
            }
            _ => refuse(cx, input, &input.ident),
        },
        Data::Union(data) => refuse(cx, input, data.union_token),
    };
    if !input.generics.params.is_empty() {
        let message = "the value of an attribute cannot have generic parameters";
        let help = format!("struct {}(f64);", input.ident);
        cx.error(&input.generics, message, help);
    }
    ValueType {
        ident: input.ident.clone(),
        krate: key_type::parse(cx, &input.attrs),
        form,
        generic: !input.generics.params.is_empty(),
    }
}

fn refuse(cx: &mut Diagnostics, input: &DeriveInput, at: impl ToTokens) -> Shape {
    let message = "`AttributeValue` expects a newtype, an enum of unit variants, or an enum whose \
                   variants hold one value each";
    let help = format!(
        "#[serde(untagged)] enum {} {{ Number(f64), Text(String) }}",
        input.ident
    );
    cx.error(at, message, help);
    Shape::Broken
}

fn of_enum(cx: &mut Diagnostics, input: &DeriveInput, data: &DataEnum) -> Shape {
    let variants = || data.variants.iter();
    let is_unit = |variant: &syn::Variant| matches!(variant.fields, Fields::Unit);
    let holds_one = |variant: &syn::Variant| matches!(&variant.fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1);
    if variants().next().is_some() && variants().all(is_unit) {
        let stored = serde_names::of_enum(cx, input).variants;
        let idents = variants().map(|variant| variant.ident.clone());
        return Shape::Names(idents.zip(stored.into_iter().map(|s| s.name)).collect());
    }
    let first = variants().find(|variant| !holds_one(variant));
    if let Some(other) = first.filter(|_| variants().any(|variant| !is_unit(variant))) {
        return refuse(cx, input, other);
    }
    if variants().next().is_none() {
        return refuse(cx, input, &input.ident);
    }
    let mut entries = entry::entries(&input.attrs, SERDE);
    if !entries.any(|entry| entry.is(serde::UNTAGGED)) {
        let message = "an enum of values must be untagged: only the value is stored";
        let help = format!("#[serde(untagged)] enum {} {{ .. }}", input.ident);
        cx.error(&input.ident, message, help);
    }
    Shape::Values(variants().map(|variant| variant.ident.clone()).collect())
}

/// The impl of a type without errors.
pub(crate) fn full(value: &ValueType) -> TokenStream {
    let krate = &value.krate;
    let private = quote!(#krate::__private);
    let (kind, to_bson) = match &value.form {
        Shape::Names(variants) => {
            let (idents, names): (Vec<_>, Vec<_>) = variants.iter().cloned().unzip();
            let text = quote! {
                #private::bson::Bson::String(::std::string::String::from(match self {
                    #(Self::#idents => #names,)*
                }))
            };
            (quote!(#private::ValueKind::String), text)
        }
        Shape::Values(variants) => {
            let values = quote! {
                match self {
                    #(Self::#variants(__value) => #private::AttributeValue::to_bson(__value),)*
                }
            };
            (quote!(#private::ValueKind::Any), values)
        }
        Shape::Newtype(ty) => {
            let inner = |name| typed_path::of(ty, &private, "AttributeValue", name);
            let (kind, to_bson) = (inner("KIND"), inner("to_bson"));
            (kind, quote!(#to_bson(&self.0)))
        }
        Shape::Broken => return TokenStream::new(),
    };
    implement(value, &private, &kind, &to_bson)
}

/// The impl of a type with errors: it exists, so its uses report nothing. It never runs.
pub(crate) fn fallback(value: &ValueType) -> TokenStream {
    if value.generic {
        return TokenStream::new();
    }
    let krate = &value.krate;
    let private = quote!(#krate::__private);
    implement(
        value,
        &private,
        &quote!(#private::ValueKind::Any),
        &quote!(loop {}),
    )
}

fn implement(
    value: &ValueType,
    private: &TokenStream,
    kind: &TokenStream,
    to_bson: &TokenStream,
) -> TokenStream {
    let ident = &value.ident;
    let kept_free = locals::kept_free(to_bson);
    quote! {
        #[allow(dead_code, unused_qualifications)]
        const _: () = {
            #kept_free
            #[automatically_derived]
            impl #private::AttributeValue for #ident {
                const KIND: #private::ValueKind = #kind;
                type Value = Self;

                fn to_bson(&self) -> #private::bson::Bson {
                    #to_bson
                }
            }
        };
    }
}
