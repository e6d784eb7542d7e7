//! The fields that a bucket has besides its id, keys, aggregates and items.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::LitStr;

use crate::{
    model::{form::Form, own_role::OwnRole},
    syntax::{container::ContainerAttrs, name::Named, slot::Slot},
};

/// One of them, in a model that has it.
pub(crate) struct OwnField {
    pub(crate) role: OwnRole,
    /// The stored name.
    pub(crate) name: String,
    /// The tokens that give the name, where it is not the default.
    pub(crate) given: Option<TokenStream>,
}

/// The fields in the order in which the typed bucket has them.
pub(crate) fn read(form: Form, max_bytes: Option<u32>, attrs: &ContainerAttrs) -> Vec<OwnField> {
    let names = &attrs.names;
    let own = form.own_roles().iter().map(|role| match role {
        OwnRole::Start => field(*role, &names.start),
        OwnRole::End => field(*role, &names.end),
        OwnRole::Closed => field(*role, &names.closed),
        OwnRole::Number => named(*role, attrs.numbered.get()),
        OwnRole::Size => field(*role, &names.size),
        OwnRole::Full => field(*role, &names.full),
        _ => field(*role, &Slot::default()),
    });
    let mut fields: Vec<OwnField> = own.collect();
    if max_bytes.is_some() {
        fields.push(field(OwnRole::Bytes, &names.bytes));
    }
    if attrs.created_at.given().is_some() {
        fields.push(named(OwnRole::CreatedAt, attrs.created_at.get()));
    }
    if !form.has_span() && attrs.expire_after.given().is_some() {
        fields.push(field(OwnRole::ExpireFrom, &names.expire_from));
    }
    fields.push(field(OwnRole::Count, &names.count));
    fields
}

fn field(role: OwnRole, name: &Slot<LitStr>) -> OwnField {
    let name = name.get();
    OwnField {
        role,
        name: name.map_or_else(|| role.rust_name().to_owned(), LitStr::value),
        given: name.map(ToTokens::to_token_stream),
    }
}

fn named(role: OwnRole, named: Option<&Named>) -> OwnField {
    let name = named.and_then(Named::given);
    OwnField {
        role,
        name: name.unwrap_or_else(|| role.rust_name().to_owned()),
        given: named.and_then(|named| named.name.as_ref().map(ToTokens::to_token_stream)),
    }
}
