//! Stored names, as serde's own attribute parser gives them.
//!
//! This is the only file that knows `serde_derive_internals`, which promises no stability. It turns
//! serde's tree into our own plain data; `model/check.rs` decides what is allowed.

use proc_macro2::{Ident, Span};
use serde_derive_internals::{
    Ctxt, Derive,
    ast::{Container, Data},
    attr,
};
use syn::{DeriveInput, ExprPath, WherePredicate};

use crate::diagnostics::Diagnostics;

/// The input with `Self` spelled out: its types are copied into other structs.
pub(crate) fn without_self(input: &DeriveInput) -> DeriveInput {
    let mut input = input.clone();
    serde_derive_internals::replace_receiver(&mut input);
    input
}

/// What serde knows about a struct.
#[derive(Default)]
pub(crate) struct SerdeStruct {
    /// Serde's own derive fails on this struct, or implements no trait for it.
    pub(crate) broken: bool,
    pub(crate) default: ContainerDefault,
    pub(crate) ser_bound: Option<Vec<WherePredicate>>,
    pub(crate) de_bound: Option<Vec<WherePredicate>>,
    /// `rename_all` writes and reads different names.
    pub(crate) asymmetric: bool,
    pub(crate) fields: Vec<SerdeField>,
}

/// `#[serde(default)]` on the container.
#[derive(Default)]
pub(crate) enum ContainerDefault {
    #[default]
    None,
    Trait,
    Path(ExprPath),
}

/// What serde knows about a field.
#[derive(Clone)]
pub(crate) struct SerdeField {
    pub(crate) name: String,
    pub(crate) read_name: String,
    pub(crate) storage: Storage,
    /// It has a value where no stored item has one.
    pub(crate) has_default: bool,
    /// The struct has a default, of which this is a part.
    pub(crate) has_container_default: bool,
    pub(crate) form: StoredForm,
}

/// How serde's attributes of a field decide what is stored of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoredForm {
    /// Always, as its type writes it.
    Plain,
    /// It may be left out, or stored under another name.
    MayBeMissing,
    /// Functions of its own write or read it.
    Own,
}

/// Whether a field has a stored name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    Named,
    /// Its own fields replace it.
    Flattened,
    /// Never written.
    Skipped,
}

impl SerdeField {
    /// A field without attributes.
    pub(crate) fn plain(name: String) -> Self {
        Self {
            read_name: name.clone(),
            name,
            storage: Storage::Named,
            has_default: false,
            has_container_default: false,
            form: StoredForm::Plain,
        }
    }
}

/// What serde knows about an enum.
#[derive(Default)]
pub(crate) struct SerdeEnum {
    pub(crate) asymmetric: bool,
    pub(crate) variants: Vec<SerdeVariant>,
}

/// What serde knows about a variant.
pub(crate) struct SerdeVariant {
    pub(crate) name: String,
    pub(crate) read_name: String,
    /// Further names that are read; may contain `name`.
    pub(crate) aliases: Vec<String>,
}

/// Reads the serde attributes of a struct.
pub(crate) fn of_struct(cx: &mut Diagnostics, input: &DeriveInput) -> SerdeStruct {
    let Some(container) = parse(cx, input) else {
        return SerdeStruct {
            broken: true,
            ..SerdeStruct::default()
        };
    };
    let Data::Struct(_, fields) = &container.data else {
        return SerdeStruct::default();
    };
    SerdeStruct {
        broken: container.attrs.remote().is_some(),
        default: match container.attrs.default() {
            attr::Default::None => ContainerDefault::None,
            attr::Default::Default => ContainerDefault::Trait,
            attr::Default::Path(path) => ContainerDefault::Path(path.clone()),
        },
        ser_bound: container.attrs.ser_bound().map(<[_]>::to_vec),
        de_bound: container.attrs.de_bound().map(<[_]>::to_vec),
        asymmetric: is_asymmetric(&container),
        fields: fields
            .iter()
            .map(|field| SerdeField {
                has_container_default: !container.attrs.default().is_none(),
                ..of_field(&field.attrs)
            })
            .collect(),
    }
}

/// Reads the serde attributes of an enum.
pub(crate) fn of_enum(cx: &mut Diagnostics, input: &DeriveInput) -> SerdeEnum {
    let Some(container) = parse(cx, input) else {
        return SerdeEnum::default();
    };
    let Data::Enum(variants) = &container.data else {
        return SerdeEnum::default();
    };
    SerdeEnum {
        asymmetric: is_asymmetric(&container),
        variants: variants
            .iter()
            .map(|variant| SerdeVariant {
                name: variant.attrs.name().serialize_name().value.clone(),
                read_name: variant.attrs.name().deserialize_name().value.clone(),
                aliases: variant
                    .attrs
                    .aliases()
                    .iter()
                    .map(|name| name.value.clone())
                    .collect(),
            })
            .collect(),
    }
}

fn of_field(attrs: &attr::Field) -> SerdeField {
    SerdeField {
        name: attrs.name().serialize_name().value.clone(),
        read_name: attrs.name().deserialize_name().value.clone(),
        storage: match (attrs.skip_serializing(), attrs.flatten()) {
            (true, _) => Storage::Skipped,
            (false, true) => Storage::Flattened,
            (false, false) => Storage::Named,
        },
        has_default: attrs.skip_deserializing() || !attrs.default().is_none(),
        has_container_default: false,
        form: stored_form(attrs),
    }
}

fn stored_form(attrs: &attr::Field) -> StoredForm {
    if attrs.serialize_with().is_some() || attrs.deserialize_with().is_some() {
        StoredForm::Own
    } else if attrs.skip_serializing_if().is_some() || attrs.aliases().len() > 1 {
        StoredForm::MayBeMissing
    } else {
        StoredForm::Plain
    }
}

fn is_asymmetric(container: &Container<'_>) -> bool {
    let rules = container.attrs.rename_all_rules();
    rules.serialize != rules.deserialize
}

/// Runs serde's parser. Its errors are passed on word for word: rustc shows an error that serde's
/// own derive reports at the same place once.
fn parse<'a>(cx: &mut Diagnostics, input: &'a DeriveInput) -> Option<Container<'a>> {
    let errors = Ctxt::new();
    let private = Ident::new("__private", Span::call_site());
    let container = Container::from_ast(&errors, input, Derive::Serialize, &private);
    match errors.check() {
        Ok(()) => container,
        Err(error) => {
            cx.foreign(error);
            None
        }
    }
}
