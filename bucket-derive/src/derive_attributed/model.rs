//! The checked form of a struct with attributes.

use proc_macro2::Ident;
use syn::{DeriveInput, Generics, Visibility, ext::IdentExt};

use super::check;
use crate::{
    attribute_arrays::{self, Array, RawField, Taken},
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    model::{
        record,
        serde_names::{self, SerdeField},
    },
    symbol::{
        ARRAY_KEYS, ATTRIBUTE, ATTRIBUTES, BUCKET, COLLECTION, CRATE, DOCUMENT_KEYS, SERDE, names,
    },
    syntax::{
        attribute_array::{ArrayAttr, AttributeAttr},
        container::is_bare,
        crate_path::CratePath,
        entry,
        slot::Slot,
        value,
    },
};

/// The line that a struct with attributes needs.
pub(super) const EXAMPLE: &str = "#[bucket(collection = \"bottles\")]";

/// A struct with attributes.
pub(crate) struct Attributed {
    pub(super) ident: Ident,
    pub(super) vis: Visibility,
    pub(super) krate: CratePath,
    pub(super) generics: Generics,
    pub(super) collection: String,
    pub(super) arrays: Vec<Array>,
    /// Nothing was reported about them.
    pub(super) arrays_are_sound: bool,
}

/// The raw keys of the struct.
#[derive(Default)]
struct Container {
    collection: Slot<String>,
    krate: Slot<CratePath>,
    arrays: Vec<ArrayAttr>,
}

/// Reads and checks a struct with attributes.
pub(crate) fn build(cx: &mut Diagnostics, input: &DeriveInput) -> Attributed {
    let input = &serde_names::without_self(input);
    let container = container(cx, input);
    let mut this = Attributed {
        ident: input.ident.clone(),
        vis: input.vis.clone(),
        generics: input.generics.clone(),
        krate: container.krate.get().cloned().unwrap_or_default(),
        collection: container.collection.get().cloned().unwrap_or_default(),
        arrays: Vec::new(),
        arrays_are_sound: false,
    };
    let example = "#[bucket(attribute(array = \"specs\", k = \"volume\", u = \"ml\"))] volume_ml: Option<i32>";
    let Some(named) = record::named_fields(cx, input, "Attributed", example) else {
        return this;
    };
    check::container(cx, input);
    let stored = serde_names::of_struct(cx, input);
    let attrs: Vec<_> = named.iter().map(|field| field_attr(cx, field)).collect();
    let fields: Vec<RawField<'_>> = named
        .iter()
        .zip(&attrs)
        .enumerate()
        .filter_map(|(index, (field, (attr, _)))| {
            let ident = field.ident.as_ref()?;
            let stored = stored.fields.get(index).cloned();
            let plain = || SerdeField::plain(ident.unraw().to_string());
            Some(RawField {
                attr: attr.as_ref(),
                ty: &field.ty,
                serde: entry::entries(&field.attrs, SERDE).collect(),
                stored: stored.unwrap_or_else(plain),
                ident,
            })
        })
        .collect();
    let all_clear = attrs.iter().all(|(_, unclear)| !unclear);
    if all_clear {
        check::any(cx, &fields);
    }
    let before = cx.count();
    let documents = (
        "documents".to_owned(),
        "the handle to its documents".to_owned(),
    );
    let taken = Taken {
        functions: vec![documents],
        types: Vec::new(),
    };
    this.arrays = attribute_arrays::gather(cx, &fields, &container.arrays, taken);
    this.arrays_are_sound = all_clear && cx.count() == before;
    this
}

fn container(cx: &mut Diagnostics, input: &DeriveInput) -> Container {
    let mut this = Container::default();
    let mut attrs = input.attrs.iter().filter(|attr| entry::is(attr, BUCKET));
    if let Some(attr) = attrs.clone().find(|attr| is_bare(attr)) {
        let message = "`#[bucket]` on a struct with attributes expects `collection`";
        cx.error(attr, message, EXAMPLE);
        return this;
    }
    let mut unknown = false;
    for entry in entry::entries(&input.attrs, BUCKET) {
        if entry.is(COLLECTION) {
            let name = value::collection(cx, &entry);
            this.collection.fill(cx, &entry, name);
        } else if entry.is(CRATE) {
            let path = CratePath::parse(cx, &entry);
            this.krate.fill(cx, &entry, path);
        } else if entry.is(ATTRIBUTES) {
            this.arrays
                .extend(ArrayAttr::parse(cx, &entry, &ARRAY_KEYS));
        } else {
            unknown = true;
            let keys = names(&DOCUMENT_KEYS);
            let valid = format!("the keys of a struct with attributes are {}", list(&keys));
            let key = entry.key.as_ref().map(ToString::to_string);
            let meant = key.and_then(|key| did_you_mean(&key, keys));
            let help = meant.map_or_else(|| EXAMPLE.to_owned(), |meant| entry.renamed(meant));
            let message = suggest(&entry.unknown(), meant, &valid);
            cx.error(entry.key_tokens(), message, help);
        }
    }
    if this.collection.given().is_none() && !unknown {
        if let Some(attr) = attrs.next() {
            cx.error(attr, "missing `collection` of `#[bucket(..)]`", EXAMPLE);
        } else {
            let message = format!("`{}` has no `#[bucket(..)]`", input.ident);
            cx.error(&input.ident, message, EXAMPLE);
        }
    }
    this
}

/// The attribute of a field, and whether a broken one was found.
fn field_attr(cx: &mut Diagnostics, field: &syn::Field) -> (Option<AttributeAttr>, bool) {
    let mut unclear = false;
    let example = "#[bucket(attribute(array = \"specs\", k = \"volume\"))]";
    let attrs = field.attrs.iter();
    for attr in attrs.filter(|attr| entry::is(attr, BUCKET) && is_bare(attr)) {
        cx.error(
            attr,
            "`#[bucket]` on a field expects `attribute(..)`",
            example,
        );
    }
    let mut slot: Slot<AttributeAttr> = Slot::default();
    for entry in entry::entries(&field.attrs, BUCKET) {
        unclear = true;
        if entry.is(ATTRIBUTE) {
            let attr = AttributeAttr::parse(cx, &entry);
            slot.fill(cx, &entry, attr);
            continue;
        }
        let key = entry.key.as_ref().map(ToString::to_string);
        let message = if DOCUMENT_KEYS.iter().any(|key| entry.is(*key)) {
            let key = key.unwrap_or_default();
            format!("`{key}` belongs on the struct, not on a field")
        } else {
            let meant = key.and_then(|key| did_you_mean(&key, [ATTRIBUTE.as_str()]));
            let valid = "the key of a field with `Attributed` is `attribute`";
            suggest(&entry.unknown(), meant, valid)
        };
        cx.error(entry.key_tokens(), message, example);
    }
    let attr = slot.into_value();
    unclear &= attr.is_none();
    (attr, unclear)
}
