//! Rules across keys and fields. Nothing here changes the model: it reports, and that is all.

pub(crate) mod aggregates;
pub(crate) mod attributes;
pub(crate) mod names;
pub(crate) mod serde;
pub(crate) mod unique;

use syn::Type;

use crate::{
    diagnostics::Diagnostics,
    model::{
        field::{Field, Role, Roles, printed_type},
        record::Record,
        serde_names::Storage,
        types::{self, WrongType},
    },
};

/// At least one key and exactly one time. Gives whether the roles are complete.
pub(crate) fn roles(
    cx: &mut Diagnostics,
    record: &Record,
    fields: &[Field],
    roles: &Roles,
) -> bool {
    further_times(cx, fields, roles);
    let has = |role| fields.iter().any(|field| field.role == role);
    let complete = has(Role::Key) && has(Role::Time);
    if complete || roles.unclear {
        return complete && !roles.unclear;
    }
    if !has(Role::Key) {
        let likely = fields.iter().find(|field| {
            field.role == Role::Plain
                && !types::looks_like_time(&field.ty)
                && types::wrong_key(&field.ty).is_none()
        });
        let help = likely.map_or_else(|| "customer_id: i64".to_owned(), Field::declaration);
        let message = format!("no field of `{}` is a key", record.ident);
        cx.error(
            &record.ident,
            message,
            format_args!("#[bucket(key)] {help}"),
        );
    }
    if !has(Role::Time) {
        let likely = fields
            .iter()
            .find(|field| types::looks_like_time(&field.ty));
        let help = likely.map_or_else(|| "date: DateTime".to_owned(), Field::declaration);
        let message = format!("no field of `{}` is the time", record.ident);
        cx.error(
            &record.ident,
            message,
            format_args!("#[bucket(time)] {help}"),
        );
    }
    false
}

fn further_times(cx: &mut Diagnostics, fields: &[Field], roles: &Roles) {
    if let [first, others @ ..] = roles.times.as_slice() {
        for field in others.iter().filter_map(|index| fields.get(*index)) {
            let message = "a record has one time, this is another";
            let help = format!("remove `#[bucket(time)]` from `{}`", field.ident);
            cx.error(&field.ident, message, help);
        }
        if let Some(first) = fields.get(*first).filter(|_| !others.is_empty()) {
            cx.also(&first.ident, "the first `#[bucket(time)]` is here");
        }
    }
}

/// Types whose name already tells that they cannot have their role.
pub(crate) fn types(cx: &mut Diagnostics, fields: &[Field]) {
    for field in fields {
        let (wrong, role, word) = match field.role {
            Role::Key => (types::wrong_key(&field.ty), "a key of a bucket", "key"),
            Role::Time => (types::wrong_time(&field.ty), "the time of a record", "time"),
            Role::Plain if field.unique.is_some() => continue,
            Role::Plain => {
                borrowed(cx, field);
                continue;
            }
        };
        if let Some(WrongType { reason, instead }) = wrong {
            let message = format!("`{}` cannot be {role}: {reason}", field.declaration());
            let help = format!("#[bucket({word})] {}: {instead}", field.ident);
            cx.error(&field.ty, message, help);
        }
    }
}

fn borrowed(cx: &mut Diagnostics, field: &Field) {
    if let (Type::Reference(ty), false) =
        (types::ungroup(&field.ty), field.storage == Storage::Skipped)
    {
        let message = format!(
            "`{}` cannot be read back: a record owns its data",
            field.declaration()
        );
        let text = types::is_literally(&ty.elem, "str");
        let owned = if text {
            "String".to_owned()
        } else {
            printed_type(&ty.elem)
        };
        cx.error(&field.ty, message, format_args!("{}: {owned}", field.ident));
    }
}
