//! The text of generated docs. Plain code spans only: a link could break in the user's crate.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::model::{
    Model,
    field::{Field, Role, Storage},
};

pub(super) fn key(model: &Model) -> TokenStream {
    let record = &model.record.ident;
    doc(&format!(
        "The key of a `{record}`: records of one key share buckets, in order of time."
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
        "A `{record}` as it stands in the array {array}: the record without its key."
    ))
}

pub(super) fn item_field(model: &Model, field: &Field) -> TokenStream {
    let array = &model.items.name;
    let path = code(&format!("{array}.{}", field.name));
    let text = match (field.role, field.storage) {
        (_, Storage::Skipped) => "Not stored; a record that is read back has the default.".into(),
        (_, Storage::Flattened) => format!(
            "BSON paths under {}; part of the record, inside of the array written by `$push`.",
            code(array)
        ),
        (Role::Time, _) => format!(
            "BSON path {path}; time of the record, BSON date, inside of the array written by \
             `$push`."
        ),
        _ => {
            format!("BSON path {path}; part of the record, inside of the array written by `$push`.")
        }
    };
    with_user_docs(field, &text)
}

pub(super) fn id(model: &Model) -> TokenStream {
    let (record, template) = (&model.record.ident, code(&model.id.text));
    doc(&format!(
        "The id of a bucket of `{record}`. Its text is {template}, and a sequence where several \
         buckets of one key were opened at one time."
    ))
}

pub(super) fn id_field() -> TokenStream {
    doc("BSON path `_id`; id of the bucket, written once when it is opened.")
}

pub(super) fn count_field() -> TokenStream {
    doc("BSON path `count`; number of items, `$inc`.")
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

/// The typed bucket: what it is, and a row for each field.
pub(super) fn bucket(model: &Model) -> TokenStream {
    let record = &model.record.ident;
    let (collection, capacity) = (code(&model.collection), model.capacity);
    let mut text = format!(
        "A bucket of the collection {collection}: up to {capacity} records of `{record}` that \
         share a key.\n\n\
         | field | BSON path | role | update operator |\n\
         | --- | --- | --- | --- |\n"
    );
    text += &row(
        "id",
        "_id",
        &format!("id: {}", code(&model.id.text)),
        "`$set` when it is opened",
    );
    for field in model.keys() {
        text += &row(
            &field.rust_name(),
            &field.name,
            "key",
            "equality in the filter",
        );
    }
    text += &row("count", "count", "number of items", "`$inc`");
    let items = &model.items;
    let role = format!("items: `{record}Item`");
    text += &row(&items.ident.to_string(), &items.name, &role, "`$push`");
    let stored = |field: &&Field| field.storage == Storage::Named;
    text.extend(
        model
            .item_fields()
            .filter(stored)
            .map(|field| item_row(model, field)),
    );
    doc(text.trim_end())
}

fn item_row(model: &Model, field: &Field) -> String {
    let items = &model.items;
    let rust = format!("{}[..].{}", items.ident, field.rust_name());
    let path = format!("{}.{}", items.name, field.name);
    let role = match field.role {
        Role::Time => "time, BSON date",
        Role::Key | Role::Plain => "part of the record",
    };
    row(&rust, &path, role, "inside of `$push`")
}

fn row(field: &str, path: &str, role: &str, operator: &str) -> String {
    // A bar ends a cell even inside of a code span.
    let cell = |text: String| text.replace('|', "\\|");
    let (field, path) = (cell(code(field)), cell(code(path)));
    format!(
        "| {field} | {path} | {} | {operator} |\n",
        cell(role.to_owned())
    )
}

/// A code span, also of a text that contains a backtick.
fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
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

fn doc(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}
