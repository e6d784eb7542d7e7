//! Types whose name shows that they cannot have their role.

use syn::Type;

use crate::{
    diagnostics::Diagnostics,
    model::{
        field::{Field, Role, printed_type},
        serde_names::Storage,
        types::{self, WrongType},
    },
};

pub(crate) fn check(cx: &mut Diagnostics, fields: &[Field]) {
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
