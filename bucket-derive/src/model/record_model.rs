//! The checked form of a record struct.

use proc_macro2::{Ident, Span};

use crate::{
    attribute_arrays::Array,
    model::{
        aggregates::Aggregates,
        field::{Field, Role},
        form::Form,
        id_template::IdTemplate,
        own_field::OwnField,
        own_role::OwnRole,
        record::Record,
        serde_names::SerdeStruct,
    },
    symbol::STATS,
    syntax::{crate_path::CratePath, duration::Window},
};

/// Everything about a record struct that generated code uses.
pub(crate) struct Model {
    pub(crate) record: Record,
    pub(crate) krate: CratePath,
    pub(crate) collection: String,
    pub(crate) items: ItemsName,
    pub(crate) form: Form,
    pub(crate) max_bytes: Option<u32>,
    /// The server makes the ids.
    pub(crate) object_ids: bool,
    pub(crate) raised_from: Option<u32>,
    pub(crate) compression: Option<&'static str>,
    /// In seconds.
    pub(crate) expire_after: Option<u32>,
    /// In seconds.
    pub(crate) keep_stats: Option<u32>,
    /// In seconds.
    pub(crate) seal_after: Option<u32>,
    /// Sealed buckets whose windows start in the same of these become one.
    pub(crate) merge: Option<Window>,
    /// Those without records become one for each of these.
    pub(crate) merge_stats: Option<Window>,
    /// A record replaces the one that is stored under its id.
    pub(crate) replaces: bool,
    pub(crate) own_fields: Vec<OwnField>,
    /// The prefix of the names of aggregates, if it is not the default.
    pub(crate) stats: Option<String>,
    pub(crate) aggregates: Aggregates,
    pub(crate) id: IdTemplate,
    /// All fields in the order of the struct.
    pub(crate) fields: Vec<Field>,
    pub(crate) serde: SerdeStruct,
    /// The arrays of attributes.
    pub(crate) arrays: Vec<Array>,
    /// Nothing was reported about them.
    pub(crate) arrays_are_sound: bool,
}

/// The array of a bucket: its stored name and the field of the typed bucket.
pub(crate) struct ItemsName {
    pub(crate) name: String,
    /// The field that the array's name suggests.
    pub(crate) asked: Ident,
    /// The field; another one if the bucket has a field of that name, which is an error.
    pub(crate) ident: Ident,
}

impl ItemsName {
    /// The Rust field has the array's name if that is an identifier.
    pub(super) fn new(name: String) -> Self {
        let asked = syn::parse_str::<Ident>(&name).unwrap_or_else(|_| Self::plain());
        Self {
            name,
            ident: asked.clone(),
            asked,
        }
    }

    pub(super) fn plain() -> Ident {
        Ident::new("items", Span::call_site())
    }
}

impl Model {
    /// The key fields in the order of the struct.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Field> + Clone {
        self.fields.iter().filter(|field| field.role == Role::Key)
    }

    /// The key fields of the typed bucket. A name that the bucket uses itself is an error; the
    /// fallback leaves that key out.
    pub(crate) fn bucket_keys(&self) -> impl Iterator<Item = &Field> + Clone {
        self.keys()
            .filter(|field| self.taken_by(&field.rust_name()).is_none())
    }

    /// The prefix of the names of aggregates; may be empty.
    pub(crate) fn stats_prefix(&self) -> &str {
        self.stats.as_deref().unwrap_or(STATS.as_str())
    }

    /// The fields of an item: all except the keys.
    pub(crate) fn item_fields(&self) -> impl Iterator<Item = &Field> + Clone {
        self.fields.iter().filter(|field| field.role != Role::Key)
    }

    /// The path of an item's field in the bucket; for an attribute, that of its array.
    pub(crate) fn item_path(&self, field: &Field) -> String {
        let array = self.arrays.iter().find(|array| array.holds(&field.name));
        match array {
            Some(array) if array.is_shared => array.name.clone(),
            Some(array) => format!("{}.{}", self.items.name, array.name),
            None => format!("{}.{}", self.items.name, field.name),
        }
    }

    /// The record id, if a field of the item is one.
    pub(crate) fn unique(&self) -> Option<&Field> {
        let mut items = self.fields.iter().filter(|field| field.role == Role::Plain);
        items.find(|field| field.unique.is_some())
    }

    /// The version of the record, if a field is one.
    pub(crate) fn version(&self) -> Option<&Field> {
        let mut fields = self.fields.iter().filter(|field| field.role != Role::Key);
        fields.find(|field| field.version.is_some())
    }

    /// The time field; a model without errors has one.
    pub(crate) fn time(&self) -> Option<&Field> {
        self.fields.iter().find(|field| field.role == Role::Time)
    }

    /// What a typed bucket's field of this name is, unless it is a key.
    pub(crate) fn taken_by(&self, name: &str) -> Option<&'static str> {
        self.taken_by_bucket(name)
            .or_else(|| (self.items.ident == name).then_some("the array of items"))
    }

    /// What a typed bucket's field of this name is, unless it is a key or the array.
    pub(crate) fn taken_by_bucket(&self, name: &str) -> Option<&'static str> {
        let is_own = |role: OwnRole, stored: &str| {
            // The id template uses the stored name of the number.
            name == role.rust_name() || (role == OwnRole::Number && name == stored)
        };
        match name {
            "id" => Some("the id of the bucket"),
            "stats" if !self.aggregates.is_empty() => Some("the aggregates"),
            _ => self
                .own_fields
                .iter()
                .find(|field| is_own(field.role, &field.name))
                .map(|field| field.role.what()),
        }
    }
}
