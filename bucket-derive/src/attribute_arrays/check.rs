//! Rules over several keys and fields of an array of attributes.

use super::{
    array::{Array, Attribute},
    method_names::{self, Taken},
    raw_field::RawField,
};
use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    model::serde_names::Storage,
    symbol::serde,
    syntax::attribute_array::ArrayAttr,
};

/// What serde must not do to an attribute.
pub(super) fn fields(cx: &mut Diagnostics, fields: &[RawField<'_>]) {
    for field in fields.iter().filter(|field| field.attr.is_some()) {
        if field.stored.name != field.stored.read_name {
            let entry = field.serde.iter().find(|entry| entry.is(serde::RENAME));
            let message = format!(
                "`{}` is written as `{}` and read as `{}`: an attribute has one name",
                field.ident, field.stored.name, field.stored.read_name
            );
            let help = format!("#[serde(rename = \"{}\")]", field.stored.name);
            match entry {
                Some(entry) => cx.error(entry, message, help),
                None => cx.error(field.ident, message, help),
            }
        }
        let refused = match field.stored.storage {
            Storage::Named => continue,
            Storage::Flattened => serde::FLATTEN,
            Storage::Skipped => serde::SKIP,
        };
        let entry = field.serde.iter().find(|entry| {
            entry.is(refused) || (refused == serde::SKIP && entry.is(serde::SKIP_SERIALIZING))
        });
        let message = format!(
            "`{refused}` on `{}`, which is an attribute: it is stored as an entry",
            field.ident
        );
        let help = format!("remove `{refused}` from `#[serde(..)]`");
        match entry {
            Some(entry) => cx.error(entry, message, help),
            None => cx.error(field.ident, message, help),
        }
    }
}

/// What must be unique, and what does not apply.
pub(super) fn arrays(
    cx: &mut Diagnostics,
    arrays: &[Array],
    fields: &[RawField<'_>],
    given: &[ArrayAttr],
    taken: Taken,
) {
    array_attrs(cx, arrays, given);
    for array in arrays {
        let plain = fields.iter().find(|field| {
            field.stored.storage == Storage::Named
                && field.stored.name == array.name
                && !is_of(field, array)
        });
        if let Some(field) = plain {
            let message = format!(
                "`{}` is stored as `{}`, which is an array of attributes",
                field.ident, array.name
            );
            let help =
                "give the array another name, or add `#[serde(rename = \"..\")]` to the field";
            cx.error(field.ident, message, help);
        }
        rests(cx, array, fields);
        twice(cx, array);
        units(cx, array);
    }
    method_names::check(cx, arrays, taken);
}

/// Whether the field is an attribute of this array.
fn is_of(field: &RawField<'_>, array: &Array) -> bool {
    let of = field.attr.and_then(|attr| attr.array.get());
    of.is_some_and(|of| of.value() == array.name)
}

/// What the struct says about its arrays.
fn array_attrs(cx: &mut Diagnostics, arrays: &[Array], given: &[ArrayAttr]) {
    for (index, attr) in given.iter().enumerate() {
        let Some(name) = attr.array.get() else {
            continue;
        };
        let text = name.value();
        let is_same = |other: &&ArrayAttr| {
            let other = other.array.get();
            other.is_some_and(|other| other.value() == text)
        };
        if given[..index].iter().any(|other| is_same(&other)) {
            let message = format!("`attributes(..)` names the array `{text}` twice");
            cx.error(&attr.key, message, "merge the two `attributes(..)`");
        }
        let Some(array) = arrays.iter().find(|array| array.name == text) else {
            let arrays: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
            let wrong = format!("no field is an attribute of the array `{text}`");
            let valid = format!("the arrays are {}", list(&arrays));
            let has_none = arrays.is_empty();
            let meant = did_you_mean(&text, arrays);
            let message = if has_none {
                wrong
            } else {
                suggest(&wrong, meant, &valid)
            };
            let help = match meant {
                Some(meant) => format!("array = \"{meant}\""),
                None => format!("#[bucket(attribute(array = \"{text}\", k = \"..\"))] on a field"),
            };
            cx.error(name, message, help);
            continue;
        };
        let names = [Some(&array.k), Some(&array.v), array.u.as_ref()];
        let names: Vec<&String> = names.into_iter().flatten().collect();
        let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
        if let Some(at) = twice {
            let message = format!("two fields of an entry are called `{}`", names[at]);
            let help =
                "#[bucket(attributes(array = \"releases\", k = \"location\", v = \"date\"))]";
            cx.error(&attr.key, message, help);
        }
    }
}

/// One field keeps the rest of an array.
fn rests(cx: &mut Diagnostics, array: &Array, fields: &[RawField<'_>]) {
    let rests = fields.iter().filter_map(|field| {
        let attr = field.attr?;
        let of = attr.array.get()?;
        let rest = attr.rest.given()?;
        (of.value() == array.name).then_some(rest)
    });
    for rest in rests.skip(1) {
        let message = format!("a second field keeps the rest of `{}`", array.name);
        cx.error(rest, message, "keep `rest` on one field of the array");
    }
}

/// Key and unit identify an entry.
fn twice(cx: &mut Diagnostics, array: &Array) {
    for (index, field) in array.fields.iter().enumerate() {
        let unit = |field: &Attribute| field.u.as_ref().map(syn::LitStr::value);
        if let (None, Some(u)) = (&array.u, &field.u) {
            let message = format!("the entries of `{}` have no unit", array.name);
            let help = format!(
                "#[bucket(attributes(array = \"{}\", k = \"{}\", v = \"{}\", u = \"u\"))] above the \
                 struct",
                array.name, array.k, array.v
            );
            cx.error(u, message, help);
        }
        let same = array.fields[..index]
            .iter()
            .find(|other| other.k.value() == field.k.value() && unit(other) == unit(field));
        if let Some(other) = same {
            let unit = unit(field).map(|unit| format!(" in `{unit}`"));
            let message = format!(
                "the field `{}` is already `{}`{}",
                other.ident,
                field.k.value(),
                unit.unwrap_or_default()
            );
            cx.error(&field.k, message, "use another `k` or `u`");
        }
    }
}

/// Either all units of a key can be converted, with one base unit, or none.
fn units(cx: &mut Diagnostics, array: &Array) {
    for key in array.keys() {
        let of_key: Vec<&Attribute> = array.of_key(key).collect();
        // A factor without a unit was reported.
        let with_unit = |field: &&Attribute| field.u.is_some();
        if !of_key
            .iter()
            .any(|field| with_unit(field) && field.factor.is_some())
        {
            continue;
        }
        let text = key.value();
        for field in of_key.iter().filter(|field| field.factor.is_none()) {
            let at = field.u.as_ref().unwrap_or(&field.k);
            let message = format!("other units of `{text}` have a `factor`, but this one has none");
            cx.error(at, message, "factor = 1");
        }
        let base = of_key.iter().filter(|field| field.factor == Some(1.0));
        if base.count() != 1 && of_key.iter().all(|field| field.factor.is_some()) {
            let message =
                format!("`{text}` needs exactly one base unit: the unit with `factor = 1`");
            cx.error(&of_key[0].k, message, "factor = 1 on one unit");
        }
        apart(cx, &text, &of_key);
        if of_key.len() == 1 {
            let message = format!("`{text}` has only one unit: nothing is converted");
            cx.error(&of_key[0].k, message, "remove `factor`");
        }
    }
}

/// The factor between two units must be a finite number.
fn apart(cx: &mut Diagnostics, text: &str, of_key: &[&Attribute]) {
    for (index, field) in of_key.iter().enumerate() {
        let unit = |field: &Attribute| field.u.as_ref().map(syn::LitStr::value);
        let is_apart = |other: &&&Attribute| match (field.factor, other.factor) {
            (Some(one), Some(other)) => !(one / other).is_normal() || !(other / one).is_normal(),
            _ => false,
        };
        let other = of_key[..index].iter().find(is_apart);
        if let Some((other, own)) = other.and_then(|other| unit(other).zip(unit(field))) {
            let message = format!(
                "`{text}` in `{own}` cannot be converted to `{other}`: their factors are too far apart"
            );
            let at = field.u.as_ref().unwrap_or(&field.k);
            cx.error(at, message, "use factors that are closer to each other");
        }
    }
}
