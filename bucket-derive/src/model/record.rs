//! The record struct itself: its name, visibility and generics, and which structs are refused.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{
    Attribute, Data, DeriveInput, Field, Fields, GenericParam, Generics, Visibility,
    punctuated::Punctuated, token::Comma,
};

use crate::{
    diagnostics::Diagnostics,
    symbol::{ALLOW, DEPRECATED, SERDE, serde},
    syntax::entry::{self, Entry},
};

/// The struct without its fields.
pub(crate) struct Record {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) generics: Generics,
    /// `#[allow(..)]` of the struct, which hold for what is generated from it too.
    pub(crate) allows: Vec<Attribute>,
    /// The struct or a field is `#[deprecated]`; what is generated uses it without a warning.
    pub(crate) deprecated: bool,
    /// The `#[serde(..)]` entries that mean in the item what they mean in the record.
    pub(crate) serde: Vec<Entry>,
}

impl Record {
    pub(crate) fn read(input: &DeriveInput) -> Self {
        let forwarded = [
            serde::RENAME_ALL,
            serde::DENY_UNKNOWN_FIELDS,
            serde::EXPECTING,
        ];
        Self {
            ident: input.ident.clone(),
            vis: input.vis.clone(),
            generics: input.generics.clone(),
            allows: input
                .attrs
                .iter()
                .filter(|attr| entry::is(attr, ALLOW))
                .cloned()
                .collect(),
            deprecated: is_deprecated(input),
            serde: entry::entries(&input.attrs, SERDE)
                .filter(|entry| forwarded.iter().any(|key| entry.is(*key)))
                .collect(),
        }
    }
}

fn is_deprecated(input: &DeriveInput) -> bool {
    let fields = match &input.data {
        Data::Struct(data) => data.fields.iter(),
        Data::Enum(_) | Data::Union(_) => return false,
    };
    let attrs = fields.flat_map(|field| &field.attrs).chain(&input.attrs);
    attrs.into_iter().any(|attr| entry::is(attr, DEPRECATED))
}

/// The named fields; anything other than a struct with named fields is reported.
pub(crate) fn named_fields<'a>(
    cx: &mut Diagnostics,
    input: &'a DeriveInput,
    derive: &str,
    example: &str,
) -> Option<&'a Punctuated<Field, Comma>> {
    let (at, what) = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return Some(&fields.named),
            Fields::Unnamed(fields) => (fields.to_token_stream(), "a tuple struct"),
            Fields::Unit => (input.ident.to_token_stream(), "a unit struct"),
        },
        Data::Enum(data) => (data.enum_token.to_token_stream(), "an enum"),
        Data::Union(data) => (data.union_token.to_token_stream(), "a union"),
    };
    let message = format!("`{derive}` expects a struct with named fields, not {what}");
    let help = format!("struct {} {{ {example}, .. }}", input.ident);
    cx.error(at, message, help);
    None
}

/// A record owns its data: the buffer that it is read from does not outlive the read.
pub(crate) fn check_generics(cx: &mut Diagnostics, generics: &Generics, what: &str) {
    for param in &generics.params {
        if let GenericParam::Lifetime(param) = param {
            let lifetime = &param.lifetime;
            let message = format!("{what} owns its data: it cannot have the lifetime `{lifetime}`");
            cx.error(
                param,
                message,
                format_args!("use `String` instead of `&{lifetime} str`"),
            );
        }
    }
}
