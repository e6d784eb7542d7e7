//! The names of generated methods and types, each of which must be unique.

use std::fmt::Display;

use quote::ToTokens;
use syn::LitStr;

use super::array::{Array, Attribute};
use crate::{
    diagnostics::Diagnostics,
    model::rust_name::{camel, snake},
};

/// The names that a struct already uses.
#[derive(Default)]
pub(crate) struct Taken {
    /// Functions of the struct, and what they are.
    pub(crate) functions: Vec<(String, String)>,
    /// Types, by the suffix after the struct's name, and what they are.
    pub(crate) types: Vec<(String, String)>,
}

/// Reports every duplicate name at the source of the second one.
pub(super) fn check(cx: &mut Diagnostics, arrays: &[Array], taken: Taken) {
    let mut functions = Names::of("()", taken.functions);
    let mut types = Names::of("", taken.types);
    for array in arrays {
        let Some((name, at)) = snake(&array.name).zip(first_field(array)) else {
            continue;
        };
        let what = format!("the array `{}`", array.name);
        let help = "give the array another name";
        functions.claim(cx, at, &name.to_string(), &what, help);
        types.claim(cx, at, &camel(&name), &what, help);
    }
    for array in arrays {
        of_array(cx, array, &mut types);
        conversions(cx, array, &mut functions);
    }
}

/// A field of the array.
fn first_field(array: &Array) -> Option<&syn::Ident> {
    let rest = array.rest.as_ref().map(|rest| &rest.ident);
    array.fields.first().map(|field| &field.ident).or(rest)
}

/// Used names, each with its owner.
struct Names {
    seen: Vec<(String, String)>,
    /// The suffix of a name in messages.
    call: &'static str,
}

impl Names {
    fn of(call: &'static str, seen: Vec<(String, String)>) -> Self {
        Self { seen, call }
    }

    /// Claims a name if it is free.
    fn claim(
        &mut self,
        cx: &mut Diagnostics,
        at: impl ToTokens,
        name: &str,
        what: &str,
        help: impl Display,
    ) {
        if let Some((_, other)) = self.seen.iter().find(|(seen, _)| seen == name) {
            let call = self.call;
            let kind = if call.is_empty() {
                "the type `.."
            } else {
                "the method `"
            };
            let message = format!("{what} would need {kind}{name}{call}`, which is {other}");
            cx.error(at, message, help);
            return;
        }
        self.seen
            .push((name.to_owned(), format!("taken by {what}")));
    }
}

/// A method for each key, and on the type of a key one for each unit.
fn of_array(cx: &mut Diagnostics, array: &Array, types: &mut Names) {
    let mut methods = Names::of("()", Vec::new());
    if let (Some(_), Some(name)) = (&array.rest, snake(&array.k)) {
        let what = "taken by the keys that the struct does not name".to_owned();
        methods.seen.push((name.to_string(), what));
    }
    let of_array = snake(&array.name)
        .map(|name| camel(&name))
        .unwrap_or_default();
    for key in array.keys() {
        let text = key.value();
        let Some(name) = named(cx, key) else { continue };
        let help = "use texts that differ in letters or digits";
        methods.claim(cx, key, &name, &format!("`{text}`"), help);
        let fields: Vec<&Attribute> = array.of_key(key).collect();
        if matches!(fields.as_slice(), [Attribute { u: None, .. }]) {
            continue;
        }
        let of_key = snake(&text).map(|name| camel(&name)).unwrap_or_default();
        types.claim(
            cx,
            key,
            &(of_array.clone() + &of_key),
            &format!("`{text}`"),
            help,
        );
        units(cx, &fields);
    }
}

fn units(cx: &mut Diagnostics, fields: &[&Attribute]) {
    let mut methods = Names::of("()", Vec::new());
    let mut own = |name: String, what: &str| methods.seen.push((name, what.to_owned()));
    own("any_unit".to_owned(), "taken by the filter over any unit");
    if fields.iter().any(|field| field.u.is_none()) {
        own("without_unit".to_owned(), "taken by entries without a unit");
    }
    for field in fields.iter().filter(|field| field.factor.is_some()) {
        let unit = field.u.as_ref().and_then(|unit| snake(&unit.value()));
        if let Some(unit) = unit {
            own(
                format!("in_{}", unraw(&unit)),
                "taken by the filter that converts all units",
            );
        }
    }
    let mut known: Vec<String> = Vec::new();
    for unit in fields.iter().filter_map(|field| field.u.as_ref()) {
        let text = unit.value();
        // A duplicate unit of a key was reported.
        if known.contains(&text) {
            continue;
        }
        let Some(name) = named(cx, unit) else {
            continue;
        };
        let help = "use texts that differ in letters or digits";
        methods.claim(cx, unit, &name, &format!("`{text}`"), help);
        known.push(text);
    }
}

/// The methods that convert on read: `volume_in_ml`.
fn conversions(cx: &mut Diagnostics, array: &Array, functions: &mut Names) {
    for key in array.keys() {
        let Some(name) = snake(&key.value()) else {
            continue;
        };
        let mut known: Vec<String> = Vec::new();
        for unit in array.of_key(key).filter(|field| field.factor.is_some()) {
            let Some(unit) = &unit.u else { continue };
            let text = unit.value();
            if known.contains(&text) {
                continue;
            }
            let Some(unit_name) = snake(&text) else {
                continue;
            };
            let method = format!("{}_in_{}", unraw(&name), unraw(&unit_name));
            let what = format!("`{}` in `{text}` of `{}`", key.value(), array.name);
            let help = "use another `k`, or remove one of the two `factor`s";
            functions.claim(cx, unit, &method, &what, help);
            known.push(text);
        }
    }
}

fn unraw(ident: &syn::Ident) -> syn::Ident {
    syn::ext::IdentExt::unraw(ident)
}

/// The name of the method for a text, if it has one.
fn named(cx: &mut Diagnostics, text: &LitStr) -> Option<String> {
    let name = snake(&text.value());
    if name.is_none() {
        let message = format!("`{}` has no letter to name a method by", text.value());
        cx.error(text, message, "use a text with letters or digits");
    }
    name.map(|name| name.to_string())
}
