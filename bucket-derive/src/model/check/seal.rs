//! Rules about models whose buckets are sealed: nothing that is packed may be needed by an index.

use crate::{
    diagnostics::Diagnostics,
    model::Model,
    symbol::{EXPIRE_AFTER, MERGE, SEAL_AFTER, UNIQUE},
    syntax::container::ContainerAttrs,
};

pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    let Some(given) = attrs.seal_after.given() else {
        return;
    };
    // Buckets are merged only where they are sealed.
    let sealing = match attrs.merge.given() {
        Some(_) => format!("`{SEAL_AFTER}` and `{MERGE}`"),
        None => format!("`{SEAL_AFTER}`"),
    };
    if let Some(field) = model.unique() {
        let message = format!(
            "`{SEAL_AFTER}` packs the records of a bucket, and the unique index on `{}` would not see them",
            field.ident
        );
        let help = format!("remove {sealing}, or `{UNIQUE}` from `{}`", field.ident);
        cx.error(given, message, help);
    }
    if let Some(array) = model.arrays.first() {
        let message = format!(
            "`{SEAL_AFTER}` packs the records of a bucket, and the index on the attributes in `{}` would not see them",
            array.name
        );
        let help = format!("remove {sealing}, or make the attributes plain fields");
        cx.error(given, message, help);
    }
    if let (Some(seal), Some(expire)) = (model.seal_after, model.expire_after)
        && seal >= expire
    {
        let message = format!(
            "`{SEAL_AFTER}` is not shorter than `{EXPIRE_AFTER}`: every bucket is removed before it is sealed"
        );
        let help = format!("make `{SEAL_AFTER}` shorter, or remove {sealing}");
        cx.error(given, message, help);
    }
}
