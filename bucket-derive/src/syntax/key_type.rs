//! `#[bucket(crate = ..)]` on a key type, which knows no other key.

use syn::Attribute;

use crate::{
    diagnostics::Diagnostics,
    symbol::{BUCKET, CRATE},
    syntax::{container::is_bare, crate_path::CratePath, entry, slot::Slot},
};

/// Reads all `#[bucket(..)]` of a key type.
pub(crate) fn parse(cx: &mut Diagnostics, attrs: &[Attribute]) -> CratePath {
    let mut krate = Slot::default();
    for attr in attrs.iter().filter(|attr| entry::is(attr, BUCKET)) {
        if is_bare(attr) {
            let message = "`#[bucket]` on a key type expects `crate`";
            cx.error(attr, message, "#[bucket(crate = ::bucket_mongo)]");
        }
    }
    for entry in entry::entries(attrs, BUCKET) {
        if entry.is(CRATE) {
            let path = CratePath::parse(cx, &entry);
            krate.fill(cx, &entry, path);
        } else {
            let given = entry.unknown();
            let message = format!("{given}: the only key of a key type is `crate`");
            cx.error(entry, message, "#[bucket(crate = ::bucket_mongo)]");
        }
    }
    krate.get().cloned().unwrap_or_default()
}
