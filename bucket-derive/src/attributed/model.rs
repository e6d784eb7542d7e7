//! The checked form of a struct with attributes.

use proc_macro2::Ident;
use syn::{DeriveInput, LitStr, Type, Visibility, ext::IdentExt};

use super::{check, names::Taken};
use crate::{
    attrs::{
        attribute::{ArrayAttr, AttributeAttr, Index},
        choice::Store,
        container::is_bare,
        crate_path::CratePath,
        entry::{self, Entry, Syntax},
        slot::Slot,
        value,
    },
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    model::{
        record,
        serde_names::{self, SerdeField},
        types,
    },
    symbol::{
        ARRAY_KEYS, ATTRIBUTE, ATTRIBUTES, BUCKET, COLLECTION, CRATE, DOCUMENT_KEYS, names, serde,
    },
};

/// The line that a struct with attributes needs.
pub(super) const EXAMPLE: &str = "#[bucket(collection = \"bottles\")]";

/// A struct with attributes.
pub(crate) struct Attributed {
    pub(super) ident: Ident,
    pub(super) vis: Visibility,
    pub(super) krate: CratePath,
    /// It has parameters, which is an error.
    pub(super) generic: bool,
    pub(super) collection: String,
    pub(super) arrays: Vec<Array>,
    /// Nothing was reported about them.
    pub(super) arrays_are_sound: bool,
}

/// An array of attributes.
pub(crate) struct Array {
    pub(crate) name: String,
    pub(super) k: String,
    pub(super) v: String,
    /// None in arrays without units.
    pub(super) u: Option<String>,
    pub(super) index: Index,
    /// The bucket holds it for its items.
    pub(crate) is_shared: bool,
    pub(super) fields: Vec<Attribute>,
    pub(super) rest: Option<RestField>,
}

/// A field that is an entry.
pub(crate) struct Attribute {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    /// The name that serde writes.
    pub(super) name: String,
    pub(super) k: LitStr,
    pub(super) u: Option<LitStr>,
    pub(super) text: bool,
    /// Serde reads something else than null where the field is missing.
    pub(super) null: bool,
    pub(super) factor: Option<f64>,
}

/// A field that keeps the other entries.
pub(crate) struct RestField {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) name: String,
}

/// A field with its raw attribute and what serde makes of it.
pub(crate) struct Raw<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attr: Option<&'a AttributeAttr>,
    pub(crate) serde: Vec<Entry>,
    pub(crate) stored: SerdeField,
}

