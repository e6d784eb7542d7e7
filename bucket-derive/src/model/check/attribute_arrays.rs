//! Arrays of attributes in records: their names in the bucket.

use quote::ToTokens;

use crate::{
    diagnostics::Diagnostics,
    model::{Model, own_field::OwnField},
    syntax::{container::ContainerAttrs, value},
};

/// The names of what a bucket holds for its items.
pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    if model.arrays.is_empty() {
        return;
    }
    for array in &model.arrays {
        let in_item = value::bad_item_name(&array.name).map(str::to_owned);
        let in_bucket = || taken(model, &array.name).filter(|_| array.is_shared);
        let Some(reason) = in_item.or_else(in_bucket) else {
            continue;
        };
        let mut given = attrs.arrays.iter().filter_map(|attr| attr.array.get());
        let given = given.rfind(|name| name.value() == array.name);
        let message = value::invalid(&array.name, "the name of an array in the bucket", &reason);
        let at = given.map_or_else(
            || model.record.ident.to_token_stream(),
            ToTokens::to_token_stream,
        );
        cx.error(at, message, "give the array another name");
    }
}

/// What has this name at the top level of a bucket.
fn taken(model: &Model, name: &str) -> Option<String> {
    let own = model.own_fields.iter();
    if let Some(OwnField { role, .. }) = own.clone().find(|field| field.name == name) {
        return Some(format!("`{name}` is {}", role.what()));
    }
    if name == model.items.name {
        return Some(format!("`{name}` is the array of items"));
    }
    if name == "bucket_part" {
        return Some(format!(
            "`{name}` is the part of a window that a bucket holds"
        ));
    }
    let mut aggregates = model.aggregates.stored.iter();
    let is_first = |path: &str| path.split('.').next() == Some(name);
    if aggregates.any(|stored| is_first(&stored.path)) {
        return Some(format!("`{name}` holds aggregates"));
    }
    value::reserved(name).map(str::to_owned)
}
