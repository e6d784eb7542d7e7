//! The typed bucket: what closes it, and a row for each of its fields.

use proc_macro2::TokenStream;

use super::{
    stats::aggregate_operator,
    text::{code, doc},
};
use crate::{
    model::{
        Model,
        field::{Field, Role},
        form::Form,
        own_role::OwnRole,
        serde_names::Storage,
    },
    syntax::duration::Window,
};

pub(crate) fn bucket(model: &Model) -> TokenStream {
    let record = &model.record.ident;
    let (collection, form) = (code(&model.collection), form(model));
    let mut text = format!(
        "A bucket of the collection {collection}: {form}.\n\n\
         | field | BSON path | role | update operator |\n\
         | --- | --- | --- | --- |\n"
    );
    let (id, opened) = if model.object_ids {
        ("id: an object id".to_owned(), "created by the server")
    } else if model.form.knows_ids() {
        (format!("id: {}", code(&model.id.text)), EQUALITY)
    } else {
        let opened = "`$set` when it is opened";
        (format!("id: {}", code(&model.id.text)), opened)
    };
    text += &row("id", "_id", &id, opened);
    for field in model.keys() {
        text += &row(&field.rust_name(), &field.name, "key", EQUALITY);
    }
    for field in &model.own_fields {
        let (name, role) = (field.role.rust_name(), field.role);
        text += &row(name, &field.name, role.what(), operator(model, role));
    }
    for stored in &model.aggregates.stored {
        let field = format!("stats.{}", stored.label);
        let operator = aggregate_operator(model, stored.kind);
        text += &row(&field, &stored.path, &stored.origin.what, operator);
    }
    let items = &model.items;
    let role = format!("items: `{record}Item`");
    text += &row(&items.ident.to_string(), &items.name, &role, "`$push`");
    let stored = |field: &&Field| field.storage == Storage::Named;
    let fields = model.item_fields().filter(stored);
    text.extend(fields.map(|field| item_row(model, field)));
    doc(text.trim_end())
}

const EQUALITY: &str = "matched by equality in the filter";

/// What closes a bucket.
fn form(model: &Model) -> String {
    let record = &model.record.ident;
    let up_to = match model.form.capacity() {
        Some(capacity) => format!("up to {capacity} records of `{record}`"),
        None => format!("the records of `{record}`"),
    };
    let bytes = match model.max_bytes {
        Some(bytes) => format!(", closed at {bytes} bytes"),
        None => String::new(),
    };
    let key = "that share a key";
    match model.form {
        Form::Count { .. } => format!("{up_to} {key}{bytes}"),
        Form::Window { window, parts, .. } => {
            let window = match window {
                Window::Seconds(seconds) => format!("a window of {seconds} seconds"),
                Window::Day => "a day".to_owned(),
                Window::Week => "a week".to_owned(),
                Window::Month => "a month".to_owned(),
            };
            let parts = if parts { ", stored by one call" } else { "" };
            format!("{up_to} {key} and {window}{bytes}{parts}")
        }
        Form::Hybrid { max_duration, .. } => {
            format!("{up_to} {key}, within at most {max_duration} seconds{bytes}")
        }
        Form::Numbered { .. } => format!("{up_to} {key}, numbered in order{bytes}"),
    }
}

/// The update operator that writes one of the bucket's own fields.
pub(super) fn operator(model: &Model, role: OwnRole) -> &'static str {
    match role {
        OwnRole::End if model.form.moves_end() => "`$max`",
        OwnRole::ExpireFrom => "`$max`",
        OwnRole::Start | OwnRole::End | OwnRole::Number | OwnRole::Size => EQUALITY,
        OwnRole::Closed | OwnRole::Full => "`$set`",
        OwnRole::Late | OwnRole::CreatedAt => "`$setOnInsert`",
        OwnRole::Bytes | OwnRole::Count => "`$inc`",
    }
}

fn item_row(model: &Model, field: &Field) -> String {
    let items = &model.items;
    let rust = format!("{}[..].{}", items.ident, field.rust_name());
    let path = format!("{}.{}", items.name, field.name);
    let role = match field.role {
        Role::Time => "time, BSON date",
        Role::Key | Role::Plain => "part of the record",
    };
    row(&rust, &path, role, "inside `$push`")
}

fn row(field: &str, path: &str, role: &str, operator: &str) -> String {
    // A bar ends a cell even inside a code span.
    let cell = |text: String| text.replace('|', "\\|");
    let (field, path) = (cell(code(field)), cell(code(path)));
    format!(
        "| {field} | {path} | {} | {operator} |\n",
        cell(role.to_owned())
    )
}
