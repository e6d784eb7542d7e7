//! At least one key field, and exactly one time field.

use crate::{
    diagnostics::Diagnostics,
    model::{
        field::{Field, Role, Roles},
        record::Record,
        types,
    },
};

/// Reports what is missing or occurs twice, and returns whether the roles are complete.
pub(crate) fn check(
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
            let message = "a record has one time, and this is a second one";
            let help = format!("remove `#[bucket(time)]` from `{}`", field.ident);
            cx.error(&field.ident, message, help);
        }
        if let Some(first) = fields.get(*first).filter(|_| !others.is_empty()) {
            cx.also(&first.ident, "the first `#[bucket(time)]` is here");
        }
    }
}
