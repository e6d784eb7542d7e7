//! Rules about records that replace each other: they have ids, and at most one version, which has an order.

use crate::{
    diagnostics::Diagnostics,
    model::{
        field::{Field, Role},
        types::{self, WrongType},
    },
    symbol::{ON_CONFLICT, UNIQUE, VERSION},
    syntax::{choice::OnConflict, container::ContainerAttrs},
};

pub(crate) fn check(cx: &mut Diagnostics, fields: &[Field], attrs: &ContainerAttrs) {
    of_fields(cx, fields);
    if let Some(key) = attrs.on_conflict.given()
        && !fields.iter().any(|field| field.unique.is_some())
    {
        let likely = fields.iter().find(|field| {
            let is_free = field.role == Role::Plain && field.version.is_none();
            is_free && types::wrong_key(&field.ty).is_none() && !types::looks_like_time(&field.ty)
        });
        let id = likely.map_or_else(|| "order: i64".to_owned(), Field::declaration);
        let message = format!("`{ON_CONFLICT}` is about record ids, and no field is one");
        cx.error(key, message, format_args!("#[bucket({UNIQUE})] {id}"));
    }
    let reports = matches!(attrs.on_conflict.get(), Some(OnConflict::Report));
    if attrs.on_conflict.given().is_some() && !reports {
        return;
    }
    if let Some(word) = fields.iter().find_map(|field| field.version.as_ref()) {
        let message = format!(
            "`{VERSION}` decides which record replaces another, and no record of this model does"
        );
        let help = format!("#[bucket({ON_CONFLICT} = \"replace\")] on the struct");
        cx.error(word, message, help);
    }
}

/// Refuses fields that cannot be a version.
fn of_fields(cx: &mut Diagnostics, fields: &[Field]) {
    let mut first = None;
    for field in fields {
        let Some(word) = &field.version else { continue };
        let reason = match field.role {
            Role::Key => Some("which is a key: it is the same in all records of a bucket"),
            Role::Time | Role::Plain => {
                let is_id = field.unique.is_some();
                is_id
                    .then_some("which is the record id: it is the same in all versions of a record")
            }
        };
        if let Some(reason) = reason {
            let message = format!("`{VERSION}` on `{}`, {reason}", field.ident);
            let help = format!("#[bucket({VERSION})] on the field that grows with each version");
            cx.error(word, message, help);
            continue;
        }
        match &first {
            None => first = Some(word),
            Some(first) => {
                let message = "a record has one version, and this is a second one";
                let help = format!("remove `{VERSION}` from `{}`", field.ident);
                cx.error(word, message, help);
                cx.also(first, format_args!("the first `{VERSION}` is here"));
            }
        }
        if field.role == Role::Plain
            && let Some(WrongType { reason, instead }) = types::wrong_version(&field.ty)
        {
            let message = format!(
                "`{}` cannot be the version of a record: {reason}",
                field.declaration()
            );
            let help = format!("#[bucket({VERSION})] {}: {instead}", field.ident);
            cx.error(&field.ty, message, help);
        }
    }
}
