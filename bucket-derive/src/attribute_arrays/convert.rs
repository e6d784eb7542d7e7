//! `bottle.volume_in_ml()`: the value of a key in one unit, converted if it is stored in another.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::LitStr;

use super::{
    array::{Array, Attribute},
    asked::Asked,
    number::number,
};
use crate::{model::rust_name::snake, typed_path};

/// A method for each unit with a factor.
pub(crate) fn methods(model: &Asked<'_>) -> TokenStream {
    let methods = model.arrays.iter().flat_map(|array| {
        let keys = array.keys().into_iter();
        keys.flat_map(|key| of_key(model, array, key))
    });
    quote!(#(#methods)*)
}

fn of_key(model: &Asked<'_>, array: &Array, key: &LitStr) -> Vec<TokenStream> {
    let of = |field| Some((field, factor(field)?));
    let units: Vec<(&Attribute, f64)> = array.of_key(key).filter_map(of).collect();
    let methods = units.iter().map(|&asked| method(model, key, asked, &units));
    methods.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// How many base units one of this unit is.
fn factor(field: &Attribute) -> Option<f64> {
    field.factor.filter(|_| field.u.is_some())
}

fn method(
    model: &Asked<'_>,
    key: &LitStr,
    (asked, base): (&Attribute, f64),
    units: &[(&Attribute, f64)],
) -> Option<TokenStream> {
    let (vis, private) = (model.vis, model.private);
    let unit = asked.u.as_ref()?.value();
    let method = format_ident!("{}_in_{}", snake(&key.value())?, snake(&unit)?);
    let others: Vec<String> = units
        .iter()
        .filter(|(field, _)| field.ident != asked.ident)
        .map(|(field, _)| format!("`{}`", field.ident))
        .collect();
    let doc = format!(
        " `{}` in `{unit}`: `{}`, or else {} converted. `None` if all are missing.",
        key.value(),
        asked.ident,
        others.join(" or "),
    );
    // Its own unit first: that value is exact.
    let own = units.iter().filter(|(field, _)| field.ident == asked.ident);
    let rest = units.iter().filter(|(field, _)| field.ident != asked.ident);
    let values = own.chain(rest).map(|(field, factor)| {
        let ident = &field.ident;
        let factor = number(if field.ident == asked.ident {
            1.0
        } else {
            factor / base
        });
        let to_bson = typed_path::of(&field.ty, private, "AttributeValue", "to_bson");
        quote!((#private::number(&#to_bson(&self.#ident)), #factor))
    });
    Some(quote! {
        #[doc = #doc]
        #[must_use]
        #vis fn #method(&self) -> ::core::option::Option<::core::primitive::f64> {
            #private::convert([#(#values),*])
        }
    })
}
