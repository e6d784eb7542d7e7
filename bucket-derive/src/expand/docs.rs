//! The text of generated docs. Plain code spans only: a link could break in the user's crate.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

mod bucket;
mod stats;
mod text;

use self::text::{code, doc};
pub(super) use self::{
    bucket::bucket,
    stats::{aggregate_path, method, stats, stats_field, view, view_of},
};
use crate::model::{
    Model,
    field::{Field, Role},
    own_field::OwnField,
    own_role::OwnRole,
    serde_names::Storage,
};

pub(super) fn key(model: &Model) -> TokenStream {
    let record = &model.record.ident;
    doc(&format!(
        "The key of a `{record}`: records with the same key share buckets, in order of time."
    ))
}

pub(super) fn key_field(field: &Field) -> TokenStream {
    let path = code(&field.name);
    with_user_docs(
        field,
        &format!("BSON path {path}; key, matched by equality in every write and read."),
    )
}

pub(super) fn item(model: &Model) -> TokenStream {
    let (record, array) = (&model.record.ident, code(&model.items.name));
    doc(&format!(
        "A `{record}` as the array {array} stores it: the record without its key."
    ))
}

pub(super) fn item_field(model: &Model, field: &Field) -> TokenStream {
    let array = &model.items.name;
    let path = code(&model.item_path(field));
    let text = match (field.role, field.storage) {
        _ if field.attribute.is_some() => format!("An entry of the attribute array {path}."),
        (_, Storage::Skipped) => {
            "Not stored; a record that is read back has the default value.".into()
        }
        (_, Storage::Flattened) => format!(
            "BSON paths under {}; part of the record, inside the array, written by `$push`.",
            code(array)
        ),
        (Role::Time, _) => format!(
            "BSON path {path}; time of the record, BSON date, inside the array, written by \
             `$push`."
        ),
        _ => {
            format!("BSON path {path}; part of the record, inside the array, written by `$push`.")
        }
    };
    with_user_docs(field, &text)
}

pub(super) fn id(model: &Model) -> TokenStream {
    let (record, template) = (&model.record.ident, code(&model.id.text));
    if model.object_ids {
        return doc(&format!(
            "The id of a bucket of `{record}`: an object id that the server creates."
        ));
    }
    let sequence = if model.form.has_sequences() {
        ", and a sequence if several buckets of one key were opened at one time"
    } else {
        ""
    };
    doc(&format!(
        "The id of a bucket of `{record}`. Its text is {template}{sequence}."
    ))
}

pub(super) fn id_field() -> TokenStream {
    doc("BSON path `_id`; id of the bucket, written once when it is opened.")
}

pub(super) fn count_field(model: &Model) -> TokenStream {
    let count = |field: &&OwnField| field.role == OwnRole::Count;
    let fields = model.own_fields.iter().filter(count);
    fields.map(|field| own_field(model, field)).collect()
}

pub(super) fn own_field(model: &Model, field: &OwnField) -> TokenStream {
    let (path, what) = (code(&field.name), field.role.what());
    let operator = bucket::operator(model, field.role);
    doc(&format!("BSON path {path}; {what}, {operator}."))
}

pub(super) fn items(model: &Model) -> TokenStream {
    let path = code(&model.items.name);
    doc(&format!(
        "BSON path {path}; items in their order of arrival, `$push`."
    ))
}

pub(super) fn paths(of: &Ident) -> TokenStream {
    doc(&format!("The stored paths of the fields of `{of}`."))
}

pub(super) fn path(path: &str) -> TokenStream {
    doc(&format!("BSON path {}.", code(path)))
}

/// The user's own docs of the field, then ours.
fn with_user_docs(field: &Field, text: &str) -> TokenStream {
    let ours = doc(text);
    let user = &field.docs;
    if user.is_empty() {
        return ours;
    }
    quote!(#(#user)* #[doc = ""] #ours)
}
