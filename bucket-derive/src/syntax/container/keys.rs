//! The raw keys of a record struct.

use proc_macro2::Ident;
use syn::LitStr;

use crate::syntax::{
    attribute_array::ArrayAttr,
    choice::{Late, OnConflict},
    crate_path::CratePath,
    duration::Window,
    name::Named,
    slot::Slot,
};

/// The line that a record struct needs.
pub(super) const EXAMPLE: &str =
    "#[bucket(collection = \"trades\", items = \"history\", capacity = 10)]";

/// The raw keys of the container attribute.
#[derive(Default)]
pub(crate) struct ContainerAttrs {
    pub(crate) collection: Slot<String>,
    pub(crate) items: Slot<LitStr>,
    pub(crate) capacity: Slot<u32>,
    pub(crate) id: Slot<LitStr>,
    pub(crate) krate: Slot<CratePath>,
    pub(crate) window: Slot<Window>,
    /// In seconds.
    pub(crate) max_duration: Slot<u32>,
    pub(crate) late: Slot<Late>,
    pub(crate) numbered: Slot<Named>,
    pub(crate) parts: Slot<()>,
    pub(crate) max_bytes: Slot<u32>,
    pub(crate) object_ids: Slot<()>,
    pub(crate) raised_from: Slot<u32>,
    pub(crate) compression: Slot<&'static str>,
    /// In seconds.
    pub(crate) expire_after: Slot<u32>,
    /// In seconds.
    pub(crate) keep_stats: Slot<u32>,
    /// In seconds.
    pub(crate) seal_after: Slot<u32>,
    pub(crate) merge: Slot<Window>,
    pub(crate) merge_stats: Slot<Window>,
    pub(crate) on_conflict: Slot<OnConflict>,
    pub(crate) created_at: Slot<Named>,
    pub(crate) stats: Slot<LitStr>,
    pub(crate) names: NameAttrs,
    pub(crate) arrays: Vec<ArrayAttr>,
    /// The keys that choose a form, in their order.
    pub(crate) forms: Vec<Ident>,
}

/// The stored names of a bucket's own fields.
#[derive(Default)]
pub(crate) struct NameAttrs {
    pub(crate) count: Slot<LitStr>,
    pub(crate) start: Slot<LitStr>,
    pub(crate) end: Slot<LitStr>,
    pub(crate) size: Slot<LitStr>,
    pub(crate) full: Slot<LitStr>,
    pub(crate) closed: Slot<LitStr>,
    pub(crate) bytes: Slot<LitStr>,
    pub(crate) expire_from: Slot<LitStr>,
}
