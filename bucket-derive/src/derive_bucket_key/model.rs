//! Which types can be key types.

use std::collections::HashMap;

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Data, DataEnum, DeriveInput, Fields, Generics, Type};

use crate::{
    diagnostics::Diagnostics,
    model::serde_names::{self, SerdeVariant},
    symbol::{SERDE, serde},
    syntax::{
        crate_path::CratePath,
        entry::{self, Entry},
        key_type,
    },
};

/// A checked key type.
pub(crate) struct KeyType {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) krate: CratePath,
    pub(crate) form: KeyForm,
}

/// How the type is stored.
pub(crate) enum KeyForm {
    /// As the string of the variant.
    Enum(Vec<KeyVariant>),
    /// As its only field.
    Newtype(Box<Type>),
    /// An error was reported.
    Broken,
    /// An error was reported, and it cannot have the traits of a key.
    Union,
}

/// A variant and its stored strings.
pub(crate) struct KeyVariant {
    pub(crate) ident: Ident,
    pub(crate) name: String,
    /// Read but never written.
    pub(crate) aliases: Vec<String>,
}

/// Reads and checks a key type.
pub(crate) fn build(cx: &mut Diagnostics, input: &DeriveInput) -> KeyType {
    let krate = key_type::parse(cx, &input.attrs);
    check_container(cx, input);
    let form = match &input.data {
        Data::Enum(data) => enum_form(cx, input, data),
        Data::Struct(data) => match &data.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                let field = fields
                    .unnamed
                    .first()
                    .map(|field| Box::new(field.ty.clone()));
                field.map_or(KeyForm::Broken, KeyForm::Newtype)
            }
            fields => {
                let at = if fields.is_empty() {
                    input.ident.to_token_stream()
                } else {
                    fields.to_token_stream()
                };
                refuse(cx, input, at)
            }
        },
        Data::Union(data) => {
            refuse(cx, input, data.union_token.to_token_stream());
            KeyForm::Union
        }
    };
    let (ident, generics) = (input.ident.clone(), input.generics.clone());
    KeyType {
        ident,
        generics,
        krate,
        form,
    }
}

fn refuse(cx: &mut Diagnostics, input: &DeriveInput, at: impl ToTokens) -> KeyForm {
    let message = "`BucketKey` expects an enum of unit variants or a newtype of one field";
    cx.error(at, message, format_args!("struct {}(String);", input.ident));
    KeyForm::Broken
}

/// Refuses serde attributes that store something other than the key.
fn check_container(cx: &mut Diagnostics, input: &DeriveInput) {
    let refused = [
        serde::FROM,
        serde::TRY_FROM,
        serde::INTO,
        serde::REMOTE,
        serde::TAG,
        serde::UNTAGGED,
    ];
    for entry in entry::entries(&input.attrs, SERDE) {
        if let Some(key) = refused.iter().find(|key| entry.is(**key)) {
            let message =
                format!("`#[serde({key})]` on a key type: the derive cannot see what is stored");
            let help = format!(
                "remove `{key}`, or write `impl BucketKey for {}` by hand",
                input.ident
            );
            cx.error(&entry, message, help);
        }
    }
}

fn enum_form(cx: &mut Diagnostics, input: &DeriveInput, data: &DataEnum) -> KeyForm {
    if data.variants.is_empty() {
        let message = format!("`{}` has no variants: a key needs a value", input.ident);
        cx.error(
            &input.ident,
            message,
            format_args!("enum {} {{ First, .. }}", input.ident),
        );
        return KeyForm::Broken;
    }
    let stored = serde_names::of_enum(cx, input);
    if stored.asymmetric {
        let rename_all =
            entry::entries(&input.attrs, SERDE).find(|entry| entry.is(serde::RENAME_ALL));
        let message = "`rename_all` writes and reads different names: a key has one name for \
                       each variant";
        cx.error(rename_all, message, "#[serde(rename_all = \"snake_case\")]");
    }
    let mut variants = Vec::with_capacity(data.variants.len());
    for (variant, stored) in data.variants.iter().zip(stored.variants) {
        check_variant(cx, input, variant, &stored);
        let SerdeVariant { name, aliases, .. } = stored;
        variants.push(KeyVariant {
            ident: variant.ident.clone(),
            name,
            aliases,
        });
    }
    check_names(cx, &mut variants);
    KeyForm::Enum(variants)
}

fn check_variant(
    cx: &mut Diagnostics,
    input: &DeriveInput,
    variant: &syn::Variant,
    stored: &SerdeVariant,
) {
    let ident = &variant.ident;
    if !matches!(variant.fields, Fields::Unit) {
        let message = format!("the variant `{ident}` of a key has data");
        cx.error(
            &variant.fields,
            message,
            format_args!("enum {} {{ {ident}, .. }}", input.ident),
        );
    }
    let entries: Vec<Entry> = entry::entries(&variant.attrs, SERDE).collect();
    let rename = entries.iter().find(|entry| entry.is(serde::RENAME));
    if rename.is_some() && stored.name != stored.read_name {
        let message = format!(
            "`{ident}` is written as `{}` and read as `{}`: a key has one name for it",
            stored.name, stored.read_name
        );
        cx.error(
            rename,
            message,
            format_args!("#[serde(rename = \"{}\")]", stored.name),
        );
    }
    for entry in &entries {
        check_entry(cx, ident, entry);
    }
}

fn check_entry(cx: &mut Diagnostics, ident: &Ident, entry: &Entry) {
    let refused = [
        serde::SKIP,
        serde::SKIP_SERIALIZING,
        serde::SKIP_DESERIALIZING,
        serde::OTHER,
    ];
    if let Some(key) = refused.iter().find(|key| entry.is(**key)) {
        let message = format!("`{key}` on `{ident}`: every variant of a key is written and read");
        let help = format!("remove `{key}` from `#[serde(..)]`");
        cx.error(entry, message, help);
    }
}

/// Refuses two variants with one name; a name wins over an alias.
fn check_names(cx: &mut Diagnostics, variants: &mut [KeyVariant]) {
    let mut taken: HashMap<String, Ident> = HashMap::new();
    for variant in variants.iter() {
        let KeyVariant { ident, name, .. } = variant;
        if let Some(first) = taken.insert(name.clone(), ident.clone()) {
            let message = format!("`{first}` and `{ident}` are both stored as `{name}`");
            cx.error(
                ident,
                message,
                format_args!("#[serde(rename = \"{name}_2\")] {ident}"),
            );
        }
    }
    for variant in variants.iter_mut() {
        let ident = &variant.ident;
        variant.aliases.retain(|alias| {
            let new = !taken.contains_key(alias);
            taken.entry(alias.clone()).or_insert_with(|| ident.clone());
            new
        });
    }
}
