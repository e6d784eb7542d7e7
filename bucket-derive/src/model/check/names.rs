//! Stored names that collide or cannot be paths, and Rust names that collide in the typed bucket.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::ToTokens;

use crate::{
    diagnostics::Diagnostics,
    model::{
        Model,
        field::{Field, Role, printed_type},
        serde_names::Storage,
    },
    syntax::{
        container::ContainerAttrs,
        value::{self, invalid},
    },
};

/// All names.
pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    let taken = own_names(cx, model, attrs);
    items(cx, model, attrs, &taken);
    let mut seen: HashMap<&str, &Field> = HashMap::new();
    for field in model
        .fields
        .iter()
        .filter(|field| field.storage == Storage::Named)
    {
        if let Some(first) = seen.insert(&field.name, field) {
            let message = format!(
                "`{}` and `{}` are both stored as `{}`",
                first.ident, field.ident, field.name
            );
            let help = format!(
                "#[serde(rename = \"{}_2\")] {}",
                field.name,
                field.declaration()
            );
            cx.error(field.name_tokens(), message, help);
        }
        bad_name(cx, model, field, &taken);
    }
}

/// A name at the top level of a bucket other than a key.
struct OwnName {
    name: String,
    /// What it is the name of.
    what: String,
    /// The tokens that give it, where it is not the default.
    given: Option<TokenStream>,
    /// What to write instead.
    help: String,
}

/// The names that the bucket has itself; those that collide are reported.
fn own_names(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) -> Vec<OwnName> {
    let own = model.own_fields.iter().map(|field| OwnName {
        name: field.name.clone(),
        what: field.role.what().to_owned(),
        given: field.given.clone(),
        help: format!("{} = \"{}\"", field.role.key(), field.role.rust_name()),
    });
    let part = (model.object_ids && model.form.has_parts()).then(|| OwnName {
        name: "bucket_part".to_owned(),
        what: "the part of a window that a bucket holds".to_owned(),
        given: None,
        help: String::new(),
    });
    let mut names: Vec<OwnName> = Vec::new();
    for name in own.chain(part).chain(aggregates(model, attrs)) {
        if let Some(first) = names.iter().find(|first| first.name == name.name) {
            let ((at, message), help) = match (&name.given, &first.given) {
                (None, Some(at)) => (collision(at, first, &name.what), &first.help),
                (given, _) => (collision(given, &name, &first.what), &name.help),
            };
            cx.error(at, message, help);
        }
        names.push(name);
    }
    for name in &names {
        let Some(given) = &name.given else { continue };
        let key = model.keys().find(|key| key.name == name.name);
        let other = match key {
            Some(key) => format!("the key `{}`", key.ident),
            None if model.items.name == name.name => "the items array".to_owned(),
            None => continue,
        };
        let (at, message) = collision(given, name, &other);
        cx.error(at, message, &name.help);
    }
    names
}

fn collision(at: impl ToTokens, one: &OwnName, other: &str) -> (TokenStream, String) {
    let OwnName { name, what, .. } = one;
    let message = format!("`{name}` cannot be the name of {what}: {other} has that name");
    (at.to_token_stream(), message)
}

/// The top-level names of aggregates; the document that holds them counts once.
fn aggregates(model: &Model, attrs: &ContainerAttrs) -> Vec<OwnName> {
    let mut names: Vec<OwnName> = Vec::new();
    for stored in &model.aggregates.stored {
        let (name, rest) = match stored.path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (stored.path.as_str(), None),
        };
        // Collisions between aggregates are found by their full paths.
        if names.iter().any(|other| other.name == name) {
            continue;
        }
        names.push(if rest.is_some() && name == model.stats_prefix() {
            OwnName {
                name: name.to_owned(),
                what: "the document of aggregates".to_owned(),
                given: attrs.stats.get().map(ToTokens::to_token_stream),
                help: "stats = \"aggregates\"".to_owned(),
            }
        } else {
            OwnName {
                name: name.to_owned(),
                what: stored.origin.what.clone(),
                given: Some(stored.origin.at.clone()),
                help: stored.origin.renamed.clone(),
            }
        });
    }
    names
}

fn items(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs, taken: &[OwnName]) {
    let Some(given) = attrs.items.get() else {
        return;
    };
    let name = given.value();
    let by_default = |own: &&OwnName| own.name == name && own.given.is_none();
    let reason = if let Some(own) = taken.iter().find(by_default) {
        format!("`{name}` is {}", own.what)
    } else if let Some(own) = model.taken_by_bucket(&model.items.asked.to_string()) {
        format!("`{}Bucket` uses that name for {own}", model.record.ident)
    } else {
        return;
    };
    let message = invalid(&name, "the name of the items array", &reason);
    cx.error(given, message, "items = \"history\"");
}

fn bad_name(cx: &mut Diagnostics, model: &Model, field: &Field, taken: &[OwnName]) {
    let mut reason = value::bad_field_name(&field.name).map(str::to_owned);
    if field.role != Role::Key && reason.is_none() {
        reason = value::bad_item_name(&field.name).map(str::to_owned);
    }
    if field.role == Role::Key && reason.is_none() {
        reason = value::reserved(&field.name).map(str::to_owned);
        // A name from an attribute is reported at that attribute.
        let by_default = |own: &&OwnName| own.name == field.name && own.given.is_none();
        if let Some(own) = taken.iter().find(by_default) {
            reason = Some(format!("`{}` is {}", field.name, own.what));
        }
        if field.name == model.items.name {
            reason = Some(format!("`{}` is the array of items", field.name));
        }
    }
    if let Some(reason) = reason {
        let message = match field.name.escape_debug().to_string() {
            name if name.is_empty() => {
                format!("the stored name of `{}` cannot be empty", field.ident)
            }
            name => format!("`{}` cannot be stored as `{name}`: {reason}", field.ident),
        };
        let help = format!(
            "#[serde(rename = \"another_name\")] {}",
            field.declaration()
        );
        cx.error(field.name_tokens(), message, help);
    } else if field.role == Role::Key {
        taken_ident(cx, model, field);
    }
}

/// The typed bucket has own fields besides the keys.
fn taken_ident(cx: &mut Diagnostics, model: &Model, field: &Field) {
    let name = field.rust_name();
    let Some(taken_by) = model.taken_by(&name) else {
        return;
    };
    let message = format!(
        "a key field cannot be called `{name}`: `{}Bucket` uses that name for {taken_by}",
        model.record.ident
    );
    let ty = printed_type(&field.ty);
    let help = format!("#[serde(rename = \"{}\")] {name}_key: {ty}", field.name);
    cx.error(&field.ident, message, help);
}
