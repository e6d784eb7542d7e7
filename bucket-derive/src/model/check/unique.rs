//! Rules about the record id: at most one, on a field of the item, with a key type.

use crate::{
    diagnostics::Diagnostics,
    model::{
        field::{Field, Role},
        types::{self, WrongType},
    },
    symbol::UNIQUE,
};

/// Refuses fields that cannot be a record id.
pub(crate) fn check(cx: &mut Diagnostics, fields: &[Field]) {
    let mut first = None;
    for field in fields {
        let Some(word) = &field.unique else { continue };
        let reason = match field.role {
            Role::Key => "which is a key: it is the same in all records of a bucket",
            Role::Time => "which is the time: several records can have the same time",
            Role::Plain => {
                match &first {
                    None => first = Some(word),
                    Some(first) => {
                        let message = "a record has one id, and this is a second one";
                        let help = format!("remove `{UNIQUE}` from `{}`", field.ident);
                        cx.error(word, message, help);
                        cx.also(first, format_args!("the first `{UNIQUE}` is here"));
                    }
                }
                wrong_type(cx, field);
                continue;
            }
        };
        let message = format!("`{UNIQUE}` on `{}`, {reason}", field.ident);
        let help = "#[bucket(unique)] on the field that identifies a record within its key";
        cx.error(word, message, help);
    }
}

fn wrong_type(cx: &mut Diagnostics, field: &Field) {
    let Some(WrongType { reason, instead }) = types::wrong_key(&field.ty) else {
        return;
    };
    let reason = if types::is_literally(&field.ty, "Option") {
        "every record has its id"
    } else if reason.starts_with("a key field is one value") {
        "an id is one value"
    } else {
        reason
    };
    let message = format!(
        "`{}` cannot be the id of a record: {reason}",
        field.declaration()
    );
    let help = format!("#[bucket({UNIQUE})] {}: {instead}", field.ident);
    cx.error(&field.ty, message, help);
}
