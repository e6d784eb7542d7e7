//! Rules about `#[serde(..)]`: what cannot be written and read back under one name.

use syn::{DeriveInput, Type};

use crate::{
    diagnostics::Diagnostics,
    model::{
        Model,
        field::{Field, Role},
        generics,
        serde_names::{ContainerDefault, SerdeField, SerdeStruct, Storage},
        types,
    },
    symbol::{SERDE, Symbol, serde},
    syntax::entry,
};

/// Serde attributes of the container that leave no named, symmetric fields to store.
pub(crate) fn container(cx: &mut Diagnostics, input: &DeriveInput, stored: &SerdeStruct) {
    let refused = [
        serde::TRANSPARENT,
        serde::FROM,
        serde::TRY_FROM,
        serde::INTO,
        serde::REMOTE,
        serde::TAG,
    ];
    for entry in entry::entries(&input.attrs, SERDE) {
        // Serde itself says that a transparent struct has one field.
        let reported = stored.broken && entry.is(serde::TRANSPARENT);
        if let Some(key) = refused.iter().find(|key| entry.is(**key) && !reported) {
            let message = format!(
                "`#[serde({key})]` on a record: its fields must be stored under their own names"
            );
            cx.error(
                &entry,
                message,
                format_args!("remove `{key}` from `#[serde(..)]`"),
            );
        } else if entry.is(serde::RENAME_ALL) && stored.asymmetric {
            let message = "`rename_all` writes and reads different names: a bucket has one name for \
                           each field";
            cx.error(&entry, message, "#[serde(rename_all = \"camelCase\")]");
        }
    }
}

/// Serde attributes of fields that contradict their role.
pub(crate) fn fields(cx: &mut Diagnostics, fields: &[Field], container: &SerdeStruct) {
    let container_default = !matches!(container.default, ContainerDefault::None);
    for (field, stored) in fields.iter().zip(&container.fields) {
        if field.serde(serde::RENAME).is_some() && stored.name != stored.read_name {
            let message = format!(
                "`{}` is written as `{}` and read as `{}`: a bucket has one name for it",
                field.ident, stored.name, stored.read_name
            );
            let at = field.serde(serde::RENAME);
            cx.error(
                at,
                message,
                format_args!("#[serde(rename = \"{}\")]", stored.name),
            );
        }
        match field.role {
            Role::Key => refuse(cx, field, "a key", &KEY_REFUSED),
            Role::Time => refuse(cx, field, "the time", &TIME_REFUSED),
            Role::Plain if field.unique.is_some() => {
                refuse(cx, field, "the record id", &UNIQUE_REFUSED);
            }
            Role::Plain if field.version.is_some() => {
                refuse(cx, field, "the version", &VERSION_REFUSED);
            }
            Role::Plain => unreadable(cx, field, stored, container_default),
        }
    }
}

/// The item's default comes from the record's, so the item's type must determine the record's.
pub(crate) fn default_of_generic(cx: &mut Diagnostics, input: &DeriveInput, model: &Model) {
    let types: Vec<&Type> = model.item_fields().map(|field| &field.ty).collect();
    let kept = generics::used_by(&model.record.generics, &types);
    if matches!(model.serde.default, ContainerDefault::None)
        || kept.params.len() == model.record.generics.params.len()
    {
        return;
    }
    let entry = entry::entries(&input.attrs, SERDE).find(|entry| entry.is(serde::DEFAULT));
    let message = "`default` on a record with a generic key: an item has no key, so the default \
                   of its record is ambiguous";
    cx.error(
        entry,
        message,
        "#[serde(default)] on the fields that need it",
    );
}

/// A serde key and why it is refused.
type Refusal = (Symbol, &'static str);

const FLATTENED: Refusal = (serde::FLATTEN, "it is stored under one name");
const SKIPPED: [Refusal; 4] = [
    (serde::SKIP, "it is always stored"),
    (serde::SKIP_SERIALIZING, "it is always stored"),
    (serde::SKIP_DESERIALIZING, "it is always read back"),
    (serde::SKIP_SERIALIZING_IF, "it is always stored"),
];
const BY_TYPE: &str = "the `BucketKey` of its type says how it is stored";

const TIME_REFUSED: [Refusal; 5] = [FLATTENED, SKIPPED[0], SKIPPED[1], SKIPPED[2], SKIPPED[3]];
const KEY_REFUSED: [Refusal; 8] = [
    FLATTENED,
    SKIPPED[0],
    SKIPPED[1],
    SKIPPED[2],
    SKIPPED[3],
    (serde::WITH, BY_TYPE),
    (serde::SERIALIZE_WITH, BY_TYPE),
    (serde::DESERIALIZE_WITH, BY_TYPE),
];
const VERSION_REFUSED: [Refusal; 5] = TIME_REFUSED;
const AS_TYPED: &str = "its type says how it is stored";
const UNIQUE_REFUSED: [Refusal; 8] = [
    FLATTENED,
    SKIPPED[0],
    SKIPPED[1],
    SKIPPED[2],
    SKIPPED[3],
    (serde::WITH, AS_TYPED),
    (serde::SERIALIZE_WITH, AS_TYPED),
    (serde::DESERIALIZE_WITH, AS_TYPED),
];

fn refuse(cx: &mut Diagnostics, field: &Field, role: &str, refused: &[Refusal]) {
    for entry in &field.serde {
        if let Some((key, reason)) = refused.iter().find(|(key, _)| entry.is(*key)) {
            let message = format!("`{key}` on `{}`, which is {role}: {reason}", field.ident);
            cx.error(
                entry,
                message,
                format_args!("remove `{key}` from `#[serde(..)]`"),
            );
        }
    }
}

/// A field that is not always written must have a value to be read as: one item without it would
/// make its whole bucket unreadable.
fn unreadable(cx: &mut Diagnostics, field: &Field, stored: &SerdeField, container_default: bool) {
    let has = |key| field.serde.iter().any(|entry| entry.is(key));
    let (key, written, help) = if stored.storage == Storage::Skipped {
        let help = "skip_serializing, default";
        (serde::SKIP_SERIALIZING, "is never written, so no", help)
    } else if has(serde::SKIP_SERIALIZING_IF) {
        let help = "skip_serializing_if = \"..\", default";
        (
            serde::SKIP_SERIALIZING_IF,
            "is not always written: without it, a",
            help,
        )
    } else {
        return;
    };
    // Serde reads a missing `Option` as `None`, unless it has a reader of its own.
    let reads_missing = types::is_literally(&field.ty, "Option")
        && !has(serde::WITH)
        && !has(serde::DESERIALIZE_WITH);
    if stored.has_default || container_default || reads_missing {
        return;
    }
    let cannot = if key == serde::SKIP_SERIALIZING {
        "could"
    } else {
        "could not"
    };
    let message = format!(
        "`{}` {written} stored item {cannot} be read back",
        field.ident
    );
    cx.error(field.serde(key), message, help);
}
