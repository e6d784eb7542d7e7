//! The checked form of an array of attributes.

use proc_macro2::Ident;
use syn::{LitStr, Type};

use crate::syntax::attribute_array::Index;

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
    /// Serde does not read a missing field as null.
    pub(super) null: bool,
    pub(super) factor: Option<f64>,
}

/// A field that keeps the other entries.
pub(crate) struct RestField {
    pub(super) ident: Ident,
    pub(super) ty: Type,
    pub(super) name: String,
}

impl Array {
    /// Whether it holds the field with this stored name.
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
