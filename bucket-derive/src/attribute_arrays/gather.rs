//! From the fields of a struct to its arrays, checked.

use syn::LitStr;

use super::{
    array::{Array, Attribute, RestField},
    check,
    method_names::Taken,
    raw_field::RawField,
};
use crate::{
    diagnostics::Diagnostics,
    syntax::{
        attribute_array::{ArrayAttr, Index},
        choice::Store,
        slot::Slot,
    },
};

/// The arrays of a struct, checked.
pub(crate) fn gather(
    cx: &mut Diagnostics,
    fields: &[RawField<'_>],
    given: &[ArrayAttr],
    taken: Taken,
) -> Vec<Array> {
    check::fields(cx, fields);
    let arrays = gathered(fields, given);
    check::arrays(cx, &arrays, fields, given, taken);
    arrays
}

/// The fields grouped by array, in the order of the struct.
fn gathered(fields: &[RawField<'_>], given: &[ArrayAttr]) -> Vec<Array> {
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

/// An array without fields, with the names that the struct gives.
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
    // An array with other entry names has units only if the unit has a name.
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
