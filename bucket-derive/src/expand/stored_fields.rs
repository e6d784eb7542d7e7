//! What the spec says of the stored fields: their names, and what their types read.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    expand::Expand,
    model::{
        field::{Field, Role},
        serde_names::{Storage, StoredForm},
        types::inside_option,
    },
};

/// The fields with names of their own. `UnknownKind` must be in scope.
pub(super) fn stored(cx: &Expand<'_>) -> TokenStream {
    let fields = cx.model.fields.iter().filter(|field| is_stored(cx, field));
    let fields = fields.map(|field| one(&cx.private, field));
    quote!(#(#fields),*)
}

/// Attributes are entries of an array, and flattened fields have other names.
fn is_stored(cx: &Expand<'_>, field: &Field) -> bool {
    let is_attribute = cx.model.arrays.iter().any(|array| array.holds(&field.name));
    field.storage == Storage::Named && !is_attribute
}

fn one(private: &TokenStream, field: &Field) -> TokenStream {
    let Field { ty, name, .. } = field;
    let is_key = field.role == Role::Key;
    if field.role == Role::Time {
        // Always a date, whatever its type.
        return quote! {
            #private::StoredField {
                name: #name,
                kind: #private::FieldKind::Date,
                is_key: false,
                null: false,
                required: true,
            }
        };
    }
    let inside = inside_option(ty);
    let kind = match inside {
        // Serde's form of a key field is not asked for.
        _ if field.form == StoredForm::Own && !is_key => quote!(#private::FieldKind::Any),
        Some(inside) => quote! {
            #private::StoredField::__in_option(
                <#private::KindOf<#ty>>::IS_OPTION,
                <#private::KindOf<#inside>>::KIND,
            )
        },
        None => quote!(<#private::KindOf<#ty>>::KIND),
    };
    let may_be_missing = field.form != StoredForm::Plain || field.has_default;
    let required = if is_key {
        quote!(true)
    } else if may_be_missing || inside.is_some() {
        quote!(false)
    } else {
        quote!(<#private::KindOf<#ty>>::IS_CERTAIN)
    };
    let null = inside.is_some();
    quote! {
        #private::StoredField {
            name: #name,
            kind: #kind,
            is_key: #is_key,
            null: #null,
            required: #required,
        }
    }
}
