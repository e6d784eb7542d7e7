//! What a struct with attributes cannot have.

use syn::DeriveInput;

use crate::{
    attribute_arrays::RawField,
    diagnostics::Diagnostics,
    model::record,
    symbol::{SERDE, serde},
    syntax::entry,
};

/// Refuses serde attributes that change the form of the struct, and lifetimes.
pub(super) fn container(cx: &mut Diagnostics, input: &DeriveInput) {
    let refused = [
        serde::TRANSPARENT,
        serde::FROM,
        serde::TRY_FROM,
        serde::INTO,
        serde::REMOTE,
    ];
    for entry in entry::entries(&input.attrs, SERDE) {
        if let Some(key) = refused.iter().find(|key| entry.is(**key)) {
            let message = format!(
                "`#[serde({key})]` on a struct with attributes: its fields must be written under \
                 their own names"
            );
            let help = format!("remove `{key}` from `#[serde(..)]`");
            cx.error(&entry, message, help);
        }
    }
    record::check_generics(cx, &input.generics, "a struct with attributes");
}

/// At least one field must be an attribute.
pub(super) fn any(cx: &mut Diagnostics, fields: &[RawField<'_>]) {
    if let (true, Some(field)) = (
        fields.iter().all(|field| field.attr.is_none()),
        fields.first(),
    ) {
        let message = "no field of the struct is an attribute";
        let help = format!(
            "#[bucket(attribute(array = \"specs\", k = \"{}\"))]",
            field.ident
        );
        cx.error(field.ident, message, help);
    }
}