impl Raw<'_> {
    /// Whether serde takes the field for null where it is missing: an `Option`, and nothing else is said.
    fn reads_missing_as_null(&self) -> bool {
        let entry = |key| self.serde.iter().find(|entry| entry.is(key));
        let by_hand = entry(serde::WITH)
            .or(entry(serde::DESERIALIZE_WITH))
            .is_some();
        match entry(serde::DEFAULT) {
            _ if !types::is_literally(self.ty, "Option") => false,
            Some(default) => matches!(default.form, Syntax::Word),
            // That of the struct.
            None => !by_hand && !self.stored.has_container_default,
        }
    }
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
    let container = container(cx, input);
    let mut this = Attributed {
        ident: input.ident.clone(),
        vis: input.vis.clone(),
        generic: !input.generics.params.is_empty(),
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
    let fields: Vec<Raw<'_>> = named
        .iter()
        .zip(&attrs)
        .enumerate()
        .filter_map(|(index, (field, (attr, _)))| {
            let ident = field.ident.as_ref()?;
            let stored = stored.fields.get(index).cloned();
            let plain = || SerdeField::plain(ident.unraw().to_string());
            Some(Raw {
                attr: attr.as_ref(),
                ty: &field.ty,
                serde: entry::entries(&field.attrs, crate::symbol::SERDE).collect(),
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
    this.arrays = arrays(cx, &fields, &container.arrays, taken);
    this.arrays_are_sound = all_clear && cx.count() == before;
    this
}

/// The arrays of a struct, checked.
pub(crate) fn arrays(
    cx: &mut Diagnostics,
    fields: &[Raw<'_>],
    given: &[ArrayAttr],
    taken: Taken,
) -> Vec<Array> {
    check::fields(cx, fields);
    let arrays = gathered(fields, given);
    check::arrays(cx, &arrays, fields, given, taken);
    arrays
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
            let message = format!(
                "{}: the keys of a struct with attributes are {}",
                entry.unknown(),
                list(&keys)
            );
            let key = entry.key.as_ref().map(ToString::to_string);
            let meant = key.and_then(|key| did_you_mean(&key, keys));
            let help = meant.map_or_else(|| EXAMPLE.to_owned(), |meant| entry.renamed(meant));
            cx.error(entry.key_tokens(), suggest(&message, meant), help);
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

/// The attribute of a field, and whether there is one that is broken.
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
            let message = format!(
                "{}: the key of a field with `Attributed` is `attribute`",
                entry.unknown()
            );
            suggest(&message, meant)
        };
        cx.error(entry.key_tokens(), message, example);
    }
    let attr = slot.into_value();
    unclear &= attr.is_none();
    (attr, unclear)
}

/// The fields by their arrays, in the order in which the struct names them.
fn gathered(fields: &[Raw<'_>], given: &[ArrayAttr]) -> Vec<Array> {
    let mut arrays: Vec<Array> = Vec::new();
    for field in fields {
        let Some(attr) = field.attr else { continue };
        let Some(name) = attr.array.get().map(LitStr::value) else {
            continue;
        };
        let at = arrays.iter().position(|array| array.name == name);
        let at = at.unwrap_or_else(|| {
            arrays.push(array(name, given));
            arrays.len() - 1
        });
        let (ident, ty) = (field.ident.clone(), field.ty.clone());
        let name = field.stored.name.clone();
        if attr.rest.given().is_some() {
            arrays[at].rest.get_or_insert(RestField { ident, ty, name });
        } else if let Some(k) = attr.k.get().cloned() {
            arrays[at].fields.push(Attribute {
                ident,
                ty,
                name,
                k,
                u: attr.u.get().cloned(),
                text: attr.text.given().is_some(),
                null: !field.reads_missing_as_null(),
                factor: attr.factor.get().copied(),
            });
        }
    }
    arrays
}

/// An array without fields; called as the struct says.
fn array(name: String, given: &[ArrayAttr]) -> Array {
    let of = given.iter().find(|attr| {
        let array = attr.array.get().map(LitStr::value);
        array.as_deref() == Some(&name)
    });
    let text = |slot: &Slot<LitStr>| slot.get().map(LitStr::value);
    let (k, v, u, index) = match of {
        None => (None, None, None, Index::default()),
        Some(of) => (
            text(&of.k),
            text(&of.v),
            text(&of.u),
            of.index.get().copied().unwrap_or_default(),
        ),
    };
    // Where entries are called otherwise, a unit is there if it has a name.
    let has_unit = u.is_some() || (k.is_none() && v.is_none());
    Array {
        name,
        k: k.unwrap_or_else(|| "k".to_owned()),
        v: v.unwrap_or_else(|| "v".to_owned()),
        u: has_unit.then(|| u.unwrap_or_else(|| "u".to_owned())),
        index,
        is_shared: of.is_some_and(|of| of.store.get() == Some(&Store::Bucket)),
        fields: Vec::new(),
        rest: None,
    }
}

impl Array {
    /// Whether the field of this stored name stands in it.
    pub(crate) fn holds(&self, name: &str) -> bool {
        let mut fields = self.fields.iter();
        let is_rest = |rest: &RestField| rest.name == name;
        fields.any(|field| field.name == name) || self.rest.as_ref().is_some_and(is_rest)
    }

    /// The keys in their order, each once.
    pub(super) fn keys(&self) -> Vec<&LitStr> {
        let mut keys: Vec<&LitStr> = Vec::new();
        for field in &self.fields {
            if !keys.iter().any(|key| key.value() == field.k.value()) {
                keys.push(&field.k);
            }
        }
        keys
    }

    /// The fields of a key.
    pub(super) fn of_key(&self, key: &LitStr) -> impl Iterator<Item = &Attribute> {
        let key = key.value();
        self.fields
            .iter()
            .filter(move |field| field.k.value() == key)
    }
}
