//! The fields of a record with their roles and stored names.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Type, Visibility, ext::IdentExt, punctuated::Punctuated, token::Comma};

use crate::{
    diagnostics::Diagnostics,
    model::serde_names::{SerdeField, SerdeStruct, Storage, StoredForm},
    symbol::{DOC, SERDE, Symbol, serde},
    syntax::{
        aggregate::AggregateAttrs,
        attribute_array::AttributeAttr,
        entry::{self, Entry},
        field::FieldAttrs,
    },
};

/// One field of the record.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) vis: Visibility,
    pub(crate) docs: Vec<Attribute>,
    /// The stored name, as serde writes it.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) storage: Storage,
    /// What serde's attributes say of its stored form.
    pub(crate) form: StoredForm,
    /// A record without it is read with a default.
    pub(crate) has_default: bool,
    /// The word that makes it the record id.
    pub(crate) unique: Option<Ident>,
    /// The word that makes it the version of the record.
    pub(crate) version: Option<Ident>,
    /// Its place in an array of attributes, if it is an attribute.
    pub(crate) attribute: Option<AttributeAttr>,
    /// The aggregates that the field's `#[bucket(..)]` requests.
    pub(crate) aggregates: AggregateAttrs,
    /// All `#[serde(..)]` entries.
    pub(crate) serde: Vec<Entry>,
}

/// What a field is to its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Key,
    Time,
    Plain,
}

/// What the attributes of all fields say about roles.
#[derive(Default)]
pub(crate) struct Roles {
    /// Some attribute was too broken to show which role it gives.
    pub(crate) unclear: bool,
    /// Indices of the fields that are a time; one in a model without errors.
    pub(crate) times: Vec<usize>,
}

impl Field {
    /// The name in the Rust struct, without `r#`.
    pub(crate) fn rust_name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// The `#[serde(..)]` entry of this key.
    pub(crate) fn serde(&self, key: Symbol) -> Option<&Entry> {
        self.serde.iter().find(|entry| entry.is(key))
    }

    /// The tokens that give the stored name: the value of `rename`, else the field's name.
    pub(crate) fn name_tokens(&self) -> TokenStream {
        match self.serde(serde::RENAME) {
            Some(entry) => entry.value_or_self(),
            None => self.ident.to_token_stream(),
        }
    }

    /// `name: Type` as the user wrote it, for messages.
    pub(crate) fn declaration(&self) -> String {
        format!("{}: {}", self.ident, printed_type(&self.ty))
    }
}

/// Reads the fields; mistakes inside one field's `#[bucket(..)]` are reported here.
pub(crate) fn read(
    cx: &mut Diagnostics,
    named: &Punctuated<syn::Field, Comma>,
    container: &SerdeStruct,
) -> (Vec<Field>, Roles) {
    let mut roles = Roles::default();
    let mut fields = Vec::with_capacity(named.len());
    for (index, field) in named.iter().enumerate() {
        let Some(ident) = &field.ident else { continue };
        let mut attrs = FieldAttrs::parse(cx, &field.attrs);
        let role = role(cx, &mut roles, index, &attrs);
        let attribute = attribute(cx, ident, &mut attrs);
        let stored = container.fields.get(index).cloned();
        let stored = stored.unwrap_or_else(|| SerdeField::plain(ident.unraw().to_string()));
        fields.push(Field {
            ident: ident.clone(),
            ty: field.ty.clone(),
            vis: field.vis.clone(),
            docs: field
                .attrs
                .iter()
                .filter(|attr| entry::is(attr, DOC))
                .cloned()
                .collect(),
            name: stored.name,
            role,
            storage: stored.storage,
            form: stored.form,
            has_default: stored.has_default || stored.has_container_default,
            unique: attrs.unique.given().cloned(),
            version: attrs.version.given().cloned(),
            attribute,
            aggregates: attrs.aggregates,
            serde: entry::entries(&field.attrs, SERDE).collect(),
        });
    }
    (fields, roles)
}

fn role(cx: &mut Diagnostics, roles: &mut Roles, index: usize, attrs: &FieldAttrs) -> Role {
    roles.unclear |= attrs.unclear;
    match (attrs.key.given(), attrs.time.given()) {
        (Some(_), Some(time)) => {
            let message = "a field cannot be both key and time";
            cx.error(
                time,
                message,
                "#[bucket(time)] on the field that holds the time",
            );
            roles.unclear = true;
            Role::Key
        }
        (Some(_), None) => Role::Key,
        (None, Some(_)) => {
            roles.times.push(index);
            if roles.times.len() == 1 {
                Role::Time
            } else {
                Role::Plain
            }
        }
        (None, None) => Role::Plain,
    }
}

/// The field's place in an array of attributes. Keys, the time and the record id cannot have one.
fn attribute(cx: &mut Diagnostics, field: &Ident, attrs: &mut FieldAttrs) -> Option<AttributeAttr> {
    let given = attrs.attribute.given().cloned()?;
    let others = [
        (attrs.key.given(), "the key", "the bucket itself stores"),
        (attrs.time.given(), "the time", "orders the items"),
        (
            attrs.unique.given(),
            "the record id",
            "has an index of its own",
        ),
    ];
    let other = others.into_iter().find(|(given, ..)| given.is_some());
    if let Some((_, what, reason)) = other {
        let message =
            format!("`{field}` is {what}, which {reason}: it cannot be an attribute as well");
        cx.error(
            given,
            message,
            format_args!("remove `attribute(..)` from `{field}`"),
        );
        return None;
    }
    std::mem::take(&mut attrs.attribute).into_value()
}

/// A type as source code: tokens would print with a space between each two.
pub(crate) fn printed_type(ty: &Type) -> String {
    let mut text = ty.to_token_stream().to_string();
    for (spaced, tight) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        (" >", ">"),
        (" ,", ","),
        ("& ", "&"),
        ("( ", "("),
        (" )", ")"),
        (" ;", ";"),
    ] {
        text = text.replace(spaced, tight);
    }
    text
}
